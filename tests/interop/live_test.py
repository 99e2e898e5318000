"""Live Java and Go peers and the signpost command see each other on one ZooKeeper.

live_test.py SIGNPOST, where SIGNPOST is the built command. A peer that cannot
be had here (no Maven, Go too old, no network for the first build) is skipped
by name.
"""

import json
import signal
import subprocess
import sys
import time
import unittest

import live
from live import HERE, QUICK, SIGNPOST, START, Consumer, Process, ZooKeeper, environment, free_port, listener, need, registry


def setUpModule():
    ZooKeeper.start()


def tearDownModule():
    ZooKeeper.stop()


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


if __name__ == "__main__":
    sys.exit(live.main())
