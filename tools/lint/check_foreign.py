"""Refuses foreign headers and words outside of where tools/lint/foreign.txt has them."""

import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def find(root):
    includes, words = [], []
    for kind, what, *places in tree.table(root, "foreign.txt"):
        if kind == "include":
            includes.append((what, places))
        else:
            # A pattern may not hold blanks, so all words up to the first path
            # would be ambiguous: \s stands for a blank.
            words.append((re.compile(what), places))
    for path in tree.files(root, ".h", ".cc"):
        text = tree.read(root, path)
        for name in INCLUDE.findall(text):
            for prefix, places in includes:
                if name.startswith(prefix) and not any(tree.below(path, place) for place in places):
                    yield f"{path}: <{name}> belongs to {' '.join(places) or 'nobody'}"
        code = tree.without_comments(text)
        for pattern, places in words:
            if any(tree.below(path, place) for place in places):
                continue
            for number, line in enumerate(code.splitlines(), 1):
                if pattern.search(line):
                    yield f"{path}:{number}: {line.strip()} (allowed in: {' '.join(places) or 'no file'})"


SAMPLES = [
    ({"common/json.cc": "#include <rapidjson/document.h>\n"}, False),
    ({"common/json.h": "#include <rapidjson/document.h>\n"}, True),
    ({"registry/zookeeper/session.cc": "#include <zookeeper/zookeeper.h>\n"}, False),
    ({"registry/store/a.cc": "#include <zookeeper.h>\n"}, True),
    ({"client/a.cc": "#include <gflags/gflags.h>\n"}, True),
    ({"common/gate.cc": '#include "absl/synchronization/mutex.h"\n'}, True),
    ({"router/a.cc": "#include <regex>\n"}, True),
    ({"router/a.cc": "// A throw would be wrong here: std::regex.\n"}, False),
    ({"router/a.cc": 'auto s = "throw";\n'}, False),
    ({"router/a.cc": "if (x) throw std::runtime_error(s);\n"}, True),
    ({"router/a.cc": "auto t = std::chrono::steady_clock::now();\n"}, True),
    ({"common/clock.cc": "auto t = std::chrono::steady_clock::now();\n"}, False),
    ({"tests/router/a_test.cc": "std::this_thread::sleep_for(x);\n"}, True),
    ({"tests/support/poll.cc": "std::this_thread::sleep_for(x);\n"}, False),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
