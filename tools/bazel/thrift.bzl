"""Code generation with the Thrift compiler that Debian installs in /usr/bin."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def thrift_cc_library(name, src, services, visibility = None):
    """Turns one .thrift file into a C++ library.

    Its headers are included as "signpost/<folder>/<Service>.h"; no include directory is handed on.
    Generated code is compiled without warnings.

    Args:
      name: name of the library.
      src: the .thrift file; it has no constants.
      services: names of its services.
      visibility: as everywhere.
    """
    base = src[:-len(".thrift")]
    hdrs = ["gen/" + base + "_types.h"] + ["gen/%s.h" % service for service in services]
    srcs = ["gen/" + base + "_types.cpp"] + ["gen/%s.cpp" % service for service in services]
    native.genrule(
        name = name + "_gen",
        srcs = [src],
        outs = hdrs + srcs,
        cmd = "mkdir -p $(RULEDIR)/gen && " +
              "/usr/bin/thrift --gen cpp:no_skeleton -out $(RULEDIR)/gen $(location %s) && " % src +
              # Without a type of its own Thrift leaves out <base>_types.cpp.
              "touch $(OUTS)",
    )
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = ["-w"],
        include_prefix = "signpost/" + native.package_name(),
        strip_include_prefix = "gen",
        visibility = visibility,
        deps = ["@system//:thrift"],
    )
