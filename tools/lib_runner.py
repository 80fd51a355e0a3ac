"""Runs stages of builds and test suites: logs, time limits, and one count over all suites whatever runner they use."""

import argparse
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"


class Failed(Exception):
    """The stage cannot go on."""


def count(output):
    """(passed, failed, skipped) as the closing lines of Catch2, node:test, unittest or a plain 'N passed, N failed' say; None
    when there are none."""
    if match := re.search(r"^All tests passed \(.*? in (\d+) test cases?\)", output, re.M):
        return int(match[1]), 0, 0
    if match := re.search(r"^test cases: .*$", output, re.M):
        return tuple(_number(match[0], word) for word in ("passed", "failed", "skipped"))
    if match := re.search(r"^# tests \d+$(.*)\Z", output, re.M | re.S):
        tail = dict(re.findall(r"^# (\w+) (\d+)$", match[1], re.M))
        failed = int(tail.get("fail", 0)) + int(tail.get("cancelled", 0))
        return int(tail.get("pass", 0)), failed, int(tail.get("skipped", 0)) + int(tail.get("todo", 0))
    if match := re.search(r"^Ran (\d+) tests? in .*\n\n(OK|FAILED)(?: \((.*)\))?$", output, re.M):
        details = dict(re.findall(r"(\w+)=(\d+)", match[3] or ""))
        failed = int(details.get("failures", 0)) + int(details.get("errors", 0))
        skipped = int(details.get("skipped", 0))
        return int(match[1]) - failed - skipped, failed, skipped
    plain = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", output, re.M)
    if plain:
        return tuple(int(number or 0) for number in plain[-1])
    return None


def _number(line, word):
    match = re.search(rf"(\d+) {word}", line)
    return int(match[1]) if match else 0


class Plan:
    """The stages of one command, in their order."""

    def __init__(self, program):
        self.program = program
        self.stages = {}  # name: (function, seconds, stages it needs)

    def stage(self, name, seconds, needs=()):
        """Declares a stage with its budget: seconds on two cores, the first time on a new machine. Its text is its help."""

        def declare(function):
            self.stages[name] = (function, seconds, needs)
            return function

        return declare

    def main(self):
        """Runs what the command line asks for; the exit status."""
        parser = argparse.ArgumentParser(prog=self.program)
        parser.add_argument("--only", action="append", choices=list(self.stages), metavar="STAGE")
        parser.add_argument("--list", action="store_true")
        arguments = parser.parse_args()
        if arguments.list:
            for name, (function, seconds, _) in self.stages.items():
                print(f"{name:10} {seconds:4} s  {function.__doc__}")
            return 0

        chosen = set(arguments.only or self.stages)
        for name in reversed(list(self.stages)):  # what a stage needs stands before it
            if name in chosen:
                chosen |= set(self.stages[name][2])

        os.chdir(ROOT)
        os.environ["BITWIN_TINY"] = str(BUILD / "tiny/mixed.gguf")
        os.environ["BITWIN_VOCAB_DIR"] = str(BUILD / "vocab")
        for name in ("BITWIN_KERNEL", "BITWIN_BIN", "BITWIN_BUILD", "BITWIN_SMOLLM2"):
            os.environ.pop(name, None)

        runner = Runner(BUILD / "test-logs")
        runner.report("setup", int(os.environ.get("BITWIN_SETUP_SECONDS", 0)), 300)
        for name, (function, seconds, needs) in self.stages.items():
            if name in chosen:
                runner.stage(name, function, seconds, needs)
        return runner.finish()


class Runner:
    def __init__(self, logs):
        self.logs = logs
        logs.mkdir(parents=True, exist_ok=True)
        self.passed = self.failed = self.skipped = 0
        self.broken = set()  # stages that could not do what others need
        self.problems = []
        self.started = time.monotonic()

    def stage(self, name, function, budget, needs):
        missing = [other for other in needs if other in self.broken]
        if missing:
            self.broken.add(name)
            self._fail(f"{name}: not run, since {', '.join(missing)} failed")
            return
        print(f"== {name}: {function.__doc__}")
        self.log_path = self.logs / f"{name}.log"
        self.name, self.budget = name, budget
        started = time.monotonic()
        with open(self.log_path, "w", buffering=1, encoding="utf-8") as self.log:
            try:
                function(self)
            except Failed as error:
                self.broken.add(name)
                self._fail(f"{name}: {error}")
        self.report(name, time.monotonic() - started, budget)

    def report(self, name, seconds, budget):
        over = "  OVER ITS BUDGET" if seconds > budget else ""
        print(f"   {name}: {seconds:.0f} s of {budget} s{over}")

    def build(self, preset, *targets, options=()):
        """Configures and builds a preset, or some of its targets."""
        self.need("cmake", "--preset", preset, *options)
        self.need("cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []))

    def need(self, *command):
        """Runs a command that the rest of the stage needs."""
        status, output = self._run(command)
        if status != 0:
            self._show(output)
            raise Failed(f"{self._text(command)}: {status}")

    def output(self, *command):
        """What a command that must succeed prints."""
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Failed(f"{self._text(command)}: exit status {done.returncode}")
        return done.stdout

    def suite(self, title, *command, counts="closing line", env=None, cwd=None):
        """Runs a test suite. A suite that crashes, runs no test or fails without counting a failure counts as one failure;
        counts='exit status' is for a check that is one test."""
        started = time.monotonic()
        status, output = self._run(command, env, cwd)
        if counts == "exit status":
            numbers = (1, 0, 0) if status == 0 else (0, 1, 0)
        else:
            numbers = count(output)
        problem = ""
        if numbers is None or sum(numbers) == 0:
            numbers, problem = (0, 1, 0), f"ran no test ({status})"
        elif status != 0 and numbers[1] == 0:
            numbers, problem = (numbers[0], 1, numbers[2]), f"ended badly ({status})"
        elif numbers[1] > 0:
            problem = f"{numbers[1]} failed"
        passed, failed, skipped = numbers
        left_out = f", {skipped} skipped" if skipped else ""
        print(f"   {title}: {passed} passed, {failed} failed{left_out} ({time.monotonic() - started:.0f} s)")
        self.passed += passed
        self.skipped += skipped
        self.failed += failed
        if problem:
            self.problems.append(f"{self.name}: {title}: {problem} (log: {self.log_path})")
            self._show(output)

    def check(self, title, holds):
        """One test whose outcome is known."""
        print(f"   {title}: {'right' if holds else 'WRONG'}")
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            self.problems.append(f"{self.name}: {title}")

    def node_tests(self, title, files, env=None):
        if not files:
            return self.suite(title, "false")
        self.suite(title, "node", "--test", "--test-reporter=tap", "--test-concurrency=1", *files, env=env)

    def finish(self):
        print(f"\n== {time.monotonic() - self.started:.0f} s after set-up")
        if self.skipped:
            print(f"{self.skipped} tests were skipped")
        for problem in self.problems:
            print(f"FAILED {problem}")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0

    def _fail(self, problem):
        print(f"   {problem}")
        self.problems.append(problem)
        self.failed += 1

    def _text(self, command):
        return " ".join(str(part) for part in command)

    def _show(self, output):
        # Of node:test only what failed; it says much about what passed.
        blocks = re.findall(r"^ *not ok .*?^ *\.\.\.$", output, re.M | re.S)
        lines = "\n".join(blocks).splitlines()[:150] if blocks else output.splitlines()[-60:]
        print(f"   --- from {self.log_path}:")
        for line in lines:
            print("   | " + line[:300])

    def _run(self, command, env=None, cwd=None):
        """(0 or a text that says how it ended, its output). What is still running after three budgets is killed."""
        command = [str(part) for part in command]
        self.log.write(f"$ {self._text(command)}\n")
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True)
        except OSError as error:
            return str(error), str(error)
        limit = max(3 * self.budget, 300)
        late = threading.Event()

        def kill():
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit, kill)
        timer.start()
        pieces = []
        with process.stdout as output:
            for raw in output:
                pieces.append(re.sub(r"\x1b\[[0-9;]*m", "", raw.decode("utf-8", "replace")))  # without colours
                self.log.write(pieces[-1])
        code = process.wait()
        timer.cancel()
        if late.is_set():
            return f"killed after {limit} s", "".join(pieces)
        if code < 0:
            return f"killed by signal {signal.Signals(-code).name}", "".join(pieces)
        return (0 if code == 0 else f"exit status {code}"), "".join(pieces)
