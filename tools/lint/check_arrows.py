"""Refuses an include, or a dependency, that tools/lint/arrows.txt does not allow."""

import pathlib
import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LABEL = re.compile(r'"//([^":]*)[^"]*"')


def rows(root):
    result = {}
    for first, *rest in tree.table(root, "arrows.txt"):
        result[first[:-1]] = rest
    return result


def row_of(table, folder):
    """The longest line that fits a folder: the key, or None."""
    best = None
    for key in table:
        fits = folder.startswith(key) if key.endswith("/") else tree.below(folder, key)
        if fits and (best is None or len(key) > len(best)):
            best = key
    return best


def allowed(table, source, target):
    key = row_of(table, source)
    if key is None:
        return False
    if source == target:
        return True
    yes = False
    for word in table[key]:
        if word.startswith("!"):
            if tree.below(target, word[1:]):
                return False
        elif word == "*" or (word.startswith("=") and word[1:] == target) or tree.below(target, word):
            yes = True
    return yes


def find(root):
    table = rows(root)
    for path in tree.files(root, ".h", ".cc"):
        source = path.parent.as_posix()
        for name in INCLUDE.findall(tree.read(root, path)):
            if name.startswith("signpost/"):
                target = str(pathlib.PurePosixPath(name).parent.relative_to("signpost"))
                if not allowed(table, source, target):
                    yield f"{path}: {source} may not include {target} ({name})"
            elif name.startswith("tests/"):
                if not allowed(table, source, str(pathlib.PurePosixPath(name).parent)):
                    yield f"{path}: {source} may not include {name}"
            elif (root / path.parent / name).exists() or (root / name).exists():
                yield f'{path}: include "signpost/<folder>/<file>.h", not "{name}"'
    for path in tree.files(root, "BUILD.bazel"):
        source = path.parent.as_posix()
        if source == "." or tree.below(source, "tools/bazel"):
            continue
        for line in tree.read(root, path).splitlines():
            code = line.split("#")[0]
            if "__subpackages__" in code or "__pkg__" in code or "load(" in code or "actual =" in code or "//visibility:" in code:
                continue
            for target in LABEL.findall(code):
                if target and not tree.below(target, "tools/bazel") and not allowed(table, source, target):
                    yield f"{path}: {source} may not depend on //{target}"


def sample(path, include):
    return {path: f'#include "{include}"\n'}


SAMPLES = [
    (sample("router/a.cc", "signpost/common/url.h"), False),
    (sample("registry/a.cc", "signpost/registry/registry.h"), False),
    (sample("registry/zookeeper/a.cc", "signpost/registry/registry.h"), False),
    (sample("client/plugins/a.cc", "signpost/registry/zookeeper/zookeeper.h"), False),
    (sample("tests/client/a.cc", "signpost/registry/zookeeper/zookeeper.h"), False),
    (sample("common/a.cc", "signpost/router/router.h"), True),
    (sample("router/a.cc", "signpost/balancer/balancer.h"), True),
    (sample("metadata/a.cc", "signpost/registry/registry.h"), True),
    (sample("registry/a.cc", "signpost/registry/zookeeper/zookeeper.h"), True),
    (sample("registry/zookeeper/a.cc", "signpost/registry/memory/memory.h"), True),
    (sample("client/a.cc", "signpost/registry/zookeeper/zookeeper.h"), True),
    (sample("client/a.cc", "signpost/client/plugins/builtins.h"), True),
    (sample("failback/a.cc", "signpost/registry/application/a.h"), True),
    (sample("tests/client/a.cc", "tests/support/a.h"), False),
    (sample("client/a.cc", "tests/support/a.h"), True),
    (sample("examples/a.cc", "signpost/tests/support/a.h"), True),
    (sample("elsewhere/a.cc", "signpost/common/url.h"), True),
    ({"common/a.cc": '#include "b.h"\n', "common/b.h": ""}, True),
    ({"client/BUILD.bazel": 'deps = [\n    "//registry/zookeeper",\n]\n'}, True),
    ({"client/BUILD.bazel": 'deps = [\n    "//registry",\n]\n'}, False),
]

if __name__ == "__main__":
    tree.main(find, SAMPLES)
