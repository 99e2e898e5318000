"""Code generation with the Thrift compiler that Debian installs."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def thrift_cc_library(name, src, services, **kwargs):
    """Turns one .thrift file into a C++ library; its headers are included by their bare names.

    Args:
      name: name of the library.
      src: the .thrift file.
      services: names of the services in it.
      **kwargs: handed on to cc_library.
    """
    base = src[:-len(".thrift")]
    headers = ["gen/" + base + "_types.h"] + ["gen/%s.h" % service for service in services]
    sources = ["gen/" + base + "_types.cpp"] + ["gen/%s.cpp" % service for service in services]
    native.genrule(
        name = name + "_gen",
        srcs = [src],
        outs = headers + sources,
        cmd = "mkdir -p $(RULEDIR)/gen && " +
              "/usr/bin/thrift --gen cpp:no_skeleton -out $(RULEDIR)/gen $(location %s)" % src,
    )
    cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        copts = ["-w"],
        includes = ["gen"],
        deps = ["@system//:thrift"],
        **kwargs
    )
