"""Compiles every header alone; the library's as C++17, which users may still have."""

import concurrent.futures
import os
import pathlib
import subprocess
import tempfile

import tree

PRIVATE = ("tests", "tools", "examples")
# Private to their folder, included by no public header.
PRIVATE_HEADERS = (
    "registry/zookeeper/zookeeper_calls.h",
    "registry/zookeeper/zookeeper_session.h",
    "registry/zookeeper/zookeeper_watches.h",
)


def find(root):
    headers = tree.files(root, ".h")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "signpost").symlink_to(root)

        def check(path):
            private = path.parts[0] in PRIVATE or str(path) in PRIVATE_HEADERS
            standard = "c++20" if private else "c++17"
            command = [os.environ.get("CXX", "g++"), f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
            command += ["-Wno-missing-field-initializers", f"-I{folder}", f"-I{root}", "-isystem", "/usr/include/zookeeper"]
            command += ["-DTHREADED", "-include", f"signpost/{path}", "-x", "c++", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return None
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            return f"{path} ({standard}): " + "\n    ".join(lines[:3])

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            yield from [finding for finding in pool.map(check, headers) if finding]


SAMPLES = [
    ({"common/a.h": "#pragma once\n#include <string>\ninline std::string A() { return {}; }\n"}, False),
    ({"common/a.h": "#pragma once\ninline std::string A() { return {}; }\n"}, True),
    ({"common/a.h": "#pragma once\ntemplate <typename T> concept C = true;\n"}, True),
    ({"tests/support/a.h": "#pragma once\ntemplate <typename T> concept C = true;\n"}, False),
    ({"common/a.h": "#pragma once\n#include <signpost/common/b.h>\n", "common/b.h": "#pragma once\n"}, False),
    ({"common/a.h": "#pragma once\n#include <signpost/common/b.h>\n"}, True),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
