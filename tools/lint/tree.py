"""What the checks of this folder share: the source tree and how to report.

Each check has `find(root)`, which yields findings as text, and a list of
samples, small trees that it must and must not complain about.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Linked into a test's folder by Bazel, the real path still lies in the tree.
ROOT = pathlib.Path(os.path.realpath(__file__)).parent.parent.parent


def files(root, *suffixes):
    """The paths of a tree, relative and sorted; without what a build makes."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f != ".git" and not f.startswith("bazel-") and f != "__pycache__"]
        for name in names:
            path = pathlib.Path(folder, name)
            if not path.is_symlink() and (not suffixes or path.suffix in suffixes or name in suffixes):
                found.append(path.relative_to(root))
    known = tracked(root)
    return sorted(path for path in found if known is None or path.as_posix() in known)


def tracked(root):
    """The names that Git does not ignore; None where there is no Git."""
    if not (pathlib.Path(root) / ".git").exists():
        return None
    command = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
    command += ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return set(done.stdout.decode().split("\0"))


def read(root, path):
    return (pathlib.Path(root) / path).read_text(encoding="utf-8", errors="replace")


def without_comments(text):
    """C++ without comments and the insides of strings; lines stay lines."""
    pattern = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'')

    def blank(match):
        text = match.group(0)
        lines = "\n" * text.count("\n")
        return lines if text.startswith("/") else '""' + lines

    return pattern.sub(blank, text)


def table(root, name):
    """The lines of a list in this folder without comments, split at blanks."""
    path = pathlib.Path(root) / "tools" / "lint" / name
    if not path.exists():
        path = ROOT / "tools" / "lint" / name
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line.split() for line in lines if line]


def below(path, folder):
    """Whether a relative path is a folder or lies somewhere below it."""
    path = path.as_posix() if isinstance(path, pathlib.PurePath) else path
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def main(find, samples):
    """`check.py [ROOT]` checks a tree; `--self-test` checks the check.

    samples: list of (tree as {path: text}, whether there must be a finding).
    """
    if sys.argv[1:] == ["--self-test"]:
        wrong = 0
        for number, (sample, bad) in enumerate(samples):
            with tempfile.TemporaryDirectory() as folder:
                for path, text in sample.items():
                    full = pathlib.Path(folder, path)
                    full.parent.mkdir(parents=True, exist_ok=True)
                    full.write_text(text, encoding="utf-8")
                findings = list(find(pathlib.Path(folder)))
            if bool(findings) != bad:
                wrong += 1
                print(f"sample {number} {sorted(sample)}: expected {'a' if bad else 'no'} finding, got {findings}")
        print(f"self-test: {len(samples)} samples, {wrong} wrong")
        sys.exit(1 if wrong else 0)
    findings = list(find(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
    for finding in findings:
        print(finding)
    print(f"{os.path.basename(sys.argv[0])}: {len(findings)} findings")
    sys.exit(1 if findings else 0)
