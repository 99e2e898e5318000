"""What the tests with live peers share: servers, peers, waiting, results.

The first argument of such a test is the built signpost command.
"""

import functools
import json
import os
import pathlib
import pwd
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from xml.sax import saxutils

HERE = pathlib.Path(__file__).resolve().parent
SERVERS = HERE.parent / "servers"
SIGNPOST = sys.argv[1] if len(sys.argv) > 1 else ""

# Generous: two cores may be busy with other tests. What must be quick is told
# apart from what a session's end does by sessions longer than these.
START = 90
QUICK = 15


def environment():
    """A home folder and a path for Maven and Go, which a test may lack."""
    result = dict(os.environ)
    result.setdefault("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    result["PATH"] = result.get("PATH", "/usr/bin:/bin") + ":/usr/local/go/bin"
    result.setdefault("INTEROP_BUILD_DIR", os.path.join(result["HOME"], ".cache", "signpost-interop"))
    return result


def listener(host="127.0.0.1"):
    """A socket that accepts and says nothing, as a provider that is busy."""
    result = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    result.bind((host, 0))
    result.listen(64)
    return result


def free_port():
    with listener() as one:
        return one.getsockname()[1]


def peer(name, version=""):
    """The words that start a peer; a version is one of java/versions.txt."""
    return (["env", f"DUBBO_VERSION={version}"] if version else []) + [str(HERE / name / "run.sh")]


class Process:
    """A process whose output is read line by line as it comes."""

    def __init__(self, *command):
        self.log = tempfile.TemporaryFile("w+")
        # An empty home folder, so that no cache of an earlier run answers.
        self.home = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=self.log, text=True,
                                      env={**environment(), "INTEROP_HOME": self.home})
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def next_line(self, end):
        """The next line, or an error with what the process said."""
        try:
            line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
        except queue.Empty:
            line = ""
        if not line:
            self.log.seek(0)
            why = "ended" if line is None else "printed nothing in time"
            raise AssertionError(f"{self.child.args[:2]} {why}: {self.log.read()[-3000:]}")
        return line

    def stop(self, how=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(how)
            try:
                self.child.wait(20)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.reader.join(5)
        self.child.stdout.close()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)


class Consumer(Process):
    """A peer's consumer in watch mode: it prints all rows at each change."""

    def __init__(self, name, *flags, zk="", version=""):
        super().__init__(*peer(name, version), "consumer", "--zk", zk or f"127.0.0.1:{ZooKeeper.port}", *flags,
                         "--mode", "watch", "--seconds", "600")
        self.seen = []

    def wait(self, test, seconds):
        """Waits for a list of addresses that passes; the seconds it took."""
        return self.wait_rows(lambda rows: test({row["address"] for row in rows}), seconds)

    def wait_rows(self, test, seconds):
        """The same with all that the peer says of each address."""
        started = time.monotonic()
        rows = []
        while True:
            try:
                line = self.next_line(started + seconds)
            except AssertionError as error:
                raise AssertionError(f"lists seen: {self.seen}; {error}") from None
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if "address" in row:
                rows.append(row)
            elif "addresses" in row:
                self.seen.append(sorted(row["address"] for row in rows))
                if test(rows):
                    return time.monotonic() - started
                rows = []


class ZooKeeper:
    port = 0
    folder = None

    @classmethod
    def start(cls):
        cls.port = free_port()
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        done = subprocess.run([str(SERVERS / "zookeeper-start.sh"), str(cls.port), cls.folder], env=environment(), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=START)
        if done.returncode != 0:
            raise RuntimeError(f"no ZooKeeper: {done.stdout[-2000:]}")

    @classmethod
    def stop(cls):
        subprocess.run([str(SERVERS / "stop.sh"), cls.folder], env=environment(), check=False)
        shutil.rmtree(cls.folder, ignore_errors=True)


@functools.cache
def missing(name, version=""):
    """Why a peer cannot be had here, or None. It mostly is built already."""
    environ = environment()
    built = subprocess.run([*peer(name, version), "build"], env=environ, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    if built.returncode == 0:
        return None
    tool = {"java": "mvn", "go": "go"}[name]
    called = f"{name} {version} peer" if version else f"{name} peer"
    if not shutil.which(tool, path=environ["PATH"]):
        return f"{called}: {tool} is not installed"
    if name == "go":
        have = subprocess.run(["go", "version"], env=environ, capture_output=True, text=True, check=False).stdout
        found = re.search(r"go1\.(\d+)", have)
        if found and int(found.group(1)) < 25:
            return f"{called}: Go 1.25 or newer is needed, here is {have.strip()}"
    text = built.stdout
    if re.search(r"Could not (transfer|resolve|find) artifact|offline|dial tcp|no such host|Unknown host|timeout", text):
        return f"{called}: its packages cannot be fetched: {text.strip().splitlines()[-1]}"
    raise AssertionError(f"{called} does not build: {text[-2000:]}")


def need(name, version=""):
    why = missing(name, version)
    if why:
        raise unittest.SkipTest(why)


def registry(session):
    return f"zookeeper://127.0.0.1:{ZooKeeper.port}?session={session}"


class Result(unittest.TextTestResult):
    """Also keeps the cases, for the XML file that Bazel asks for."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.cases = []

    def keep(self, test, inside=""):
        classname, _, name = test.id().removeprefix("__main__.").rpartition(".")
        if not classname:  # setUpClass and setUpModule
            classname, name = "live", test.id()
        self.cases.append(f"<testcase classname={saxutils.quoteattr(classname)} name={saxutils.quoteattr(name)}>{inside}</testcase>")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.keep(test)

    def bad(self, test, error):
        self.keep(test, f"<failure message={saxutils.quoteattr(self._exc_info_to_string(error, test)[-2000:])}/>")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.bad(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.bad(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"[  SKIPPED ] {test.id()}: {reason}")
        self.keep(test, f"<skipped message={saxutils.quoteattr(reason)}/>")


def main():
    """Runs the cases of the script that was started; its exit status."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(resultclass=Result, verbosity=2).run(suite)
    if os.environ.get("XML_OUTPUT_FILE"):
        text = "<testsuites><testsuite name=\"live\">" + "".join(result.cases) + "</testsuite></testsuites>\n"
        pathlib.Path(os.environ["XML_OUTPUT_FILE"]).write_text(text, encoding="utf-8")
    return 0 if result.wasSuccessful() else 1
