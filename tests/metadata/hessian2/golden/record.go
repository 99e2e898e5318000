// Writes go_metadata_info.bin here as dubbo-go writes it, and shows what it makes of other files;
// README.md says how to run it.
package main

import (
	"os"

	hessian "github.com/apache/dubbo-go-hessian2"
)

type MetadataInfo struct {
	App      string                  `hessian:"app"`
	Revision string                  `hessian:"revision"`
	Tag      string                  `hessian:"tag"`
	Services map[string]*ServiceInfo `hessian:"services"`
}

func (*MetadataInfo) JavaClassName() string { return "org.apache.dubbo.metadata.MetadataInfo" }

type ServiceInfo struct {
	Name     string            `hessian:"name"`
	Group    string            `hessian:"group"`
	Version  string            `hessian:"version"`
	Protocol string            `hessian:"protocol"`
	Port     int               `hessian:"port"`
	Path     string            `hessian:"path"`
	Params   map[string]string `hessian:"params"`
}

func (*ServiceInfo) JavaClassName() string {
	return "org.apache.dubbo.metadata.MetadataInfo$ServiceInfo"
}

func main() {
	hessian.RegisterPOJO(&MetadataInfo{})
	hessian.RegisterPOJO(&ServiceInfo{})
	params := map[string]string{"note": "na\u00efve \u65e5\u672c \U0001f600"}
	e := hessian.NewEncoder()
	err := e.Encode(&MetadataInfo{App: "go-app", Revision: "r1", Services: map[string]*ServiceInfo{
		"demo.Greeting:tri": {Name: "demo.Greeting", Protocol: "tri", Path: "demo.Greeting", Params: params},
	}})
	if err != nil {
		panic(err)
	}
	os.WriteFile("go_metadata_info.bin", e.Buffer(), 0o644)
	for _, f := range os.Args[1:] {
		b, _ := os.ReadFile(f)
		v, err := hessian.NewDecoder(b).Decode()
		if m, ok := v.(*MetadataInfo); ok {
			println(f, m.App, m.Revision, len(m.Services))
			for k, s := range m.Services {
				println(k, s.Name, s.Group, s.Version, s.Protocol, s.Port, s.Path, len(s.Params))
				for p, q := range s.Params {
					println("  ", p, q)
				}
			}
		} else if err != nil {
			println(f, err.Error())
		} else {
			println(f, "other")
		}
	}
}
