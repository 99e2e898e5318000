"""Java and Go peers with the signpost command at each level, both ways, on one ZooKeeper.

live_matrix_test.py SIGNPOST, where SIGNPOST is the built command. A peer that
cannot be had here is skipped by name.

The matrix: {Dubbo Java 3.3, dubbo-go 3.3} x {it consumes what C++ provides, C++
consumes what it provides} x {register-mode interface, instance, all}, always
with remote metadata, group and version. In each cell also two protocols, two
interfaces and an address of IPv6. All providers of a side run side by side, as
applications of their own, so that a peer's consumer starts once and not once
for each mode.

What the peers do, by experiment with Dubbo Java 3.3.6 and dubbo-go 3.3.2:

- In Java's rows at the application level `timeout` is always the consumer's
  own: there its parameters come before the provider's.
- dubbo-go gives each address of the application level the weight 100, whatever
  the metadata says.
- dubbo-go finds the tag rules of a provider by the parameter `application` of
  its address. At the application level it has that from the metadata's service
  only; where it is missing, it takes the consumer's own.
- A dubbo-go consumer of the interface level may keep the address of a node that goes right after another
  one of the same folder (4 of 10 runs in which 4 providers left at once), for as long as nothing else happens.
- A dubbo-go provider on ::1 fails at the interface level, since it writes the
  address without brackets; at the application level it also does, and we read it.
"""

import json
import signal
import socket
import subprocess
import sys
import time
import unittest

import live
from live import HERE, QUICK, SIGNPOST, START, Consumer, Process, ZooKeeper, environment, listener, need, registry

ORDER = "shop/demo.OrderService:1.0.0"
MODES = ("interface", "instance", "all")
# What a provider says of its services, beside group and version.
PARAMS = {"methods": "place", "timeout": "4321", "weight": "77", "custom": "abc"}


def setUpModule():
    ZooKeeper.start()


def tearDownModule():
    ZooKeeper.stop()


def differences(where, found, wanted):
    """What is not as wanted, in words."""
    return [f"{where}: {key} is {found.get(key)!r}, not {value!r}" for key, value in wanted.items() if found.get(key) != value]


class ConsumerCase:
    """What a peer's consumers see of providers that the command registers."""

    peer = ""
    # Of each consumer: interface, protocol, models at which it looks, more flags.
    consumers = ()

    def setUp(self):
        need(self.peer)
        # By address.
        self.apps = {}
        self.processes = {}
        # The addresses of each service, protocol and model.
        self.listed = {}
        # The last rows of a consumer.
        self.last = []

    def provide(self, name, mode, services, protocols=("tri",), host="127.0.0.1"):
        """A provider process with a port for each protocol. Its addresses."""
        addresses_ = {}
        for protocol in protocols:
            socket_ = listener(host)
            self.addCleanup(socket_.close)
            port = socket_.getsockname()[1]
            addresses_[f"[{host}]:{port}" if ":" in host else f"{host}:{port}"] = protocol
        app = f"cpp-{name}"
        process = Process(SIGNPOST, "provide", f"--app={app}", f"--register-mode={mode}",
                          *[f"--address={protocol}://{address}" for address, protocol in addresses_.items()],
                          *[f"--service={service}" for service in services], "--metadata=remote",
                          *[word for key, value in PARAMS.items() for word in ("--param", f"{key}={value}")],
                          f"--registry={registry(60000)}")
        self.addCleanup(process.stop)
        self.assertIn("registered ", process.next_line(time.monotonic() + START))
        models = {"interface": ["interface"], "instance": ["application"], "all": ["application", "interface"]}[mode]
        for address, protocol in addresses_.items():
            self.apps[address] = app
            self.processes[address] = process
            for service in services:
                for model in models:
                    self.listed.setdefault((service, protocol, model), set()).add(address)
        return list(addresses_)

    def consume(self, interface, protocol, *flags):
        consumer = Consumer(self.peer, "--interface", interface, "--protocol", protocol, "--all-params", *flags)
        self.addCleanup(consumer.stop)
        return consumer

    def wanted(self, service, protocol, models):
        return {(model, address) for model in models for address in self.listed.get((service, protocol, model), set())}

    def wrong(self, row, model, service):
        """What is wrong with a row, in words."""
        wanted = {"application": self.apps[row["address"]]}
        if service == ORDER:
            wanted.update(group="shop", version="1.0.0")
        params = dict(PARAMS)
        if self.peer == "java" and model == "application":
            params.pop("timeout")
        if self.peer == "go" and model == "application":
            params.pop("weight")
        where = f"{self.peer} {model} {service} {row['address']}"
        result = differences(where, row, wanted) + differences(where, row["params"], params)
        if "step" in row:
            result += differences(where, row, {"step": "APPLICATION_FIRST"})
        return result

    def test_lists_each_with_its_parameters_until_it_stops(self):
        # Two interfaces each; demo.StockService is at the interface level only.
        both = ("tri", "dubbo")
        leave = [
            *self.provide("interface", "interface", (ORDER, "demo.StockService")),
            *self.provide("instance", "instance", (ORDER, "demo.GreetingService"), both),
            *self.provide("all", "all", (ORDER, "demo.GreetingService"), both),
            *self.provide("six", "all", (ORDER,), host="::1"),
        ]
        self.provide("stays", "all", (ORDER, "demo.GreetingService"), both)
        names = {"order": ORDER, "greeting": "demo.GreetingService", "stock": "demo.StockService"}
        running = [(names[interface], protocol, models, self.consume(interface, protocol, *flags))
                   for interface, protocol, models, flags in self.consumers]

        def wait(service, protocol, models, consumer, seconds):
            wanted = self.wanted(service, protocol, models)
            # In its default step Java uses the application level if it has addresses there, else the interface
            # level; until it has decided, neither.
            used = "application" if self.listed.get((service, protocol, "application")) else "interface"

            def test(rows):
                self.last = rows
                return {(row.get("model", models[0]), row["address"]) for row in rows} == wanted and \
                    all(row["in-use"] == (row["model"] == used) for row in rows if "model" in row)

            consumer.wait_rows(test, seconds)

        problems = []
        for service, protocol, models, consumer in running:
            wait(service, protocol, models, consumer, START)
            for row in self.last:
                problems += self.wrong(row, row.get("model", models[0]), service)
        self.assertEqual("\n".join(problems), "")

        # One after the other, or dubbo-go may miss one.
        for process in {self.processes[address]: None for address in leave}:
            process.child.send_signal(signal.SIGTERM)
            before = [self.wanted(service, protocol, models) for service, protocol, models, _ in running]
            for listed in self.listed.values():
                listed.difference_update([address for address in leave if self.processes[address] is process])
            for (service, protocol, models, consumer), had in zip(running, before):
                if self.wanted(service, protocol, models) != had:
                    wait(service, protocol, models, consumer, QUICK)


class JavaConsumer(ConsumerCase, unittest.TestCase):
    peer = "java"
    consumers = (
        ("order", "tri", ("application", "interface"), ("--ipv6",)),
        ("order", "dubbo", ("application", "interface"), ()),
        ("greeting", "tri", ("application", "interface"), ()),
        ("stock", "tri", ("application", "interface"), ()),
    )


class GoConsumer(ConsumerCase, unittest.TestCase):
    """A reference of dubbo-go has one level, that of the registry."""

    peer = "go"
    consumers = tuple((interface, protocol, (model,), ("--register-mode", mode))
                      for interface, protocol in (("order", "tri"), ("order", "dubbo"), ("greeting", "tri"))
                      for model, mode in (("application", "instance"), ("interface", "interface"))) + \
        (("stock", "tri", ("interface",), ("--register-mode", "interface")),)


class Watch(Process):
    """`signpost watch` of one level."""

    def __init__(self, service, level):
        super().__init__(SIGNPOST, "watch", service, f"--level={level}", "--json", f"--registry={registry(10000)}")

    def wait(self, test, seconds):
        """Waits for a list of addresses that passes."""
        end = time.monotonic() + seconds
        while not test(addresses(json.loads(self.next_line(end))["endpoints"])):
            pass


def addresses(endpoints):
    return {(e["protocol"], f"{e['host']}:{e['port']}") for e in endpoints}


def free_pair():
    """A port that is free and whose next one is."""
    while True:
        with listener() as one, socket.socket() as other:
            port = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


class ProviderCase:
    """What the command sees of a peer's providers."""

    peer = ""
    flags = ()
    # The register-mode of its provider with an IPv6 address.
    six = "all"
    params = {}

    def setUp(self):
        need(self.peer)
        self.ports = {}

    def start(self, name, mode, *flags):
        port = free_pair()
        self.ports[name] = port
        provider = Process(HERE / self.peer / "run.sh", "provider", "--zk", f"127.0.0.1:{ZooKeeper.port}", "--app", f"{self.peer}-{name}",
                           "--port", port, "--protocol", "dubbo,tri", "--register-mode", mode, "--metadata", "remote",
                           "--weight", PARAMS["weight"], *flags, *self.flags, *self.more())
        self.addCleanup(provider.stop)
        return provider

    def more(self):
        """Flags that are others for each provider."""
        return ()

    def resolve(self, service, level, *flags):
        done = subprocess.run([SIGNPOST, "resolve", service, f"--level={level}", "--json", f"--registry={registry(10000)}", *flags],
                              env=environment(), capture_output=True, text=True, timeout=START, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)["endpoints"] if done.returncode == 0 else []

    def of(self, *names):
        """The addresses of providers, with both protocols."""
        return {(protocol, f"{'::1' if name == 'six' else '127.0.0.1'}:{self.ports[name] + add}")
                for name in names for add, protocol in enumerate(("dubbo", "tri"))}

    def wrong(self, endpoint, level):
        name = {address: name for name in self.ports for _, address in self.of(name)}[f"{endpoint['host']}:{endpoint['port']}"]
        where = f"{self.peer} {level} {endpoint['protocol']} {name}"
        return differences(where, endpoint, {"app": f"{self.peer}-{name}", "weight": self.weight}) + \
            differences(where, endpoint["params"], {"group": "shop", "version": "1.0.0", **self.params})

    def test_resolves_each_with_its_parameters_until_it_stops(self):
        providers = [self.start(mode, mode, "--services", "order,stock" if mode == "interface" else "order,greeting") for mode in MODES]
        providers.append(self.start("six", self.six, "--services", "order", "--host", "::1", "--ipv6"))
        end = time.monotonic() + START
        for provider in providers:
            while '"ready"' not in provider.next_line(end):
                pass
        both = ("six",) if self.six == "all" else ()
        wanted = {"application": self.of("instance", "all", "six"), "interface": self.of("interface", "all", *both)}
        # In dual mode the first level with addresses is the list.
        wanted["dual"] = wanted["application"]
        problems = []
        for level, found in wanted.items():
            endpoints = self.resolve(ORDER, level)
            self.assertEqual(addresses(endpoints), found, level)
            for endpoint in endpoints:
                problems += self.wrong(endpoint, level)
            self.assertEqual(addresses(self.resolve(ORDER, level, "--protocol=tri")), {row for row in found if row[0] == "tri"}, level)
            # Group and version are part of the name.
            self.assertEqual(self.resolve("demo.OrderService", level), [])
        self.assertEqual("\n".join(problems), "")
        self.assertEqual(addresses(self.resolve("demo.GreetingService", "application")), self.of("instance", "all"))
        self.assertEqual(addresses(self.resolve("demo.GreetingService", "interface")), self.of("all"))
        self.assertEqual(self.resolve("demo.StockService", "application"), [])
        self.assertEqual(addresses(self.resolve("demo.StockService", "dual")), self.of("interface"))

        watches = {level: Watch(ORDER, level) for level in wanted}
        for level, watch in watches.items():
            self.addCleanup(watch.stop)
            watch.wait(lambda found, level=level: found == wanted[level], START)
        for provider in providers:
            provider.child.send_signal(signal.SIGTERM)
        # dubbo-go does not always take off its nodes before it ends; then its session has to.
        for level, watch in watches.items():
            watch.wait(lambda found: not found, START)
            self.assertEqual(self.resolve(ORDER, level), [])


class JavaProvider(ProviderCase, unittest.TestCase):
    peer = "java"
    flags = ("--timeout", PARAMS["timeout"], "--param", f"custom={PARAMS['custom']}")
    weight = int(PARAMS["weight"])
    params = {"timeout": PARAMS["timeout"], "custom": PARAMS["custom"], "methods": "count,place"}


class GoProvider(ProviderCase, unittest.TestCase):
    peer = "go"
    six = "instance"
    # It does not write the weight that it is given.
    weight = 100
    params = {"methods": "Count,count,Place,place", "serialization": "hessian2"}

    def more(self):
        return ("--metadata-port", live.free_port())


if __name__ == "__main__":
    sys.exit(live.main())
