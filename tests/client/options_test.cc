#include "signpost/client/options.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace signpost {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr char kZookeeper[] = "zookeeper://192.0.2.1:2181";

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

absl::StatusOr<ClientOptions> Load(ClientOptions program, Environment environment,
                                   std::string file = "") {
  OptionSources sources;
  sources.environment = std::move(environment);
  sources.file = std::move(file);
  return LoadOptions(std::move(program), sources);
}

std::string Fault(ClientOptions program, Environment environment, std::string file = "") {
  const absl::Status status =
      Load(std::move(program), std::move(environment), std::move(file)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

ClientOptions WithRegistry(std::string registry = kZookeeper) {
  ClientOptions options;
  options.registry = std::move(registry);
  return options;
}

std::string FromUrl(const ClientOptions& options, const std::string& parameter) {
  const absl::StatusOr<Url> url = Url::Parse(options.registry);
  if (!url.ok()) return "";
  if (parameter == "user") return url->username();
  if (parameter == "password") return url->password();
  return std::string(url->Get(parameter));
}

// One line of the table in docs/options.md.
struct Row {
  std::string key;       // Dubbo's; "" if a file cannot say it
  std::string variable;  // "" if the environment cannot
  std::function<void(ClientOptions&, const std::string&)> set;
  std::function<std::string(const ClientOptions&)> get;
  std::vector<std::string> values;  // of program, environment, file
  std::string by_default;
};

Row Parameter(const std::string& key, const std::string& variable, const std::string& parameter,
              std::vector<std::string> values) {
  return {key,
          variable,
          [parameter](ClientOptions& options, const std::string& value) {
            options.registry = absl::StrCat(kZookeeper, "?", parameter, "=", value);
          },
          [parameter](const ClientOptions& options) { return FromUrl(options, parameter); },
          std::move(values),
          ""};
}

std::vector<Row> Rows() {
  return {
      {"dubbo.application.name",
       "DUBBO_APPLICATION_NAME",
       [](ClientOptions& o, const std::string& v) { o.app = v; },
       [](const ClientOptions& o) { return o.app; },
       {"one", "two", "three"},
       ""},
      {"dubbo.application.environment",
       "DUBBO_APPLICATION_ENVIRONMENT",
       [](ClientOptions& o, const std::string& v) { o.labels["environment"] = v; },
       [](const ClientOptions& o) {
         return o.labels.count("environment") == 0 ? "" : o.labels.at("environment");
       },
       {"test", "develop", "product"},
       ""},
      {"dubbo.labels",
       "DUBBO_LABELS",
       [](ClientOptions& o, const std::string& v) { o.labels["zone"] = v.substr(5); },
       [](const ClientOptions& o) {
         return o.labels.count("zone") == 0 ? "" : "zone=" + o.labels.at("zone");
       },
       {"zone=a", "zone=b", "zone=c"},
       ""},
      {"dubbo.registry.address",
       "DUBBO_REGISTRY_ADDRESS",
       [](ClientOptions& o, const std::string& v) { o.registry = v; },
       [](const ClientOptions& o) { return o.registry; },
       {"zookeeper://192.0.2.4:2181", "zookeeper://192.0.2.5:2181?group=g", "memory://x"},
       kZookeeper},
      Parameter("dubbo.registry.group", "DUBBO_REGISTRY_GROUP", "group", {"a", "b", "c"}),
      Parameter("dubbo.registry.timeout", "DUBBO_REGISTRY_TIMEOUT", "timeout", {"1", "2", "3"}),
      Parameter("dubbo.registry.session", "DUBBO_REGISTRY_SESSION", "session", {"1", "2", "3"}),
      Parameter("dubbo.registry.register-mode", "DUBBO_REGISTRY_REGISTER_MODE", "register-mode",
                {"all", "instance", "interface"}),
      Parameter("dubbo.application.register-mode", "DUBBO_APPLICATION_REGISTER_MODE",
                "register-mode", {"all", "instance", "interface"}),
      Parameter("dubbo.registry.parameters.rootPath", "", "rootPath", {"/a", "", "/c"}),
      {"dubbo.registry.username",
       "DUBBO_REGISTRY_USERNAME",
       [](ClientOptions& o, const std::string& v) {
         o.registry = absl::StrCat("zookeeper://", v, "@192.0.2.1:2181");
       },
       [](const ClientOptions& o) { return FromUrl(o, "user"); },
       {"a", "b", "c"},
       ""},
      {"dubbo.registry.password",
       "DUBBO_REGISTRY_PASSWORD",
       [](ClientOptions& o, const std::string& v) {
         o.registry = absl::StrCat("zookeeper://:", v, "@192.0.2.1:2181");
       },
       [](const ClientOptions& o) { return FromUrl(o, "password"); },
       {"a", "b", "c"},
       ""},
      {"dubbo.protocol.host",
       "DUBBO_PROTOCOL_HOST",
       [](ClientOptions& o, const std::string& v) { o.address.host = v; },
       [](const ClientOptions& o) { return o.address.host; },
       {"192.0.2.1", "192.0.2.2", "shop.example.org"},
       ""},
      {"dubbo.protocol.host",
       "DUBBO_IP_TO_BIND",
       [](ClientOptions& o, const std::string& v) { o.address.host = v; },
       [](const ClientOptions& o) { return o.address.host; },
       {"192.0.2.1", "192.0.2.2", "192.0.2.3"},
       ""},
      {"dubbo.network.interface.preferred",
       "DUBBO_NETWORK_INTERFACE_PREFERRED",
       [](ClientOptions& o, const std::string& v) { o.address.preferred_interfaces = v; },
       [](const ClientOptions& o) { return o.address.preferred_interfaces; },
       {"eth0", "eth1", "eth2"},
       ""},
      {"dubbo.network.interface.ignored",
       "DUBBO_NETWORK_INTERFACE_IGNORED",
       [](ClientOptions& o, const std::string& v) { o.address.ignored_interfaces = v; },
       [](const ClientOptions& o) { return o.address.ignored_interfaces; },
       {"eth0", "docker.*,br-.*", "eth2,eth3"},
       ""},
      {"",
       "DUBBO_IP_TO_REGISTRY",
       [](ClientOptions& o, const std::string& v) { o.address.advertised.host = v; },
       [](const ClientOptions& o) { return o.address.advertised.host; },
       {"192.0.2.1", "192.0.2.2", ""},
       ""},
      {"",
       "DUBBO_PORT_TO_REGISTRY",
       [](ClientOptions& o, const std::string& v) {
         o.address.advertised.port = static_cast<uint16_t>(std::stoi(v));
       },
       [](const ClientOptions& o) { return absl::StrCat(o.address.advertised.port); },
       {"1", "65535", ""},
       "0"},
      {"",
       "TRI_DUBBO_IP_TO_REGISTRY",
       [](ClientOptions& o, const std::string& v) {
         o.address.advertised_by_protocol["tri"].host = v;
       },
       [](const ClientOptions& o) {
         const auto found = o.address.advertised_by_protocol.find("tri");
         return found == o.address.advertised_by_protocol.end() ? "" : found->second.host;
       },
       {"192.0.2.1", "2001:db8::1", ""},
       ""},
      {"",
       "TRI_DUBBO_PORT_TO_REGISTRY",
       [](ClientOptions& o, const std::string& v) {
         o.address.advertised_by_protocol["tri"].port = static_cast<uint16_t>(std::stoi(v));
       },
       [](const ClientOptions& o) {
         const auto found = o.address.advertised_by_protocol.find("tri");
         return absl::StrCat(found == o.address.advertised_by_protocol.end() ? 0
                                                                             : found->second.port);
       },
       {"1", "2", ""},
       "0"},
      {"dubbo.application.metadata-type",
       "DUBBO_APPLICATION_METADATA_TYPE",
       [](ClientOptions& o, const std::string& v) { o.metadata = v; },
       [](const ClientOptions& o) { return o.metadata; },
       {"remote", "local", "remote"},
       ""},
      {"dubbo.consumer.loadbalance",
       "DUBBO_CONSUMER_LOADBALANCE",
       [](ClientOptions& o, const std::string& v) { o.balancer = v; },
       [](const ClientOptions& o) { return o.balancer; },
       {"roundrobin", "random", "leastactive"},
       ""},
  };
}

// `a.b.c` with value v: nested.
std::string Nested(const std::string& key, const std::string& value) {
  std::string text;
  std::string indent;
  for (size_t at = 0; at < key.size();) {
    const size_t dot = std::min(key.find('.', at), key.size());
    absl::StrAppend(&text, indent, key.substr(at, dot - at), ":");
    text += dot == key.size() ? " '" + value + "'\n" : "\n";
    indent += "  ";
    at = dot + 1;
  }
  return text;
}

TEST(OptionsTest, ProgramBeforeEnvironmentBeforeFileBeforeDefault) {
  for (const Row& row : Rows()) {
    const std::string what = absl::StrCat(row.key, " ", row.variable);
    const ClientOptions none = WithRegistry();
    ClientOptions program = none;
    row.set(program, row.values[0]);
    // An address is what the others of the registry need; itself it must not be there.
    const bool is_address = row.key == "dubbo.registry.address";
    const ClientOptions base = is_address ? ClientOptions() : none;
    const auto loaded = [&](const ClientOptions& with, const Environment& environment,
                            const std::string& file) {
      auto options = Load(with, environment, file);
      EXPECT_TRUE(options.ok()) << what << ": " << options.status();
      return options.ok() ? row.get(*options) : "error";
    };
    EXPECT_EQ(loaded(none, {}, ""), row.by_default) << what << ", default";
    EXPECT_EQ(loaded(program, {}, ""), row.values[0]) << what << ", program";
    Environment environment;
    if (!row.variable.empty()) {
      environment = {{row.variable, row.values[1]}};
      EXPECT_EQ(loaded(base, environment, ""), row.values[1]) << what << ", environment";
      EXPECT_EQ(loaded(program, environment, ""), row.values[0]) << what << ", program and env.";
      EXPECT_EQ(loaded(none, {{row.variable, ""}}, ""), row.by_default) << what << ", empty";
    }
    if (row.key.empty()) continue;
    const std::string& value = row.values[2];
    for (const std::string& file :
         {WriteFile("nested.yaml", Nested(row.key, value)),
          WriteFile("flat.yml", absl::StrCat(row.key, ": \"", value, "\"\n")),
          WriteFile("java.properties", absl::StrCat("# x\n", row.key, " = ", value, "\n"))}) {
      EXPECT_EQ(loaded(base, {}, file), value) << what << ", " << file;
      EXPECT_EQ(loaded(program, {}, file), row.values[0]) << what << ", program and " << file;
      if (row.variable.empty()) continue;
      EXPECT_EQ(loaded(base, environment, file), row.values[1]) << what << ", env. and " << file;
      EXPECT_EQ(loaded(program, environment, file), row.values[0]) << what << ", all and " << file;
      EXPECT_EQ(loaded(base, {{row.variable, "  "}}, file),
                row.key == "dubbo.registry.password" ? "  " : value)
          << what << ", blank and " << file;
    }
    // What is overridden is not checked; but labels of several sources come together.
    if (row.key == "dubbo.labels") continue;
    const std::string faulty = WriteFile("faulty.properties", row.key + "=${HERE}\n");
    EXPECT_TRUE(absl::StrContains(Fault(base, {}, faulty), row.key)) << what;
    EXPECT_EQ(loaded(program, {}, faulty), row.values[0]) << what << ", program and faulty";
    if (row.variable.empty()) continue;
    EXPECT_EQ(loaded(base, environment, faulty), row.values[1]) << what << ", env. and faulty";
  }
}

TEST(OptionsTest, WhichFile) {
  const std::string one = WriteFile("one.properties", "dubbo.application.name=one");
  const std::string two = WriteFile("two.yaml", "dubbo.application.name: two");
  const std::string three = WriteFile("three.YML", "dubbo.application.name: three");
  const Environment both = {{"SIGNPOST_CONFIG", two}, {"DUBBO_PROPERTIES_FILE", one}};
  EXPECT_EQ(Load({}, {})->app, "");
  EXPECT_EQ(Load({}, {{"DUBBO_PROPERTIES_FILE", one}})->app, "one");
  EXPECT_EQ(Load({}, both)->app, "two");
  EXPECT_EQ(Load({}, both, three)->app, "three");
  const absl::Status missing = Load({}, {{"SIGNPOST_CONFIG", "nowhere.yaml"}}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.message(), "nowhere.yaml"));
}

TEST(OptionsTest, TheProcessEnvironmentIsTheDefault) {
  setenv("DUBBO_APPLICATION_NAME", "by-environment", 1);
  EXPECT_EQ(LoadOptions(ClientOptions())->app, "by-environment");
  unsetenv("DUBBO_APPLICATION_NAME");
  EXPECT_EQ(LoadOptions(ClientOptions())->app, "");
}

TEST(OptionsTest, SpellingsOfAKey) {
  for (const char* key : {"dubbo.registry.register-mode", "dubbo.registry.registerMode",
                          "dubbo.registry.register_mode", "DUBBO.Registry.RegisterMode"}) {
    const std::string file = WriteFile("spelling.properties", absl::StrCat(key, "=instance"));
    EXPECT_EQ(FromUrl(*Load(WithRegistry(), {}, file), "register-mode"), "instance") << key;
  }
  // Java takes the key itself as a variable too, as `env dubbo.application.name=shop` sets it.
  EXPECT_EQ(Load({}, {{"dubbo.application.name", "shop"}})->app, "shop");
  // Of equal keys the last one counts.
  const std::string twice =
      WriteFile("twice.properties", "dubbo.application.name=a\ndubbo.application.name=b\n");
  EXPECT_EQ(Load({}, {}, twice)->app, "b");
}

TEST(OptionsTest, ScalarsStayAsTheyAreWritten) {
  const std::string file = WriteFile("scalars.yaml",
                                     "dubbo:\n  registry:\n    address: zookeeper://h:1\n"
                                     "    group: 007\n    password: 1.10\n    timeout: 3000\n"
                                     "  network.interface.ignored: [docker0, 'br-.*']\n"
                                     "  application:\n    name:\n");
  auto options = Load({}, {}, file);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(FromUrl(*options, "group"), "007");
  EXPECT_EQ(FromUrl(*options, "password"), "1.10");
  EXPECT_EQ(FromUrl(*options, "timeout"), "3000");
  EXPECT_EQ(options->address.ignored_interfaces, "docker0,br-.*");
  EXPECT_EQ(options->app, "");
}

TEST(OptionsTest, UnknownKeysAreLeftAlone) {
  const std::string file =
      WriteFile("unknown.yaml",
                "dubbo:\n  application: {name: shop, qos-port: 22222}\n  registries:\n    a: {}\n"
                "  scan: [a, {b: c}]\nspring: {profiles: x}\nserver.port: ${PORT:80}\n");
  auto options = Load({}, {{"DUBBO_X", "${y}"}, {"SHELL", "${z}"}}, file);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->app, "shop");
}

TEST(OptionsTest, ParametersStandInTheRegistrysUrl) {
  const std::string file = WriteFile("url.yaml",
                                     "dubbo.registry:\n  address: 192.0.2.1:2181,192.0.2.2:2181\n"
                                     "  protocol: zookeeper\n  group: file\n"
                                     "  parameters: {rootPath: /x, group: other}\n");
  EXPECT_EQ(Load({}, {}, file)->registry,
            "zookeeper://192.0.2.1:2181?backup=192.0.2.2:2181&group=file&rootPath=/x");
  // What stands in an address goes before other keys of its source, not before a higher source.
  const std::string inside = WriteFile(
      "inside.properties",
      "dubbo.registry.address=zookeeper://h:1?group=inside\ndubbo.registry.group=beside\n");
  EXPECT_EQ(FromUrl(*Load({}, {}, inside), "group"), "inside");
  EXPECT_EQ(FromUrl(*Load({}, {{"DUBBO_REGISTRY_GROUP", "env"}}, inside), "group"), "env");
  EXPECT_EQ(FromUrl(*Load({}, {{"DUBBO_REGISTRY_ADDRESS", "zookeeper://h:2"}}, inside), "group"),
            "beside");
  // The registry's own mode before the application's, in one source.
  const Environment modes = {{"DUBBO_REGISTRY_REGISTER_MODE", "all"},
                             {"DUBBO_APPLICATION_REGISTER_MODE", "instance"}};
  EXPECT_EQ(FromUrl(*Load(WithRegistry(), modes), "register-mode"), "all");
  // Untouched, a URL stays as it was written.
  const std::string text = "zookeeper://h:1,i:2?z=1&a=2";
  EXPECT_EQ(Load(WithRegistry(text), {})->registry, text);
  EXPECT_EQ(Load({}, {{"DUBBO_REGISTRY_GROUP", "g"}})->registry, "");
}

TEST(OptionsTest, CredentialsStayWithTheirRegistry) {
  const std::string file =
      WriteFile("secret.properties",
                "dubbo.registry.address=zookeeper://h:1\n"
                "dubbo.registry.username=u\ndubbo.registry.password=p4ss#/@:\n");
  auto options = Load({}, {}, file);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(FromUrl(*options, "user"), "u");
  EXPECT_EQ(FromUrl(*options, "password"), "p4ss#/@:");
  // Another source's registry does not get them,
  EXPECT_EQ(Load(WithRegistry(), {}, file)->registry, kZookeeper);
  EXPECT_EQ(Load({}, {{"DUBBO_REGISTRY_ADDRESS", kZookeeper}}, file)->registry, kZookeeper);
  // but parts of a pair may come from several sources.
  const Environment password = {{"DUBBO_REGISTRY_PASSWORD", "env"}};
  EXPECT_EQ(FromUrl(*Load({}, password, file), "password"), "env");
  EXPECT_EQ(FromUrl(*Load({}, password, file), "user"), "u");
  options = Load(WithRegistry("zookeeper://me@192.0.2.1:2181"), password);
  EXPECT_EQ(options->registry, "zookeeper://me:env@192.0.2.1:2181");
  EXPECT_EQ(Load(WithRegistry("embedded:///x"), password)->registry, "embedded:///x");
  // A password of another user is not sent as one's own.
  options = Load({}, {{"DUBBO_REGISTRY_USERNAME", "other"}}, file);
  EXPECT_EQ(FromUrl(*options, "user"), "other");
  EXPECT_EQ(FromUrl(*options, "password"), "");
  // Parameters of the URL are a part of it.
  options = Load(WithRegistry("zookeeper://h:1?username=u&password=own"),
                 {{"DUBBO_REGISTRY_USERNAME", "other"}, {"DUBBO_REGISTRY_PASSWORD", "env"}});
  EXPECT_EQ(FromUrl(*options, "user"), "u");
  EXPECT_EQ(FromUrl(*options, "password"), "own");
  options = Load(WithRegistry("zookeeper://me@h:1?username=u&password=own"), {});
  EXPECT_EQ(FromUrl(*options, "user"), "me");
  EXPECT_EQ(FromUrl(*options, "password"), "");
  // So is a parameter that has a key of its own.
  const std::string parameters =
      WriteFile("parameters.properties",
                "dubbo.registry.address=zookeeper://h:1\n"
                "dubbo.registry.parameters.username=u\ndubbo.registry.parameters.password=p\n");
  EXPECT_EQ(Load({}, {}, parameters)->registry, "zookeeper://u:p@h:1");
  EXPECT_EQ(Load(WithRegistry(), {}, parameters)->registry, kZookeeper);
}

TEST(OptionsTest, WildcardsAreNoHost) {
  EXPECT_EQ(Load({}, {{"DUBBO_IP_TO_BIND", "0.0.0.0"}})->address.host, "");
  EXPECT_EQ(Load({}, {{"DUBBO_IP_TO_BIND", "192.0.2.1"}, {"DUBBO_PROTOCOL_HOST", "192.0.2.2"}})
                ->address.host,
            "192.0.2.1");
}

TEST(OptionsTest, WhatTheProgramSaysOfAllProtocolsIsMoreThanAVariableOfOne) {
  ClientOptions program;
  program.address.advertised.host = "192.0.2.1";
  auto options = Load(
      program, {{"TRI_DUBBO_IP_TO_REGISTRY", "192.0.2.2"}, {"TRI_DUBBO_PORT_TO_REGISTRY", "7"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->address.advertised_by_protocol["tri"].host, "");
  EXPECT_EQ(options->address.advertised_by_protocol["tri"].port, 7);
}

TEST(OptionsTest, MalformedVariablesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"DUBBO_APPLICATION_NAME", "a/b"},
      {"DUBBO_APPLICATION_METADATA_TYPE", "both"},
      {"DUBBO_LABELS", "zone"},
      {"DUBBO_LABELS", "=x"},
      {"DUBBO_LABELS", "a=b;dubbo.tag=x"},
      {"DUBBO_REGISTRY_TIMEOUT", "5s"},
      {"DUBBO_REGISTRY_TIMEOUT", "0"},
      {"DUBBO_REGISTRY_TIMEOUT", "99999999999"},
      {"DUBBO_REGISTRY_SESSION", "-1"},
      {"DUBBO_REGISTRY_REGISTER_MODE", "none"},
      {"DUBBO_APPLICATION_REGISTER_MODE", "both"},
      {"DUBBO_REGISTRY_GROUP", "a&password=x"},
      {"DUBBO_REGISTRY_GROUP", "a;b"},
      {"DUBBO_REGISTRY_GROUP", "\xff"},
      {"DUBBO_PROTOCOL_HOST", "a/b"},
      {"DUBBO_NETWORK_INTERFACE_PREFERRED", "eth("},
      {"DUBBO_NETWORK_INTERFACE_IGNORED", "eth0,*"},
      {"DUBBO_IP_TO_REGISTRY", "0.0.0.0"},
      {"DUBBO_IP_TO_REGISTRY", "my host"},
      {"DUBBO_IP_TO_REGISTRY", "192.0.2.1:80"},
      {"DUBBO_PORT_TO_REGISTRY", "65536"},
      {"TRI_DUBBO_PORT_TO_REGISTRY", "0"},
      {"DUBBO_PORT_TO_REGISTRY", "http"},
      {"DUBBO_REGISTRY_PASSWORD", "${SECRET}"},
  };
  for (const auto& [name, value] : cases) {
    const std::string fault = Fault(WithRegistry(), {{name, value}});
    EXPECT_TRUE(absl::StrContains(fault, absl::StrCat("environment ", name))) << fault;
  }
  EXPECT_TRUE(absl::StrContains(Fault({}, {{"DUBBO_REGISTRY_ADDRESS", "192.0.2.1:2181"}}),
                                "dubbo.registry.protocol"));
  EXPECT_TRUE(absl::StrContains(Fault(WithRegistry("://"), {}), "registry URL"));
}

TEST(OptionsTest, MalformedFilesAreNamedWithLineAndKey) {
  const std::pair<const char*, const char*> cases[] = {
      {"\n\ndubbo.registry.timeout=soon", "line 3: dubbo.registry.timeout: "},
      {"dubbo.registry.timeout=${T}", "line 1: dubbo.registry.timeout: "},
      {"dubbo.application.name=a,b", "line 1: dubbo.application.name: "},
      {"dubbo.registry.parameters.a\\=b=c", "line 1: dubbo.registry.parameters.a=b: "},
      {"dubbo.registry.parameters.timeout=x", "line 1: dubbo.registry.parameters.timeout: "},
      {"a=1\nb=\\u1", "line 2: "},
  };
  for (const auto& [text, where] : cases) {
    const std::string fault = Fault(WithRegistry(), {}, WriteFile("bad.properties", text));
    EXPECT_TRUE(absl::StrContains(fault, "bad.properties")) << fault;
    EXPECT_TRUE(absl::StrContains(fault, where)) << fault;
  }
  const std::pair<const char*, const char*> yaml[] = {
      {"dubbo:\n  registry:\n    timeout: soon", ": dubbo.registry.timeout: "},
      {"dubbo:\n  application:\n    name: {a: b}", ": dubbo.application.name: not a text"},
      {"dubbo: {application: {name: [a, [b]]}}", ": dubbo.application.name: not a text"},
      {"a: 1\nb: [", "YAML line 2"},
  };
  for (const auto& [text, where] : yaml) {
    const std::string fault = Fault(WithRegistry(), {}, WriteFile("bad.yaml", text));
    EXPECT_TRUE(absl::StrContains(fault, "bad.yaml")) << fault;
    EXPECT_TRUE(absl::StrContains(fault, where)) << fault;
  }
}

TEST(OptionsTest, NoSecretInErrors) {
  const std::vector<std::string> faults = {
      Fault({}, {{"DUBBO_REGISTRY_ADDRESS", "zookeeper://u:p4ss@h:99999"}}),
      Fault({}, {{"DUBBO_REGISTRY_ADDRESS", "u:p4ss@h:2181"}}),
      Fault(WithRegistry("zookeeper://u:p4ss@h:99999"), {}),
      Fault(WithRegistry("zookeeper://u:p4ss@h:1"), {{"DUBBO_REGISTRY_TIMEOUT", "p4ss"}}),
      Fault(WithRegistry(), {{"DUBBO_REGISTRY_PASSWORD", "p4ss${x}"}}),
      Fault(WithRegistry(), {{"DUBBO_REGISTRY_PASSWORD", "p4ss\xff"}}),
      Fault(WithRegistry(), {}, WriteFile("p.properties", "dubbo.registry.password=p4ss\\u1")),
      Fault(WithRegistry(), {},
            WriteFile("q.properties", "dubbo.registry.parameters.token=p4ss;x=1")),
      Fault(WithRegistry(), {}, WriteFile("r.yaml", "dubbo.registry.password: [p4ss, {p4ss: 1}]")),
      Fault(WithRegistry(), {}, WriteFile("s.yaml", "dubbo.registry.password: p4ss: p4ss")),
  };
  for (const std::string& fault : faults) EXPECT_FALSE(absl::StrContains(fault, "p4ss")) << fault;
}

}  // namespace
}  // namespace signpost
