"""Live Java and Go consumers call a C++ server over Triple, by the address that the signpost command registers.

live_triple_test.py SIGNPOST TRIPLE_GREETER, the built command and the server
(see triple/triple_greeter.cc). A peer that cannot be had here is skipped by
name.

What decides how a consumer asks, by experiment with Dubbo Java 3.3.6 and
dubbo-go 3.3.2 (the parameters are those of the metadata's service):

- Both use the wrapper messages for an interface of plain types, over ordinary
  gRPC framing (application/grpc+proto), at /<interface>/<method> with the
  method's name as the consumer has it. No parameter asks for that.
- Neither needs any parameter: with nothing but the interface both ask in
  hessian2. Java writes its name as hessian4 in the message, dubbo-go as
  hessian2, and both take it back as they wrote it; so do they the content
  type application/grpc that gRPC C++ answers with.
- Java asks in the first of `prefer.serialization`, else in `serialization`,
  else in hessian2. The first is taken even if Java does not know it
  (`thrift,hessian2`): then each call fails with "Serialize request failed".
- dubbo-go ignores `prefer.serialization`, and takes `serialization` of the
  provider before its own. With a value that it does not know (`fastjson2`) it
  panics while it builds its list, so such a provider ends each dubbo-go consumer.
- `methods` does not matter for a call: with another method, or none, greet is
  called all the same.
- Group and version come as headers, tri-service-group and tri-service-version.
- dubbo-go also watches grpc.health.v1.Health of each address; UNIMPLEMENTED
  does no harm.
"""

import json
import signal
import sys
import time
import unittest

import live
from live import HERE, SIGNPOST, START, Consumer, Process, ZooKeeper, need, registry

GREETER = sys.argv[2] if len(sys.argv) > 2 else ""


def setUpModule():
    ZooKeeper.start()


def tearDownModule():
    ZooKeeper.stop()


class Greeter(Process):
    """A C++ server that answers greet, without a word to the registry."""

    def __init__(self, service):
        super().__init__(GREETER, f"--service={service}")
        self.address = self.next_line(time.monotonic() + START).removeprefix("listening on ").strip()
        self.answer = "hello world from triple-greeter:" + self.address.rpartition(":")[2]

    def end(self):
        """Ends it as an operator does; how many calls it has answered."""
        self.child.send_signal(signal.SIGTERM)
        line = self.next_line(time.monotonic() + START)
        status = self.child.wait(START)
        if status != 0:
            raise AssertionError(f"triple_greeter ended with status {status}")
        return int(line.removeprefix("stopped after ").removesuffix(" calls\n"))


class Caller(Process):
    """A peer's consumer that calls greet("world") and prints each answer."""

    def __init__(self, peer, calls, *flags):
        super().__init__(HERE / peer / "run.sh", "consumer", "--zk", f"127.0.0.1:{ZooKeeper.port}", "--protocol", "tri",
                         "--interface", "greeting", "--mode", "invoke", "--calls", calls, "--wait", "1", *flags)

    def next_answer(self, end):
        """The next answer, or what the peer said of a failed call; None after the last."""
        while True:
            try:
                row = json.loads(self.next_line(end))
            except ValueError:
                continue
            if "result" in row or "error" in row:
                return row.get("result") or f"failed: {row['error']}"
            if "failed" in row:
                return None

    def answers(self):
        end = time.monotonic() + START
        return list(iter(lambda: self.next_answer(end), None))


class CallCase:
    """What a peer's consumer gets from C++ servers that the command registers."""

    peer = ""
    flags = ()
    # Without an end, for as long as the test lets it.
    many = ()
    # A parameter that makes the peer ask in what the server does not speak, and what a call then says.
    foreign = ("", "")

    def setUp(self):
        need(self.peer)

    def provide(self, *flags, service="demo.GreetingService"):
        """First listens, then registers."""
        greeter = Greeter(service)
        self.addCleanup(greeter.stop)
        process = Process(SIGNPOST, "provide", f"--app=cpp-called-by-{self.peer}", f"--service={service}",
                          f"--address={greeter.address}", "--protocol=tri", "--metadata=remote", *flags,
                          f"--registry={registry(60000)}")
        self.addCleanup(process.stop)
        self.assertIn("registered ", process.next_line(time.monotonic() + START))
        return greeter, process

    def call(self, calls, *flags):
        caller = Caller(self.peer, calls, *self.flags, *flags)
        self.addCleanup(caller.stop)
        return caller

    def test_lists_it_and_each_call_is_answered_by_it(self):
        greeter, _ = self.provide("--param", "methods=greet", "--param", "prefer.serialization=hessian2")
        consumer = Consumer(self.peer, "--interface", "greeting", "--protocol", "tri", *self.flags)
        self.addCleanup(consumer.stop)
        consumer.wait(lambda rows: rows == {greeter.address}, START)
        consumer.stop()
        self.assertEqual(self.call(20).answers(), [greeter.answer] * 20)
        self.assertEqual(greeter.end(), 20)

    def test_no_parameter_is_needed(self):
        greeter, _ = self.provide()
        self.assertEqual(self.call(3).answers(), [greeter.answer] * 3)

    def test_group_and_version_come_with_the_call(self):
        # The server refuses calls of any other.
        greeter, _ = self.provide(service="shop/demo.GreetingService:1.0.0")
        self.assertEqual(self.call(3, "--group", "shop", "--version", "1.0.0").answers(), [greeter.answer] * 3)

    def test_parameters_reach_it(self):
        parameter, said = self.foreign
        greeter, _ = self.provide("--param", parameter)
        for answer in self.call(2).answers():
            self.assertIn(said, answer)
        self.assertEqual(greeter.end(), 0)

    def test_no_call_fails_while_one_of_two_leaves(self):
        stays, _ = self.provide()
        leaves, process = self.provide()
        caller = self.call(*self.many)
        end = time.monotonic() + START
        seen = {stays.answer: 0, leaves.answer: 0}

        def take():
            answer = caller.next_answer(end)
            self.assertIn(answer, seen)
            seen[answer] += 1
            return answer

        while not all(seen.values()):
            take()
        process.stop()
        # By chance alone, once in a thousand million.
        row = 0
        while row < 30:
            row = row + 1 if take() == stays.answer else 0
        answered = leaves.end()
        for _ in range(30):
            take()
        # An answer may be lost with the connection that the peer gave up; then it has asked again.
        self.assertLessEqual(seen[leaves.answer], answered)


class JavaCalls(CallCase, unittest.TestCase):
    peer = "java"
    flags = ("--step", "FORCE_APPLICATION")
    # With Dubbo's usual retries, which the peer does not have by itself.
    many = (100000, "--pause-ms", "10", "--retries", "2")
    foreign = ("prefer.serialization=fastjson2,hessian2", "serialization `fastjson2`: only hessian2")


class GoCalls(CallCase, unittest.TestCase):
    peer = "go"
    flags = ("--register-mode", "instance")
    many = (1000000,)
    foreign = ("serialization=protobuf", "doesn't implement proto.Message")


if __name__ == "__main__":
    sys.exit(live.main())
