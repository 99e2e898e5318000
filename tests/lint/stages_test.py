"""Tests that tests/stages.py counts what Bazel reports, and misses no failure."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import stages  # noqa: E402

XML = """<testsuites><testsuite name="A">
<testcase name="Good" status="run" result="completed" classname="A"/>
<testcase name="Bad" status="run" result="completed" classname="A"><failure message="no"/></testcase>
<testcase name="Left" status="run" result="skipped" classname="A"><skipped message="a.cc:1&#x0A;no peer here"/></testcase>
<testcase name="DISABLED_Old" status="notrun" result="suppressed" classname="A"/>
</testsuite></testsuites>"""


def result(label, status, xml=None, attempt=1):
    outputs = [{"name": "test.xml", "uri": pathlib.Path(xml).as_uri()}] if xml else []
    return json.dumps(
        {
            "id": {"testResult": {"label": label, "run": 1, "shard": 1, "attempt": attempt}},
            "testResult": {"status": status, "testActionOutput": outputs},
        }
    )


def completed(label, success):
    return json.dumps({"id": {"targetCompleted": {"label": label}}, "completed": {"success": success} if success else {}})


class CountTest(unittest.TestCase):
    def xml(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".xml", delete=False)
        self.addCleanup(pathlib.Path(file.name).unlink)
        with file:
            file.write(text)
        return file.name

    def test_cases_of_one_program(self):
        count = stages.count_xml("//t:a", XML)
        self.assertEqual(count.passed, 1)
        self.assertEqual(count.failed, ["//t:a A.Bad"])
        self.assertEqual(count.skipped, [("//t:a A.Left", "no peer here"), ("//t:a A.DISABLED_Old", "disabled")])

    def test_unreadable_xml_is_a_failure(self):
        self.assertEqual(len(stages.count_xml("//t:a", "<testsuites>").failed), 1)

    def test_failed_program_counts_its_cases(self):
        count = stages.count_events([result("//t:a", "FAILED", self.xml(XML))])
        self.assertEqual((count.passed, len(count.failed), len(count.skipped)), (1, 1, 2))

    def test_program_that_died_is_a_failure_even_if_all_cases_passed(self):
        good = '<testsuites><testsuite><testcase name="x"/></testsuite></testsuites>'
        count = stages.count_events([result("//t:a", "FAILED", self.xml(good))])
        self.assertEqual((count.passed, count.failed), (1, ["//t:a (failed)"]))

    def test_timeout_without_xml(self):
        self.assertEqual(stages.count_events([result("//t:a", "TIMEOUT")]).failed, ["//t:a (timeout)"])

    def test_program_without_cases_is_a_failure(self):
        count = stages.count_events([result("//t:a", "PASSED", self.xml("<testsuites/>"))])
        self.assertEqual(count.failed, ["//t:a (has no test cases)"])

    def test_what_does_not_build_is_a_failure(self):
        self.assertEqual(stages.count_events([completed("//t:a", False)]).failed, ["//t:a (did not build)"])

    def test_failed_test_is_not_counted_again_as_unbuilt(self):
        count = stages.count_events([completed("//t:a", True), result("//t:a", "FAILED", self.xml(XML))])
        self.assertEqual(len(count.failed), 1)

    def test_last_attempt_counts(self):
        good = '<testsuites><testsuite><testcase name="x"/></testsuite></testsuites>'
        lines = [result("//t:a", "FAILED", self.xml(XML), 1), result("//t:a", "FLAKY", self.xml(good), 2)]
        count = stages.count_events(lines)
        self.assertEqual((count.passed, count.failed), (1, []))


if __name__ == "__main__":
    unittest.main()
