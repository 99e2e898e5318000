"""The C++ rules of this tree: include prefix, copts and test data in one place."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

def signpost_cc_library(name, **kwargs):
    """A library whose headers are included as "signpost/<folder>/<file>.h"."""
    cc_library(
        name = name,
        include_prefix = "signpost/" + native.package_name(),
        **kwargs
    )

def signpost_cc_binary(name, **kwargs):
    cc_binary(
        name = name,
        **kwargs
    )

def signpost_cc_test(name, deps = [], data = [], tags = [], size = "small", stage = "small", tsan = True, **kwargs):
    """A GoogleTest binary.

    Args:
      name: name of the test.
      deps: what it tests.
      data: files that it reads.
      tags: further tags.
      size: Bazel's size.
      stage: small (no server), server (starts a real one), live (Java and Go
        peers) or long; becomes a tag that tests/run selects by.
      tsan: False: a packaged, uninstrumented library makes it useless there.
      **kwargs: handed on to cc_test.
    """
    cc_test(
        name = name,
        size = size,
        data = data + ["//tests:sanitizer_suppressions"],
        tags = tags + [stage] + ([] if tsan else ["no-tsan"]),
        deps = deps + ["@system//:gtest_main"],
        **kwargs
    )
