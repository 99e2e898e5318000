"""Every case of tests/cases/done.txt is named, as `TC-nn`, by a test.

The list says which cases of tests/cases/CASES.md the product handles by now;
one that is not in CASES.md is a fault too.
"""

import re

import tree

CASE = re.compile(r"\bTC-(\d+)\b")


def find(root):
    path = root / "tests" / "cases" / "done.txt"
    if not path.exists():
        yield "tests/cases/done.txt is missing"
        return
    known = set(re.findall(r"^### TC-(\d+)", tree.read(root, "tests/cases/CASES.md"), re.MULTILINE))
    named = set()
    for source in tree.files(root, ".cc", ".h", ".py"):
        if source.parts[0] == "tests":
            named.update(CASE.findall(tree.read(root, source)))
    for case in CASE.findall(path.read_text(encoding="utf-8")):
        if case not in known:
            yield f"tests/cases/done.txt: TC-{case} is not in tests/cases/CASES.md"
        elif case not in named:
            yield f"tests/cases/done.txt: no test names TC-{case}"


CASES = "### TC-01\n### TC-02\n"
SAMPLES = [
    ({"tests/cases/CASES.md": CASES, "tests/cases/done.txt": "TC-01\n", "tests/a_test.cc": "// TC-01\n"}, False),
    ({"tests/cases/CASES.md": CASES, "tests/cases/done.txt": "TC-02\n", "tests/a_test.cc": "// TC-01\n"}, True),
    ({"tests/cases/CASES.md": CASES, "tests/cases/done.txt": "TC-03\n", "tests/a_test.cc": "// TC-03\n"}, True),
    ({"tests/cases/CASES.md": CASES, "tests/cases/done.txt": "TC-02\n", "common/a.cc": "// TC-02\n"}, True),
    ({"tests/cases/CASES.md": CASES}, True),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
