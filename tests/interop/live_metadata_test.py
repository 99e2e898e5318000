"""Metadata of storage type local with Java and Go peers of all kinds, both ways, on one ZooKeeper.

live_metadata_test.py SIGNPOST, where SIGNPOST is the built command. A peer that
cannot be had here is skipped by name.

The matrix: {C++ lists what a peer provides, a peer lists what C++ provides} x
{Dubbo Java 3.3, 3.2, 3.1, 3.0, dubbo-go 3.3} x {the service speaks dubbo, tri};
what C++ provides also x {its metadata over dubbo, tri}. A peer answers for its
metadata in the way that is its default. Dubbo Java 2.7 and 2.6 are listed, and
list, at the interface level: 2.6 knows no other, and 2.7 has an application
level of its own (docs/formats/other_versions.md says how it differs).

All providers of a side run side by side, and so do all consumers: each peer
starts once. What they do not make of each other is not looked at.
"""

import json
import signal
import subprocess
import sys
import time
import unittest

import live
from live import QUICK, SIGNPOST, START, Consumer, Process, ZooKeeper, environment, listener, need, registry

ORDER = "shop/demo.OrderService:1.0.0"
SERVICE = {"group": "shop", "version": "1.0.0"}
PARAMS = {"timeout": "4321", "weight": "77", "custom": "abc"}

# The versions of the Java peer, newest first, as java/versions.txt has them.
JAVA = dict(zip(("3.3", "3.2", "3.1", "3.0", "2.7", "2.6"), (live.HERE / "java" / "versions.txt").read_text(encoding="utf-8").split()))


def setUpModule():
    ZooKeeper.start()


def tearDownModule():
    ZooKeeper.stop()


def had(name, version):
    try:
        return live.missing(name, version) is None
    except AssertionError:
        return False  # its tests say so again


def differences(where, found, wanted):
    """What is not as wanted, in words."""
    return [f"{where}: {key} is {found.get(key)!r}, not {value!r}" for key, value in wanted.items() if found.get(key) != value]


class Watch(Process):
    """`signpost watch` of one level; it keeps the last list."""

    def __init__(self, level):
        super().__init__(SIGNPOST, "watch", ORDER, f"--level={level}", "--json", f"--registry={registry(10000)}")
        self.last = []

    def wait(self, test, seconds):
        """Waits until the applications that are listed pass."""
        end = time.monotonic() + seconds
        while not test({endpoint["app"] for endpoint in self.last}):
            self.last = json.loads(self.next_line(end))["endpoints"]


class ListsPeersTest(unittest.TestCase):
    """What the command sees of the peers' providers."""

    # Of each provider: peer, version, protocol, register mode. Its application is called as the key.
    providers = {
        "java-3.3-dubbo": ("java", JAVA["3.3"], "dubbo", "instance"),
        "java-3.3-tri": ("java", JAVA["3.3"], "tri", "instance"),
        "java-3.2-dubbo": ("java", JAVA["3.2"], "dubbo", "instance"),
        "java-3.2-tri": ("java", JAVA["3.2"], "tri", "instance"),
        "java-3.1-dubbo": ("java", JAVA["3.1"], "dubbo", "instance"),
        "java-3.1-tri": ("java", JAVA["3.1"], "tri", "instance"),
        "java-3.0-dubbo": ("java", JAVA["3.0"], "dubbo", "instance"),
        "java-3.0-tri": ("java", JAVA["3.0"], "tri", "instance"),
        "java-2.7": ("java", JAVA["2.7"], "dubbo", "interface"),
        "java-2.7-application": ("java", JAVA["2.7"], "dubbo", "instance"),
        "java-2.6": ("java", JAVA["2.6"], "dubbo", "interface"),
        "go-dubbo": ("go", "", "dubbo", "instance"),
        "go-tri": ("go", "", "tri", "instance"),
    }

    @classmethod
    def setUpClass(cls):
        cls.watches = {level: Watch(level) for level in ("application", "interface")}
        cls.processes = {}
        cls.ports = {}
        for app, (name, version, protocol, mode) in cls.providers.items():
            if not had(name, version):
                continue
            cls.ports[app] = live.free_port()
            flags = ["--weight", PARAMS["weight"]]
            if name == "java":
                flags += ["--timeout", PARAMS["timeout"], "--param", f"custom={PARAMS['custom']}"]
            cls.processes[app] = Process(*live.peer(name, version), "provider", "--zk", f"127.0.0.1:{ZooKeeper.port}", "--app", app,
                                         "--port", cls.ports[app], "--protocol", protocol, "--register-mode", mode,
                                         "--services", "order", *flags)

    @classmethod
    def tearDownClass(cls):
        for process in [*cls.processes.values(), *cls.watches.values()]:
            process.stop(signal.SIGKILL)

    def resolve(self, level, *flags):
        done = subprocess.run([SIGNPOST, "resolve", ORDER, f"--level={level}", "--json", f"--registry={registry(10000)}", *flags],
                              env=environment(), capture_output=True, text=True, timeout=START, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)["endpoints"] if done.returncode == 0 else []

    def ready(self, app):
        name, version, _, _ = self.providers[app]
        need(name, version)
        end = time.monotonic() + START
        while '"ready"' not in self.processes[app].next_line(end):
            pass

    def check(self, app, level):
        """It is listed with all its parameters until it stops."""
        self.ready(app)
        name, _, protocol, _ = self.providers[app]
        watch = self.watches[level]
        watch.wait(lambda apps: app in apps, QUICK)
        wanted = {"app": app, "protocol": protocol, "port": self.ports[app]}
        if name == "java":
            wanted["weight"] = int(PARAMS["weight"])
            params = {**SERVICE, "timeout": PARAMS["timeout"], "custom": PARAMS["custom"], "methods": "count,place"}
        else:
            params = {**SERVICE, "methods": "Count,count,Place,place" if protocol == "tri" else "count,Count,place,Place"}
        # 2.6 registers no loopback address if it finds another.
        if app != "java-2.6":
            wanted["host"] = "127.0.0.1"
        for where, endpoints in (("watch", watch.last), ("resolve", self.resolve(level))):
            (found,) = [endpoint for endpoint in endpoints if endpoint["app"] == app]
            self.assertEqual(differences(where, found, wanted) + differences(where, found["params"], params), [])
        self.assertEqual([row["app"] for row in self.resolve(level, f"--protocol={protocol}") if row["app"] == app], [app])
        self.processes[app].child.send_signal(signal.SIGTERM)
        # dubbo-go does not always take off its node before it ends; then its session has to.
        watch.wait(lambda apps: app not in apps, START)

    def test_java_3_3_dubbo(self):
        self.check("java-3.3-dubbo", "application")

    def test_java_3_3_tri(self):
        self.check("java-3.3-tri", "application")

    def test_java_3_2_dubbo(self):
        self.check("java-3.2-dubbo", "application")

    def test_java_3_2_tri(self):
        self.check("java-3.2-tri", "application")

    def test_java_3_1_dubbo(self):
        self.check("java-3.1-dubbo", "application")

    def test_java_3_1_tri(self):
        self.check("java-3.1-tri", "application")

    def test_java_3_0_dubbo(self):
        self.check("java-3.0-dubbo", "application")

    def test_java_3_0_tri(self):
        self.check("java-3.0-tri", "application")

    def test_java_2_7_at_the_interface_level(self):
        self.check("java-2.7", "interface")

    def test_java_2_7_has_no_revision_at_the_application_level(self):
        # Nobody lists such an instance, its own consumers neither.
        self.ready("java-2.7-application")
        self.assertEqual(self.resolve("application", "--provided-by=java-2.7-application"), [])

    def test_java_2_6_at_the_interface_level(self):
        self.check("java-2.6", "interface")

    def test_go_dubbo(self):
        self.check("go-dubbo", "application")

    def test_go_tri(self):
        self.check("go-tri", "application")


class ListedByPeersTest(unittest.TestCase):
    """What the peers' consumers see of providers that the command registers."""

    # Of each consumer: peer, version, level, protocols that it lists, flags.
    consumers = {
        "java-3.3": ("java", JAVA["3.3"], "application", ("dubbo", "tri"), ("--step", "FORCE_APPLICATION")),
        "java-3.2": ("java", JAVA["3.2"], "application", ("dubbo", "tri"), ("--step", "FORCE_APPLICATION")),
        "java-3.1": ("java", JAVA["3.1"], "application", ("dubbo", "tri"), ("--step", "FORCE_APPLICATION")),
        "java-3.0": ("java", JAVA["3.0"], "application", ("dubbo", "tri"), ("--step", "FORCE_APPLICATION")),
        "java-2.7": ("java", JAVA["2.7"], "interface", ("dubbo",), ()),
        "java-2.6": ("java", JAVA["2.6"], "interface", ("dubbo",), ()),
        "go-dubbo": ("go", "", "application", ("dubbo",), ("--register-mode", "instance", "--protocol", "dubbo")),
        "go-tri": ("go", "", "application", ("tri",), ("--register-mode", "instance", "--protocol", "tri")),
    }

    @classmethod
    def setUpClass(cls):
        cls.processes = {}
        cls.running = {}
        cls.sockets = []
        # By application: address, protocol.
        cls.provided = {}
        for protocol in ("dubbo", "tri"):
            for metadata in ("dubbo", "tri"):
                cls.provide(f"cpp-{protocol}-by-{metadata}", protocol, metadata, "instance")
        # What 2.x needs.
        cls.provide("cpp-all", "dubbo", "dubbo", "all")
        for key, (name, version, _, _, flags) in cls.consumers.items():
            if had(name, version):
                cls.running[key] = Consumer(name, "--interface", "order", "--all-params", *flags, version=version)

    @classmethod
    def provide(cls, app, protocol, metadata, mode):
        socket = listener()
        cls.sockets.append(socket)
        address = f"127.0.0.1:{socket.getsockname()[1]}"
        cls.provided[app] = (address, protocol)
        cls.processes[app] = Process(SIGNPOST, "provide", f"--app={app}", f"--service={ORDER}", f"--address={address}",
                                     f"--protocol={protocol}", f"--register-mode={mode}", "--metadata=local",
                                     f"--metadata-service-protocol={metadata}", "--param", "methods=place",
                                     *[word for key, value in PARAMS.items() for word in ("--param", f"{key}={value}")],
                                     f"--registry={registry(60000)}")

    @classmethod
    def tearDownClass(cls):
        for process in [*cls.running.values(), *cls.processes.values()]:
            process.stop()
        for socket in cls.sockets:
            socket.close()

    def check(self, key):
        """All are listed, each with its parameters."""
        name, version, level, protocols, _ = self.consumers[key]
        need(name, version)
        wanted = {address: app for app, (address, protocol) in self.provided.items()
                  if protocol in protocols and (level == "application" or app == "cpp-all")}
        last = []

        def test(rows):
            last[:] = [row for row in rows if row["address"] in wanted]
            return {row["address"] for row in last} == set(wanted)

        try:
            self.running[key].wait_rows(test, START)
        except AssertionError as error:
            missed = sorted(app for address, app in wanted.items() if address not in {row["address"] for row in last})
            raise AssertionError(f"{key} does not list {missed}: {error}") from None
        params = {**PARAMS, **SERVICE, "methods": "place"}
        if level == "application":
            # Java's consumer takes its own at the application level, and dubbo-go gives all the weight 100 there.
            params.pop("timeout" if name == "java" else "weight")
        problems = []
        for row in last:
            app = wanted[row["address"]]
            facts = {**SERVICE, "protocol": self.provided[app][1]}
            if version != JAVA["2.6"]:  # which knows no application but its own
                facts["application"] = app
            problems += differences(f"{key} {app}", row, facts)
            problems += differences(f"{key} {app}", row["params"], params)
        self.assertEqual("\n".join(problems), "")

    def test_java_3_3(self):
        self.check("java-3.3")

    def test_java_3_2(self):
        self.check("java-3.2")

    def test_java_3_1(self):
        self.check("java-3.1")

    def test_java_3_0(self):
        self.check("java-3.0")

    def test_java_2_7_at_the_interface_level(self):
        self.check("java-2.7")

    def test_java_2_6_at_the_interface_level(self):
        self.check("java-2.6")

    def test_go_dubbo(self):
        self.check("go-dubbo")

    def test_go_tri(self):
        self.check("go-tri")


if __name__ == "__main__":
    sys.exit(live.main())
