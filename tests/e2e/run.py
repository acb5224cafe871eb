#!/usr/bin/env python3
"""run.py [REGEX]: runs the end-to-end tests, the programs as processes. The last line is "N passed, N failed".

OUTRIGGER_BIN names the folder of the programs (default: build/dev/bin). Ends only processes that it started."""
import pathlib
import re
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tools" / "dev"), str(ROOT / "tools")]


class Result(unittest.TextTestResult):
    """A line a test, with its seconds."""

    passed = 0

    def startTest(self, test):
        unittest.TestResult.startTest(self, test)
        self.started = time.monotonic()

    def _line(self, word, test):
        self.stream.writeln(f"{word:<7} {test.id()} ({time.monotonic() - self.started:.1f} s)")
        self.stream.flush()

    def addSuccess(self, test):
        self.passed += 1
        self._line("passed", test)

    def addFailure(self, test, err):
        unittest.TestResult.addFailure(self, test, err)
        self._line("FAILED", test)

    def addError(self, test, err):
        unittest.TestResult.addError(self, test, err)
        self._line("FAILED", test)

    def addSkip(self, test, reason):
        unittest.TestResult.addSkip(self, test, reason)
        self._line("skipped", test)


def tests_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_of(one)
        else:
            yield one


def main():
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    if strays := sorted(HERE.glob("test_*.py")):
        sys.exit(f"{strays[0].name}: name it NAME_test.py, or it is never run")
    loader = unittest.TestLoader()
    found = list(tests_of(loader.discover(str(HERE), pattern="*_test.py")))
    chosen = [test for test in found if wanted.search(test.id())]
    if not chosen:
        sys.exit(f"no end-to-end test matches {sys.argv[1]!r}")
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=0).run(unittest.TestSuite(chosen))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
