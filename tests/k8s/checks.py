"""Counts what a suite checks, and prints one line for each: the last line is `N passed, N failed`."""

import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from typing import IO


class Failed(AssertionError):
    pass


def expect(holds: bool, message: str) -> None:
    if not holds:
        raise Failed(message)


def run(*command: str, stdin: str | None = None, stdin_file: IO | None = None, seconds: float = 120, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a command for at most `seconds`; with check, a failure of it is one of the test and shows what it wrote."""
    try:
        given = {"input": stdin} if stdin is not None else {"stdin": stdin_file or subprocess.DEVNULL}
        done = subprocess.run(command, **given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"`{' '.join(command)}` took longer than {seconds:.0f} s") from error
    if check and done.returncode != 0:
        raise Failed(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def wait_for(what: str, seconds: float, condition: Callable[[], object]) -> object:
    """Polls until the condition holds; returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.2)


class Checks:
    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def check(self, name: str, body: Callable[[], object], on_failure: Callable[[], object] | None = None) -> bool:
        begin = time.monotonic()
        try:
            body()
        except Exception as error:  # noqa: BLE001 a test that breaks is a failed test
            self.failed += 1
            print(f"FAILED  {name} ({time.monotonic() - begin:.1f} s)", flush=True)
            text = str(error) if isinstance(error, Failed) else traceback.format_exc()
            print("        " + text.strip().replace("\n", "\n        "), flush=True)
            if on_failure:
                on_failure()
            return False
        self.passed += 1
        print(f"ok      {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        return True

    def finish(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed")
        sys.stdout.flush()
        return 1 if self.failed or not self.passed else 0
