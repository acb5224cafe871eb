#!/usr/bin/env python3
"""Tests of ./dev itself, run on the host: what it prints, how it refuses, and that nothing outlives it."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEV = str(ROOT / "dev")


def dev(*arguments, **options):
    return subprocess.run([DEV, *arguments], capture_output=True, text=True, timeout=600, **options)


def processes_with(mark, own_name=False):
    """Pids whose command line has the mark (or begins with it); the mark is unique to one test."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                if command.startswith(mark.encode()) if own_name else mark.encode() in command:
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Help(unittest.TestCase):
    def test_lists_every_command_with_a_summary_and_each_explains_itself(self):
        overview = dev("--help")
        self.assertEqual(overview.returncode, 0)
        for file in (ROOT / "tools/dev/commands").glob("*.sh"):
            self.assertRegex(overview.stdout, rf"(?m)^  {file.stem} +\S")
            detail = dev(file.stem, "--help")
            self.assertEqual(detail.returncode, 0, file)
            self.assertIn(f"usage: ./dev {file.stem}", detail.stdout)

    def test_unknown_commands_suites_and_presets_are_usage_errors(self):
        for arguments in (["fly"], ["../build"], ["test", "no-such-suite"], ["build", "no-such-preset"], ["clean", "--everything"], []):
            self.assertEqual(dev(*arguments).returncode, 2, arguments)


class Root(unittest.TestCase):
    def test_passes_the_exit_status_on(self):
        self.assertEqual(dev("shell", "--", "bash", "-c", "exit 7").returncode, 7)

    def test_leaves_no_mount_on_the_host(self):
        before = pathlib.Path("/proc/mounts").read_text()
        dev("shell", "--", "true")
        self.assertEqual(before, pathlib.Path("/proc/mounts").read_text())

    def interrupted(self, interrupt):
        mark = f"mark-{uuid.uuid4()}"
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(DEV, [DEV, "shell", "--", "bash", "-c", f"setsid sleep 600 {mark} 2>/dev/null & (exec -a {mark} sleep 600) & exec -a {mark} sleep 601"])
        try:
            # The processes that took the mark as their own name are the command's; the others are ./dev on its way to it.
            self.assertTrue(wait_until(lambda: len(processes_with(mark, own_name=True)) >= 2), "the command did not start")
            interrupt(pid, terminal)
            self.assertTrue(wait_until(lambda: not processes_with(mark)), f"left running: {processes_with(mark)}")
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)

    def test_ctrl_c_leaves_no_process(self):
        self.interrupted(lambda pid, terminal: os.write(terminal, b"\x03"))

    def test_sigterm_leaves_no_process(self):
        self.interrupted(lambda pid, terminal: os.kill(pid, signal.SIGTERM))

    def test_sigkill_leaves_no_process(self):
        self.interrupted(lambda pid, terminal: os.kill(pid, signal.SIGKILL))

    @unittest.skipUnless(os.geteuid() == 0 and pathlib.Path("/usr/bin/setpriv").exists(), "needs root to become somebody else")
    def test_without_root_rights_and_user_namespaces_says_what_to_do(self):
        with tempfile.TemporaryDirectory() as home:
            os.chown(home, 54321, 54321)
            environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "OUTRIGGER_ROOT": "private"}
            result = subprocess.run(["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", DEV, "shell", "--", "true"], env=environment,
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, re.compile("user namespaces.*--target dev", re.S))


if __name__ == "__main__":
    outcome = unittest.main(exit=False, verbosity=2).result
    failed = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - failed - len(outcome.skipped)} passed, {failed} failed, {len(outcome.skipped)} skipped")
    raise SystemExit(bool(failed))
