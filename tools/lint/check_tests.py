"""Every .cc has a test of its name at the same place below tests/.

Exceptions stand in tools/lint/untested.txt, each with the test that covers it.
"""

import tree

OUTSIDE = ("tests", "examples", "docs")


def find(root):
    covered = {row[0]: row[1:] for row in tree.table(root, "untested.txt")}
    for path in tree.files(root, ".cc"):
        if path.parts[0] in OUTSIDE:
            continue
        name = path.as_posix()
        if name in covered:
            where = covered[name]
            if len(where) != 1 or not (root / where[0]).exists():
                yield f"tools/lint/untested.txt: {name} needs one existing file that tests it"
            continue
        test = root / "tests" / path.parent / path.stem
        if not any(test.with_name(test.name + ending).exists() for ending in ("_test.cc", "_test.py", "_test.sh")):
            yield f"{name}: no tests/{path.with_suffix('').as_posix()}_test.cc"
        elif not (root / "tests" / path.parent / "BUILD.bazel").exists() or path.stem not in tree.read(
            root, f"tests/{path.parent.as_posix()}/BUILD.bazel"
        ):
            yield f"{name}: its test is not named in tests/{path.parent.as_posix()}/BUILD.bazel"


SAMPLES = [
    ({"common/a.cc": ""}, True),
    ({"common/a.cc": "", "tests/common/a_test.cc": ""}, True),
    ({"common/a.cc": "", "tests/common/a_test.cc": "", "tests/common/BUILD.bazel": 'name = "a_test"'}, False),
    ({"examples/a.cc": "", "tests/x/b.cc": ""}, False),
    ({"common/a.cc": "", "tools/lint/untested.txt": "common/a.cc tests/b_test.cc\n"}, True),
    ({"common/a.cc": "", "tests/b_test.cc": "", "tools/lint/untested.txt": "common/a.cc tests/b_test.cc\n"}, False),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
