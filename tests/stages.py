"""Runs the tests in stages with Bazel and counts their GoogleTest cases.

Called by tests/run. Stages:

  opt   optimised build of everything; tests that need no server (small), that
        start one (server), and that run live Java and Go peers (live)
  asan  AddressSanitizer and UndefinedBehaviorSanitizer; small and server
  tsan  ThreadSanitizer; the small tests of the folders with threads

A case that runs in several stages counts once for each. A test program that
dies, times out or does not build is one failure more than its cases tell.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

THREADED = ["common", "registry", "client", "metadata", "mapping", "balancer", "router", "cache", "failback"]

STAGES = {
    "opt": {"flags": ["--config=opt"], "tags": ["small", "server", "live"], "folders": None},
    "asan": {
        "flags": ["--config=asan", "--config=ubsan", "--build_tests_only"],
        "tags": ["small", "server", "-no-sanitizer"],
        "folders": None,
    },
    "tsan": {
        "flags": ["--config=tsan", "--build_tests_only"],
        "tags": ["small", "-no-sanitizer", "-no-tsan"],
        "folders": THREADED,
    },
}


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)  # names
    skipped: list = dataclasses.field(default_factory=list)  # (name, reason)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def total(self):
        return self.passed + len(self.failed) + len(self.skipped)


def count_xml(target, text):
    """Counts the cases of one test.xml, GoogleTest's or Bazel's own."""
    count = Count()
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        count.failed.append(f"{target} (unreadable test.xml: {error})")
        return count
    for case in root.iter("testcase"):
        suite = case.get("classname") or ""
        name = case.get("name") or ""
        full = f"{target} {suite}.{name}" if suite else target
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed.append(full)
        elif skipped is not None or case.get("result") == "skipped":
            reason = (skipped.get("message") or skipped.text or "") if skipped is not None else ""
            # GoogleTest puts "file:line" on the first line.
            lines = [line.strip() for line in reason.splitlines() if line.strip()]
            count.skipped.append((full, " ".join(lines[1:] or lines) or "no reason given"))
        elif case.get("status") == "notrun" or case.get("result") == "suppressed":
            count.skipped.append((full, "disabled"))
        else:
            count.passed += 1
    return count


def count_events(lines):
    """Counts what Bazel's build event file tells, one JSON document a line."""
    count = Count()
    results = {}  # target -> list of (attempt, status, xml path)
    broken = []
    aborted = []
    for line in lines:
        if not line.strip():
            continue
        event = json.loads(line)
        ident = event.get("id", {})
        if "testResult" in ident:
            label = ident["testResult"]["label"]
            key = (label, ident["testResult"].get("run", 1), ident["testResult"].get("shard", 1))
            body = event.get("testResult", {})
            xml = next((o.get("uri") for o in body.get("testActionOutput", []) if o.get("name") == "test.xml"), None)
            attempt = ident["testResult"].get("attempt", 1)
            if key not in results or results[key][0] <= attempt:
                results[key] = (attempt, body.get("status", "NO_STATUS"), xml)
        elif "targetCompleted" in ident:
            if "aborted" in event:
                aborted.append(ident["targetCompleted"]["label"])
            elif not event.get("completed", {}).get("success", False):
                broken.append(ident["targetCompleted"]["label"])
        elif "aborted" in event and "pattern" in ident:
            broken.append("pattern " + " ".join(ident["pattern"].get("pattern", [])))
    for (label, _, _), (_, status, uri) in sorted(results.items()):
        one = Count()
        if uri:
            path = pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(uri).path))
            if path.exists():
                one = count_xml(label, path.read_text(encoding="utf-8", errors="replace"))
        if status not in ("PASSED", "FLAKY"):
            if not one.failed:
                one.failed.append(f"{label} ({status.lower()})")
        elif one.total() == 0:
            one.failed.append(f"{label} (has no test cases)")
        count.add(one)
    tested = {key[0] for key in results}
    for label in sorted(set(broken + aborted) - tested):
        count.failed.append(f"{label} (did not build)")
    return count


def patterns(stage):
    folders = STAGES[stage]["folders"]
    if folders is None:
        return ["//..."]
    return [f"//tests/{f}/..." for f in folders if any((ROOT / "tests" / f).rglob("BUILD.bazel"))]


def run_stage(stage, long, environment):
    spec = STAGES[stage]
    tags = spec["tags"] + (["long"] if long and stage == "opt" else [])
    with tempfile.TemporaryDirectory() as folder:
        events = pathlib.Path(folder) / "events.json"
        command = ["bazel", "test", "--keep_going", "--noshow_progress", "--test_output=errors", "--test_summary=none"]
        command += spec["flags"] + [f"--test_tag_filters={','.join(tags)}", f"--build_event_json_file={events}"]
        command += [f"--test_env={name}={value}" for name, value in environment.items()]
        command += ["--", *patterns(stage)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        lines = events.read_text(encoding="utf-8").splitlines() if events.exists() else []
    count = count_events(lines)
    # 0 all well, 3 some tests failed, 4 no tests were found.
    if code != 0 and not count.failed:
        count.failed.append(f"stage {stage} (bazel ended with status {code})")
    return count


def prepare_peers(environment):
    """Builds the live peers now, so that no test's time goes into fetching."""
    folder = ROOT / "tests" / "interop"
    versions = folder / "java" / "versions.txt"
    peers = [("java", version) for version in versions.read_text().split()] if versions.exists() else []
    for peer, version in [*peers, ("go", "")]:
        script = folder / peer / "run.sh"
        if not script.exists():
            continue
        started = time.monotonic()
        try:
            done = subprocess.run(
                [str(script), "build"],
                env={**os.environ, **environment, **({"DUBBO_VERSION": version} if version else {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=600,
                check=False,
            )
            ok, why = done.returncode == 0, done.stdout.decode(errors="replace").strip().splitlines()[-1:]
        except (OSError, subprocess.TimeoutExpired) as error:
            ok, why = False, [str(error)]
        text = "built" if ok else "not to be had, its tests will be skipped: " + " ".join(why)
        print(f"live peer {peer} {version}".rstrip() + f": {text} ({time.monotonic() - started:.0f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tests/run")
    parser.add_argument("--stage", action="append", choices=list(STAGES), help="only this stage (may be given again)")
    parser.add_argument("--long", action="store_true", help="the long tests too")
    options = parser.parse_args()

    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache"))
    environment = {"INTEROP_BUILD_DIR": os.environ.get("INTEROP_BUILD_DIR") or str(cache / "signpost-interop")}

    total = Count()
    for stage in options.stage or list(STAGES):
        print(f"== stage {stage}", flush=True)
        started = time.monotonic()
        if "live" in STAGES[stage]["tags"]:
            prepare_peers(environment)
        count = run_stage(stage, options.long, environment)
        total.add(count)
        print(
            f"== stage {stage}: {count.passed} passed, {len(count.failed)} failed, "
            f"{len(count.skipped)} skipped in {time.monotonic() - started:.0f} s",
            flush=True,
        )
    for name, reason in total.skipped:
        print(f"SKIPPED {name}: {reason}")
    for name in total.failed:
        print(f"FAILED {name}")
    if total.total() == 0:
        print("FAILED: no test ran")
    print(f"{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped", flush=True)
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
