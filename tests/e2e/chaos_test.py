#!/usr/bin/env python3
"""Chaos from end to end: service and sidecar as processes, the scenario that ships run by the `outrigger` command, and every way that a run ends.

Needs the built programs (OUTRIGGER_BIN, default build/dev/bin). Every port is free and every folder temporary."""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
import daemons  # noqa: E402

SCENARIO = ROOT / "chaos/scenarios/slow-orders.yaml"
DEADLINE_SECONDS = 60
# Short phases with as many samples as the assertions need; bounds wide enough for a busy machine.
QUICK = {"rate": "100/s", "baseline": "2s", "inject": "4s", "observe": "0s", "recover": "4s", "ttl": "20s", "min_hits": "100", "max_shift": "2s", "p99": "4s"}


def poll(what, condition):
    """Waits until condition() is true; asks often, gives up late."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {DEADLINE_SECONDS} s: {what}")


class ChaosTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="outrigger-chaos-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.admin = f"unix://{self.folder / 'admin.sock'}"
        self.journal = self.folder / "run.jsonl"

    def start(self, *sidecar_flags):
        self.service = daemons.start_service(self.folder, self.folder / "data", "--drain-delay", "0")
        self.addCleanup(self.service.kill)
        self.start_sidecar(*sidecar_flags)

    def start_sidecar(self, *sidecar_flags):
        self.sidecar = daemons.Daemon("outrigger-sidecar", ["--http-port", 0, "--health-port", 0, "--upstream", f"127.0.0.1:{self.service.ports['http']}",
                                                            "--admin-socket", self.folder / "admin.sock", *sidecar_flags], self.folder)
        self.addCleanup(self.sidecar.kill)
        self.url = f"http://127.0.0.1:{self.sidecar.ports['http']}"

    @staticmethod
    def outrigger(*arguments):
        return subprocess.run([daemons.programs_folder() / "outrigger", *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE_SECONDS)

    def arguments(self, scenario=SCENARIO, **changed):
        parameters = {**QUICK, "url": self.url, "admin": self.admin, **changed}
        return [scenario, *(f"--set={name}={value}" for name, value in parameters.items())]

    def execute(self, scenario=SCENARIO, code=0, **changed):
        """Runs the scenario; its report."""
        done = self.outrigger("chaos", "run", *self.arguments(scenario, **changed), "--execute", "--journal", self.journal, "--output", "json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def start_run(self, **changed):
        """Starts a long run and returns it once its fault has hit something."""
        run = subprocess.Popen([daemons.programs_folder() / "outrigger", "chaos", "run", *map(str, self.arguments(**changed)), "--execute", "--journal", self.journal,
                                "--output", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def end():
            if run.poll() is None:
                run.kill()
            run.communicate()

        self.addCleanup(end)
        poll("the fault hits", lambda: any(fault["hits"] > 0 for fault in self.faults()))
        return run

    def faults(self):
        done = self.outrigger("fault", "list", "--admin", self.admin, "--output", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["faults"]

    def events(self):
        return [json.loads(line)["event"] for line in self.journal.read_text().splitlines()]

    def recover(self, code=0):
        done = self.outrigger("chaos", "recover", self.journal, "--output", "json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_a_delay_is_proven_and_orders_still_succeed(self):
        self.start("--faults-enabled")
        report = self.execute()
        self.assertEqual(report["verdict"], "pass")
        dose = report["doses"][0]
        self.assertGreaterEqual(dose["hits"], 100)
        self.assertGreaterEqual(dose["p50_shift_seconds"], 0.08)
        self.assertEqual({assertion["id"]: assertion["finding"] for assertion in report["assertions"]},
                         {"orders-succeed": "pass", "orders-in-time": "pass", "recovered": "pass"})
        self.assertEqual(self.faults(), [])
        life = [event for event in self.events() if event not in ("phase", "start", "end")]
        self.assertEqual(life, ["intent", "applied", "proven", "reverting", "reverted", "verified"])
        self.assertEqual(self.recover()["ended"], [])

    def test_without_execute_nothing_is_injected_and_no_journal_is_made(self):
        self.start("--faults-enabled")
        done = self.outrigger("chaos", "run", *self.arguments(), "--journal", self.journal)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("nothing was injected", done.stdout)
        self.assertFalse(self.journal.exists())
        self.assertEqual(self.faults(), [])

    def test_faults_that_are_not_enabled_are_refused_before_any_load(self):
        self.start()
        report = self.execute(code=4)
        self.assertIsNone(report["load"])
        self.assertIn("--faults-enabled", " ".join(report["reasons"]))
        self.assertNotIn("intent", self.events())

    def test_a_match_that_never_hits_is_inconclusive(self):
        self.start("--faults-enabled")
        elsewhere = self.folder / "elsewhere.yaml"
        text = SCENARIO.read_text()
        self.assertEqual(text.count("path_prefix: /v1/orders"), 1)
        elsewhere.write_text(text.replace("path_prefix: /v1/orders", "path_prefix: /v1/nowhere"))
        report = self.execute(elsewhere, code=3)
        self.assertEqual(report["doses"][0]["hits"], 0)
        self.assertIn("0 hits", " ".join(report["reasons"]))
        self.assertEqual(self.faults(), [])

    def test_sigint_in_inject_aborts_and_the_fault_is_gone(self):
        self.start("--faults-enabled")
        run = self.start_run(inject="60s", ttl="5m")
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGTERM)  # a second signal cuts nothing short
        output, errors = run.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(run.returncode, 5, output + errors)
        self.assertEqual(json.loads(output)["verdict"], "aborted")
        self.assertEqual(self.faults(), [])
        self.assertEqual(self.events()[-1], "end")

    def test_after_sigkill_the_fault_ends_with_its_ttl(self):
        self.start("--faults-enabled")
        run = self.start_run(inject="4s", ttl="6s")
        run.kill()
        run.wait()
        self.assertEqual(len(self.faults()), 1)
        poll("the fault is gone, though nobody ended it", lambda: self.faults() == [])
        recovery = self.recover()
        self.assertTrue(recovery["interrupted"])
        self.assertEqual((len(recovery["ended"]), len(recovery["absent"])), (0, 1))

    def test_after_sigkill_recover_ends_the_fault_at_once_and_only_that(self):
        self.start("--faults-enabled")
        run = self.start_run(inject="60s", ttl="10m")
        run.kill()
        run.wait()
        done = self.outrigger("fault", "apply", "--admin", self.admin, "--id", "foreign", "--ttl", "5m", "--abort", "503", "--path-prefix", "/elsewhere")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.recover()["ended"]), 1)
        self.assertEqual([fault["id"] for fault in self.faults()], ["foreign"])
        again = self.recover()
        self.assertEqual((again["ended"], again["absent"]), ([], []))

    def test_a_run_that_goes_on_cannot_be_recovered_beside_it(self):
        self.start("--faults-enabled")
        self.start_run(inject="60s", ttl="5m")
        done = self.outrigger("chaos", "recover", self.journal)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertEqual(len(self.faults()), 1)

    def test_a_sidecar_that_dies_in_inject_leaves_the_clean_up_incomplete_and_a_restart_heals(self):
        self.start("--faults-enabled")
        run = self.start_run(inject="60s", ttl="5m")
        self.sidecar.kill()
        output, errors = run.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(run.returncode, 6, output + errors)
        self.assertIn("outrigger chaos recover", output)
        self.start_sidecar("--faults-enabled")
        self.assertEqual(len(self.recover()["absent"]), 1)

    def test_a_bad_scenario_is_told_with_its_place_and_the_right_word(self):
        bad = self.folder / "bad.yaml"
        bad.write_text(SCENARIO.read_text().replace("  guardrails:", "  guardrail:"))
        for command in ("validate", "plan", "run"):
            done = self.outrigger("chaos", command, bad)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertRegex(done.stderr, r"bad\.yaml:\d+:3: unknown key 'guardrail' in spec; did you mean 'guardrails'\?")


if __name__ == "__main__":
    unittest.main()
