"""Every header compiles alone; the library's also as C++17, which users may still have.

A header that is the first include of some source file compiles alone if the
build does. The others are compiled here, and all public ones together as C++17.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

import tree

PRIVATE = ("tests", "tools", "examples")
# Private to their folder, included by no public header.
PRIVATE_HEADERS = (
    "metadata/thrift/wire.h",  # includes what the Thrift compiler makes
    "registry/server/registry_handler.h",
    "registry/server/wire.h",
    "registry/zookeeper/flow.h",
    "registry/zookeeper/zookeeper_calls.h",
    "registry/zookeeper/zookeeper_session.h",
    "registry/zookeeper/zookeeper_watches.h",
)
FIRST = re.compile(r'^\s*#include\s+["<](?:signpost/)?([^">]+)[">]', re.MULTILINE)


def first_includes(root):
    """The headers that stand first in some source file."""
    found = set()
    for path in tree.files(root, ".cc"):
        match = FIRST.search(tree.read(root, path))
        if match:
            found.add(match.group(1))
    return found


def public(path):
    return path.parts[0] not in PRIVATE and str(path) not in PRIVATE_HEADERS


def find(root):
    headers = tree.files(root, ".h")
    proven = first_includes(root)
    jobs = [("c++20", [path]) for path in headers if str(path) not in proven]
    jobs.insert(0, ("c++17", [path for path in headers if public(path)]))
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "signpost").symlink_to(root)

        def check(job):
            standard, paths = job
            command = [os.environ.get("CXX", "g++"), f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
            command += ["-Wno-missing-field-initializers", f"-I{folder}", f"-I{root}", "-isystem", "/usr/include/zookeeper"]
            command += ["-DTHREADED", "-x", "c++", "-"]
            text = "".join(f"#include <signpost/{path}>\n" for path in paths)
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return None
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            what = str(paths[0]) if len(paths) == 1 else "public headers"
            return f"{what} ({standard}): " + "\n    ".join(lines[:3])

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            yield from [finding for finding in pool.map(check, jobs) if finding]


SAMPLES = [
    ({"common/a.h": "#pragma once\n#include <string>\ninline std::string A() { return {}; }\n"}, False),
    ({"common/a.h": "#pragma once\ninline std::string A() { return {}; }\n"}, True),
    # Proven by the build, but not the second one.
    ({"common/a.h": "#pragma once\n", "common/a.cc": '#include "signpost/common/a.h"\n'}, False),
    ({"common/a.h": "#pragma once\n#include <string>\n", "common/b.h": "#pragma once\ninline std::string B() { return {}; }\n",
      "common/b.cc": '#include "signpost/common/a.h"\n#include "signpost/common/b.h"\n'}, True),
    ({"common/a.h": "#pragma once\ntemplate <typename T> concept C = true;\n"}, True),
    ({"tests/support/a.h": "#pragma once\ntemplate <typename T> concept C = true;\n"}, False),
    ({"common/a.h": "#pragma once\n#include <signpost/common/b.h>\n", "common/b.h": "#pragma once\n"}, False),
    ({"common/a.h": "#pragma once\n#include <signpost/common/b.h>\n"}, True),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
