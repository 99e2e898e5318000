"""Live Java and Go peers and the signpost command see each other on one ZooKeeper.

live_test.py SIGNPOST, where SIGNPOST is the built command. A peer that cannot
be had here (no Maven, Go too old, no network for the first build) is skipped
by name.
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


def listener():
    """A socket that accepts and says nothing, as a provider that is busy."""
    result = socket.socket()
    result.bind(("127.0.0.1", 0))
    result.listen(64)
    return result


def free_port():
    with listener() as one:
        return one.getsockname()[1]


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

    def __init__(self, peer, *flags, zk=""):
        super().__init__(HERE / peer / "run.sh", "consumer", "--zk", zk or f"127.0.0.1:{ZooKeeper.port}", *flags,
                         "--mode", "watch", "--seconds", "600")
        self.seen = []

    def wait(self, test, seconds):
        """Waits for a list of addresses that passes; the seconds it took."""
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
                rows.append(row["address"])
            elif "addresses" in row:
                self.seen.append(sorted(rows))
                if test(set(rows)):
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


def setUpModule():
    ZooKeeper.start()


def tearDownModule():
    ZooKeeper.stop()


@functools.cache
def missing(peer):
    """Why a peer cannot be had here, or None. It mostly is built already."""
    environ = environment()
    built = subprocess.run([str(HERE / peer / "run.sh"), "build"], env=environ, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    if built.returncode == 0:
        return None
    tool = {"java": "mvn", "go": "go"}[peer]
    if not shutil.which(tool, path=environ["PATH"]):
        return f"{peer} peer: {tool} is not installed"
    if peer == "go":
        version = subprocess.run(["go", "version"], env=environ, capture_output=True, text=True, check=False).stdout
        found = re.search(r"go1\.(\d+)", version)
        if found and int(found.group(1)) < 25:
            return f"go peer: Go 1.25 or newer is needed, here is {version.strip()}"
    text = built.stdout
    if re.search(r"Could not (transfer|resolve|find) artifact|offline|dial tcp|no such host|Unknown host|timeout", text):
        return f"{peer} peer: its packages cannot be fetched: {text.strip().splitlines()[-1]}"
    raise AssertionError(f"{peer} peer does not build: {text[-2000:]}")


def need(peer):
    why = missing(peer)
    if why:
        raise unittest.SkipTest(why)


def registry(session):
    return f"zookeeper://127.0.0.1:{ZooKeeper.port}?session={session}"


class ConsumerCase:
    """What a peer's consumer sees of providers that the command registers."""

    peer = ""
    flags = ()

    def setUp(self):
        need(self.peer)

    def provide(self, session):
        socket_ = listener()
        self.addCleanup(socket_.close)
        address = f"127.0.0.1:{socket_.getsockname()[1]}"
        process = Process(SIGNPOST, "provide", f"--app=cpp-{self.peer}", "--service=demo.GreetingService",
                          f"--address={address}", "--protocol=tri", "--param", "methods=greet",
                          f"--registry={registry(session)}")
        self.addCleanup(process.stop)
        self.assertIn("registered ", process.next_line(time.monotonic() + START))
        return address, process

    def leaves(self, session, how):
        """Two providers, one leaves; how long the consumer kept it."""
        stays, _ = self.provide(60000)
        leaves, process = self.provide(session)
        consumer = Consumer(self.peer, "--interface", "greeting", "--protocol", "tri", *self.flags)
        self.addCleanup(consumer.stop)
        consumer.wait(lambda rows: {stays, leaves} <= rows, START)
        process.child.send_signal(how)
        return consumer.wait(lambda rows: stays in rows and leaves not in rows, 60)

    def test_lists_it_and_drops_it_at_once_after_sigterm(self):
        # A session's end would take the 30 seconds it is asked for.
        self.assertLess(self.leaves(30000, signal.SIGTERM), QUICK)

    def test_lists_it_and_drops_it_after_sigkill_when_its_session_ends(self):
        took = self.leaves(4000, signal.SIGKILL)
        self.assertGreater(took, 1)
        self.assertLess(took, 4 + QUICK)


class JavaConsumer(ConsumerCase, unittest.TestCase):
    peer = "java"
    flags = ("--step", "FORCE_APPLICATION")


class GoConsumer(ConsumerCase, unittest.TestCase):
    peer = "go"
    flags = ("--register-mode", "instance")


class ProviderCase:
    """What `signpost resolve` sees of a peer's provider."""

    peer = ""
    flags = ()

    def setUp(self):
        need(self.peer)

    def resolve(self, service):
        done = subprocess.run([SIGNPOST, "resolve", service, "--protocol=tri", "--json", f"--registry={registry(10000)}"],
                              env=environment(), capture_output=True, text=True, timeout=START, check=False)
        if done.returncode == 1:  # found nothing
            return {}, done.stderr
        self.assertEqual(done.returncode, 0, done.stderr)
        endpoints = json.loads(done.stdout)["endpoints"]
        return {f"{e['host']}:{e['port']}": e for e in endpoints}, done.stdout

    def test_resolves_it_until_it_leaves(self):
        port = free_port()
        provider = Process(HERE / self.peer / "run.sh", "provider", "--zk", f"127.0.0.1:{ZooKeeper.port}", "--app",
                           f"live-{self.peer}", "--port", port, "--protocol", "tri", "--register-mode", "instance",
                           "--metadata", "remote", "--services", "order", *self.flags)
        self.addCleanup(provider.stop)
        end = time.monotonic() + START
        while '"ready"' not in provider.next_line(end):
            pass
        found, text = self.resolve("shop/demo.OrderService:1.0.0")
        self.assertIn(f"127.0.0.1:{port}", found, text)
        endpoint = found[f"127.0.0.1:{port}"]
        self.assertEqual((endpoint["app"], endpoint["protocol"]), (f"live-{self.peer}", "tri"))
        other, text = self.resolve("demo.OrderService")
        self.assertNotIn(f"127.0.0.1:{port}", other, text)
        provider.child.send_signal(signal.SIGTERM)
        provider.child.wait(60)
        # dubbo-go does not always take its instance off before it ends; then its session has to.
        end = time.monotonic() + START
        left, text = self.resolve("shop/demo.OrderService:1.0.0")
        while f"127.0.0.1:{port}" in left and time.monotonic() < end:
            left, text = self.resolve("shop/demo.OrderService:1.0.0")
        self.assertNotIn(f"127.0.0.1:{port}", left, text)


class JavaProvider(ProviderCase, unittest.TestCase):
    peer = "java"


class GoProvider(ProviderCase, unittest.TestCase):
    peer = "go"


class ClosedZooKeeper(ZooKeeper):
    """Of its own for each case: a folder is of whom makes it first."""


class Login(unittest.TestCase):
    """Java and C++ with one ZooKeeper login find each other; nobody else looks at either."""

    user = "svc:p4ss"
    # Of svc:p4ss, with all rights, as the server shows it.
    owner = ["digest:svc:6QTj/fh6xDXC6Ov+k7SymJf9pV8=:cdrwa"]

    def setUp(self):
        need("java")
        ClosedZooKeeper.start()
        self.addCleanup(ClosedZooKeeper.stop)
        self.server = f"127.0.0.1:{ClosedZooKeeper.port}"

    def java_provider(self):
        port = free_port()
        # Of a metadata report and a config centre there is no word: Dubbo takes the registry for both, with its login.
        provider = Process(HERE / "java" / "run.sh", "provider", "--zk", self.server, "--zk-user", "svc", "--zk-password", "p4ss",
                           "--app", "closed-java", "--port", port, "--protocol", "tri", "--register-mode", "instance",
                           "--metadata", "remote", "--services", "order")
        self.addCleanup(provider.stop)
        end = time.monotonic() + START
        while '"ready"' not in provider.next_line(end):
            pass
        return f"127.0.0.1:{port}"

    def cpp_provider(self):
        socket_ = listener()
        self.addCleanup(socket_.close)
        address = f"127.0.0.1:{socket_.getsockname()[1]}"
        provider = Process(SIGNPOST, "provide", "--app=closed-cpp", "--service=demo.GreetingService", f"--address={address}",
                           "--protocol=tri", "--param", "methods=greet",
                           f"--registry=zookeeper://{self.server}?session=10000&username=svc&password=p4ss")
        self.addCleanup(provider.stop)
        self.assertIn("registered ", provider.next_line(time.monotonic() + START))
        return address

    def resolve(self, service, user):
        return subprocess.run([SIGNPOST, "resolve", service, "--protocol=tri", "--json", "--timeout=20s",
                               f"--registry=zookeeper://{user}{self.server}?session=10000"],
                              env=environment(), capture_output=True, text=True, timeout=START, check=False)

    def check_rights(self, addresses):
        """All nodes are the user's alone, those of both sides and the folders."""
        done = subprocess.run([str(HERE / "zk-dump"), self.server, "/services", "/dubbo", "--acl", "--auth", self.user],
                              env=environment(), capture_output=True, text=True, timeout=START, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = {node["path"]: node["acl"] for node in json.loads(done.stdout)}
        self.assertEqual({path: acl for path, acl in nodes.items() if acl != self.owner}, {})
        for path in addresses + ["/dubbo/mapping/demo.GreetingService", "/dubbo/mapping/demo.OrderService"]:
            self.assertIn(path, nodes)
        for app in ("closed-cpp", "closed-java"):
            self.assertTrue([path for path in nodes if path.startswith(f"/dubbo/metadata/{app}/")], nodes)

    def check(self, java, cpp):
        done = self.resolve("shop/demo.OrderService:1.0.0", self.user + "@")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [f"{e['host']}:{e['port']}" for e in json.loads(done.stdout)["endpoints"]]
        self.assertEqual(found, [java])
        consumer = Consumer("java", "--interface", "greeting", "--protocol", "tri", "--step", "FORCE_APPLICATION",
                            zk=f"{self.user}@{self.server}")
        self.addCleanup(consumer.stop)
        consumer.wait(lambda rows: rows == {cpp}, START)
        for user in ("", "svc:wr0ng@"):
            for service in ("shop/demo.OrderService:1.0.0", "demo.GreetingService"):
                done = self.resolve(service, user)
                self.assertEqual(done.returncode, 3, done.stdout)
                self.assertIn("without a login" if not user else "with this password", done.stderr)
        if subprocess.run([str(HERE / "tools" / "py.sh"), "build"], env=environment(), capture_output=True, check=False).returncode == 0:
            self.check_rights([f"/services/closed-java/{java}", f"/services/closed-cpp/{cpp}"])
        else:
            print("rights of the nodes are not looked at: the packages of tools/py.sh cannot be had")

    def test_cpp_comes_to_java(self):
        java = self.java_provider()
        self.check(java, self.cpp_provider())

    def test_java_comes_to_cpp(self):
        cpp = self.cpp_provider()
        self.check(self.java_provider(), cpp)


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
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    result = unittest.TextTestRunner(resultclass=Result, verbosity=2).run(suite)
    if os.environ.get("XML_OUTPUT_FILE"):
        text = "<testsuites><testsuite name=\"live\">" + "".join(result.cases) + "</testsuite></testsuites>\n"
        pathlib.Path(os.environ["XML_OUTPUT_FILE"]).write_text(text, encoding="utf-8")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
