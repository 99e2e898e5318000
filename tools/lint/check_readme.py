"""README's C++ example is the one that tests/docs/readme_test.cc compiles and runs."""

import re

import tree

TEST = "tests/docs/readme_test.cc"


def find(root):
    blocks = re.findall(r"```cpp\n(.*?)```", tree.read(root, "README.md"), re.DOTALL)
    parts = tree.read(root, TEST).split("// [readme]\n")
    if len(blocks) != 1:
        yield f"README.md has {len(blocks)} C++ examples, not one"
    elif len(parts) != 3:
        yield f"{TEST}: the example is not between two lines `// [readme]`"
    elif parts[1] != blocks[0]:
        yield f"README.md: its example is not the one of {TEST}"
    elif parts[1].count("\n") > 25:
        yield "README.md: the example is too long"


CODE = "// [readme]\nint a;\n// [readme]\n"
SAMPLES = [
    ({"README.md": "```cpp\nint a;\n```\n", TEST: CODE}, False),
    ({"README.md": "```cpp\nint b;\n```\n", TEST: CODE}, True),
    ({"README.md": "none", TEST: CODE}, True),
    ({"README.md": "```cpp\nint a;\n```\n", TEST: "int a;\n"}, True),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
