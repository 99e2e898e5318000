"""Code generation with the Protobuf compiler and gRPC's plug-in that Debian installs in /usr/bin."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def grpc_cc_library(name, src, imports = [], deps = [], visibility = None):
    """Turns one .proto file into a C++ library with its messages and services.

    Its headers are included as "signpost/<folder>/<base>.pb.h" and "....grpc.pb.h", and other .proto
    files import it as "signpost/<folder>/<base>.proto"; no include directory is handed on.
    Generated code is compiled without warnings.

    Args:
      name: name of the library.
      src: the .proto file.
      imports: those that it imports, of this folder.
      deps: their libraries.
      visibility: as everywhere.
    """
    folder = "signpost/" + native.package_name()
    base = "gen/%s/%s" % (folder, src[:-len(".proto")])
    hdrs = [base + ".pb.h", base + ".grpc.pb.h"]
    srcs = [base + ".pb.cc", base + ".grpc.pb.cc"]
    native.genrule(
        name = name + "_gen",
        srcs = [src] + imports,
        outs = hdrs + srcs,
        cmd = ("mkdir -p $(RULEDIR)/gen && " +
               "/usr/bin/protoc --proto_path={folder}=$$(dirname $(location {src})) " +
               "--cpp_out=$(RULEDIR)/gen --grpc_out=$(RULEDIR)/gen " +
               "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin $(location {src})").format(
            folder = folder,
            src = src,
        ),
    )
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = ["-w"],
        strip_include_prefix = "gen",
        visibility = visibility,
        deps = deps + [
            "@system//:grpcpp",
            "@system//:protobuf",
        ],
    )
