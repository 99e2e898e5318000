"""Refuses paths of somebody's machine, and notes of work that is not done."""

import re

import tree

# Written in pieces, so that this file does not find itself.
PATTERNS = [
    re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b"),
    re.compile(r"(?<![\w./$}{])/(ro" r"ot|wo" r"rk|wo" r"rkspace|ho" r"me|Us" r"ers)/\w"),
    re.compile(r"(?<![\w./$}{])/tm" r"p/[a-z]/"),
]
BINARY = {".png", ".jpg", ".ico", ".gz", ".jar", ".bin", ".sum"}


def find(root):
    for path in tree.files(root):
        if path.suffix in BINARY:
            continue
        for number, line in enumerate(tree.read(root, path).splitlines(), 1):
            for pattern in PATTERNS:
                match = pattern.search(line)
                if match:
                    yield f"{path}:{number}: {match.group(0)}: {line.strip()[:100]}"


SAMPLES = [
    ({"a.cc": "// All is done.\n"}, False),
    ({"a.cc": "// TO" "DO: all\n"}, True),
    ({"a.sh": "# FIX" "ME\n"}, True),
    ({"a.sh": "cd /ho" "me/someone\n"}, True),
    ({"a.sh": "cd /wo" "rk/place\n"}, True),
    ({"a.md": "the folder /tmp/quickstart-x\n"}, False),
    ({"a.md": "network/work/other and //root/x\n"}, False),
    ({"a.sh": 'cd "$base/root/x"\n'}, False),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
