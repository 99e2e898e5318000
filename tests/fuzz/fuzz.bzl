"""One rule for a fuzz target: replayed and mutated a little by every test run, much by tests/fuzz/run."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools/bazel:cc.bzl", "signpost_cc_binary", "signpost_cc_test")

def fuzz_target(name, deps, runs = 20000):
    """A target whose entry is in <name>_fuzz.cc and whose seeds are the files of corpus/<name>.

    Args:
      name: makes the targets <name>_replay_test, <name>_mutate (a program) and
        <name>_mutate_test (some runs of it).
      deps: what it tests.
      runs: how many mutations <name>_mutate_test makes.
    """
    cc_library(
        name = name + "_fuzz",
        testonly = True,
        srcs = [name + "_fuzz.cc"],
        alwayslink = True,
        deps = deps + [":fuzz"],
    )
    corpus = native.glob(["corpus/%s/*" % name])
    env = {"FUZZ_CORPUS": native.package_name() + "/corpus/" + name}
    signpost_cc_test(
        name = name + "_replay_test",
        srcs = ["fuzz_replay_test.cc"],
        data = corpus,
        env = env,
        deps = [
            ":fuzz",
            ":" + name + "_fuzz",
        ],
    )
    signpost_cc_binary(
        name = name + "_mutate",
        testonly = True,
        srcs = ["mutate_main.cc"],
        deps = [
            ":fuzz",
            ":" + name + "_fuzz",
        ],
    )
    native.sh_test(
        name = name + "_mutate_test",
        size = "small",
        srcs = ["mutate_test.sh"],
        args = [
            "$(rootpath :%s_mutate)" % name,
            "--runs=%d" % runs,
        ],
        data = corpus + [":" + name + "_mutate"],
        env = env,
        tags = ["small"],
    )
