"""tools/test counts every runner's tests, and takes no crash and no empty run for a success."""

import io
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import lib_runner  # noqa: E402

TAP = """TAP version 13
ok 1 - a
1..3
# tests 4
# suites 0
# pass 1
# fail {}
# cancelled {}
# skipped 1
# todo 0
# duration_ms 5
"""


class Counts(unittest.TestCase):
    def test_closing_lines_of_each_runner(self):
        for text, expected in [
            ("...\nAll tests passed (123 assertions in 12 test cases)\n\n", (12, 0, 0)),
            ("All tests passed (1 assertion in 1 test case)\n", (1, 0, 0)),
            ("test cases: 12 | 11 passed | 1 failed\nassertions: 99 | 98 passed | 1 failed\n", (11, 1, 0)),
            ("test cases:  3 |  2 passed | 1 skipped\nassertions: 9 | 9 passed\n", (2, 0, 1)),
            ("test cases: 2 | 2 failed\nassertions: 2 | 2 failed\n", (0, 2, 0)),
            ("No tests ran\n", None),
            (TAP.format(0, 0), (1, 0, 1)),
            (TAP.format(1, 1), (1, 2, 1)),
            ("..\n-----\nRan 22 tests in 6.962s\n\nOK\n", (22, 0, 0)),
            ("Ran 22 tests in 6.962s\n\nOK (skipped=1)\n", (21, 0, 1)),
            ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n", (1, 3, 1)),
            ("row\n7 passed, 2 failed\n", (7, 2, 0)),
            ("7 passed, 0 failed, 1 skipped\n", (7, 0, 1)),
            ("Segmentation fault\n", None),
            ("", None),
        ]:
            self.assertEqual(lib_runner.count(text), expected, text)


class Suites(unittest.TestCase):
    def counted(self, *command, **options):
        """(passed, failed, exit status, last line) after one stage with one suite."""
        with tempfile.TemporaryDirectory() as logs, redirect_stdout(io.StringIO()) as output:
            runner = lib_runner.Runner(Path(logs))

            def one_suite(run):
                """a suite"""
                run.suite("suite", *command, **options)

            runner.stage("stage", one_suite, 100, [])
            status = runner.finish()
        return runner.passed, runner.failed, status, output.getvalue().splitlines()[-1]

    def test_a_passing_suite_passes(self):
        self.assertEqual(self.counted("echo", "3 passed, 0 failed"), (3, 0, 0, "3 passed, 0 failed"))

    def test_colours_do_not_matter(self):
        coloured = "\\033[1;31m\\033[0m\\033[1;32mAll tests passed\\033[0m (9 assertions in 4 test cases)\\n"
        self.assertEqual(self.counted("printf", coloured)[:3], (4, 0, 0))

    def test_a_failing_suite_fails(self):
        self.assertEqual(self.counted("echo", "3 passed, 2 failed"), (3, 2, 1, "3 passed, 2 failed"))

    def test_a_crash_is_a_failure(self):
        self.assertEqual(self.counted("sh", "-c", "echo 3 passed, 0 failed; kill -SEGV $$")[:3], (3, 1, 1))
        self.assertEqual(self.counted("sh", "-c", "kill -SEGV $$")[:3], (0, 1, 1))

    def test_no_test_is_a_failure(self):
        self.assertEqual(self.counted("true")[:3], (0, 1, 1))
        self.assertEqual(self.counted("echo", "0 passed, 0 failed")[:3], (0, 1, 1))

    def test_a_missing_program_is_a_failure(self):
        self.assertEqual(self.counted("/no/such/program")[:3], (0, 1, 1))

    def test_an_exit_status_alone_is_one_test(self):
        self.assertEqual(self.counted("true", counts="exit status")[:3], (1, 0, 0))
        self.assertEqual(self.counted("false", counts="exit status")[:3], (0, 1, 1))

    def test_a_broken_stage_fails_with_those_that_need_it(self):
        with tempfile.TemporaryDirectory() as logs, redirect_stdout(io.StringIO()):
            runner = lib_runner.Runner(Path(logs))

            def broken(run):
                """a build"""
                run.need("false")

            def other(run):
                """tests"""
                run.suite("suite", "echo", "1 passed, 0 failed")

            runner.stage("build", broken, 10, [])
            runner.stage("tests", other, 10, ["build"])
            self.assertEqual((runner.passed, runner.failed, runner.finish()), (0, 2, 1))


if __name__ == "__main__":
    unittest.main()
