"""Faults from end to end: the service and its sidecar as processes, faults by the `outrigger` command and by grpcurl.

Every port is free and every folder temporary."""
import http.client
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
sys.path.insert(0, str(ROOT / "tools/dev"))
import daemons  # noqa: E402

GRPCURL = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"
DEADLINE_SECONDS = 60


def poll(what, condition):
    """Waits until condition() is true; asks often, gives up late."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {DEADLINE_SECONDS} s: {what}")


class FaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="faults-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.service = daemons.start_service(cls.folder, cls.folder / "data", "--drain-delay", "0")
        cls.addClassCleanup(cls.service.stop)

    def setUp(self):
        self.sidecar = self.start_sidecar("--faults-enabled")

    def start_sidecar(self, *flags, upstream=None):
        """On the one admin socket of these tests, so one after the other."""
        sidecar = daemons.Daemon("outrigger-sidecar", ["--http-port", 0, "--health-port", 0, "--drain-delay", "0", "--admin-socket", self.folder / "admin.sock",
                                                       "--upstream", f"127.0.0.1:{upstream or self.service.ports['http']}", *flags], self.folder)
        self.addCleanup(lambda: sidecar.is_running() and sidecar.kill())
        return sidecar

    def outrigger(self, *arguments, code=0, stdin=None):
        """Runs the command; returns what it printed: its JSON, or its errors when it fails as expected."""
        done = subprocess.run([daemons.programs_folder() / "outrigger", *arguments, "--admin", f"unix://{self.folder / 'admin.sock'}", "--output", "json"],
                              input=stdin, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def faults(self):
        return self.outrigger("fault", "list")["faults"]

    def ask(self, path, port=None, headers=None):
        """One GET through the sidecar: status, headers, body, and the seconds it took."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.sidecar.ports["http"], timeout=DEADLINE_SECONDS)
        started = time.monotonic()
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        took = time.monotonic() - started
        connection.close()
        return answer.status, answer.headers, body, took

    def metrics(self):
        return self.ask("/metrics", self.sidecar.ports["health"])[2].decode()

    def test_a_delay_delays_by_what_it_says_and_ends_by_itself(self):
        self.assertEqual(self.ask("/v1/sagas")[0], 200)
        self.outrigger("fault", "apply", "-", stdin="id: slow\nttl: 3s\nmatch: {http: {method: GET, pathPrefix: /v1}}\n"
                                                    "action: {delay: {fixed: 300ms, jitter: 50ms}}\n")
        status, _, _, took = self.ask("/v1/sagas")
        self.assertEqual(status, 200)
        self.assertGreaterEqual(took, 0.3)
        self.assertEqual([(fault["id"], fault["hits"]) for fault in self.faults()], [("slow", 1)])
        # Nobody ends it: after its TTL the list is empty and an answer comes in less than the delay.
        poll("the list is empty", lambda: self.faults() == [])
        poll("an answer without delay", lambda: self.ask("/v1/sagas")[3] < 0.3)
        poll("the metric says why it ended", lambda: 'outrigger_sidecar_fault_disarmed_total{reason="ttl"} 1\n' in self.metrics())

    def test_an_abort_answers_with_its_status_until_it_is_deleted(self):
        self.outrigger("fault", "apply", "--id", "broken", "--ttl", "5m", "--abort", "503", "--path-prefix", "/v1")
        status, headers, body, _ = self.ask("/v1/sagas")
        self.assertEqual(status, 503)
        self.assertEqual(headers["outrigger-fault"], "broken")
        self.assertIn("injected by the fault broken", json.loads(body)["detail"])
        self.assertIn('outrigger_sidecar_fault_injected_total{fault="broken",action="abort"} 1\n', self.metrics())
        self.assertEqual(self.outrigger("fault", "delete", "broken")["faults"][0]["hits"], 1)
        self.assertEqual(self.ask("/v1/sagas")[0], 200)

    def test_health_is_never_faulted(self):
        self.outrigger("fault", "apply", "--id", "broken", "--ttl", "5m", "--abort", "503")
        self.assertEqual(self.ask("/v1/sagas")[0], 503)
        self.assertEqual(self.ask("/api/health")[0], 200)
        for path in ("/livez", "/readyz"):
            self.assertEqual(self.ask(path, self.sidecar.ports["health"])[0], 200, path)

    def verdicts(self, traced):
        """Which of 24 requests a half-on abort hits, in a sidecar that has seen none before."""
        self.outrigger("fault", "apply", "--id", "half", "--ttl", "5m", "--abort", "500", "--percent", "50", "--seed", "42")
        headers = [{"traceparent": f"00-{n + 1:032x}-00000000000000aa-01"} if traced else {} for n in range(24)]
        statuses = [self.ask("/v1/sagas", headers=header)[0] for header in headers]
        self.assertEqual(self.sidecar.stop(), 0)
        self.sidecar = self.start_sidecar("--faults-enabled")
        return statuses

    def test_the_same_seed_hits_the_same_requests_after_a_restart(self):
        for traced in (False, True):
            first, second = self.verdicts(traced), self.verdicts(traced)
            self.assertEqual(first, second)
            self.assertEqual(set(first), {200, 500})

    def test_faults_are_refused_unless_they_are_enabled(self):
        self.assertEqual(self.sidecar.stop(), 0)
        self.sidecar = self.start_sidecar()
        self.assertIn("--faults-enabled", self.outrigger("fault", "apply", "--id", "broken", "--ttl", "1m", "--abort", "503", code=1))
        self.assertEqual(self.ask("/v1/sagas")[0], 200)

    def test_a_restart_heals(self):
        self.outrigger("fault", "apply", "--id", "broken", "--ttl", "5m", "--abort", "503")
        self.sidecar.kill()
        self.sidecar = self.start_sidecar("--faults-enabled")  # over the socket that the killed one left
        self.assertEqual(self.faults(), [])
        self.assertEqual(self.ask("/v1/sagas")[0], 200)

    def test_the_kill_switch_disarms_everything(self):
        self.outrigger("fault", "apply", "--id", "broken", "--ttl", "5m", "--abort", "503")
        self.sidecar.process.send_signal(signal.SIGUSR2)
        poll("no fault is armed", lambda: self.faults() == [])
        self.assertEqual(self.ask("/v1/sagas")[0], 200)
        self.assertIsNone(self.sidecar.process.poll())

    def test_a_drain_lets_delayed_requests_end(self):
        self.outrigger("fault", "apply", "--id", "slow", "--ttl", "5m", "--delay", "1s")
        connection = http.client.HTTPConnection("127.0.0.1", self.sidecar.ports["http"], timeout=DEADLINE_SECONDS)
        connection.request("GET", "/v1/sagas")
        poll("the request is held", lambda: self.faults()[0]["hits"] == 1)
        self.sidecar.process.send_signal(signal.SIGTERM)
        answer = connection.getresponse()
        answer.read()
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Connection"], "close")
        self.assertEqual(self.sidecar.stop(), 0)
        self.assertFalse((self.folder / "admin.sock").exists())

    def test_a_second_sidecar_does_not_take_the_admin_socket(self):
        second = subprocess.run([daemons.programs_folder() / "outrigger-sidecar", "--http-port", "0", "--health-port", "0", "--admin-socket", self.folder / "admin.sock"],
                                capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        self.assertEqual(second.returncode, 69, second.stderr)
        self.assertEqual(self.faults(), [])

    def test_an_application_that_is_not_there_does_not_fail_the_sidecars_health(self):
        self.assertEqual(self.sidecar.stop(), 0)
        self.sidecar = self.start_sidecar(upstream=1)  # nothing listens there
        status, headers, _, _ = self.ask("/v1/sagas")
        self.assertEqual((status, headers["Retry-After"]), (503, "1"))
        for path in ("/livez", "/readyz"):
            self.assertEqual(self.ask(path, self.sidecar.ports["health"])[0], 200, path)

    @unittest.skipUnless(shutil.which("go"), "needs Go to build grpcurl: ./dev test e2e brings it")
    def test_grpcurl_sees_and_calls_the_same_api(self):
        program = subprocess.run(["bash", ROOT / "tools/dev/go_tool.sh", "grpcurl", GRPCURL], capture_output=True, text=True, check=True).stdout.strip()

        def grpcurl(*arguments, data=None):
            request = ["-d", json.dumps(data)] if data is not None else []
            done = subprocess.run([program, "-plaintext", "-max-time", "20", *request, f"unix://{self.folder / 'admin.sock'}", *arguments],
                                  capture_output=True, text=True, timeout=DEADLINE_SECONDS)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        service = "outrigger.sidecar.admin.v1.FaultService"
        self.assertIn(service, grpcurl("list").split())
        self.assertIn("grpc.health.v1.Health", grpcurl("list").split())
        self.assertIn(f"{service}.CreateFault", grpcurl("list", service).split())
        self.assertEqual(json.loads(grpcurl("grpc.health.v1.Health/Check", data={"service": service}))["status"], "SERVING")
        grpcurl(f"{service}/CreateFault", data={"fault": {"id": "broken", "ttl": "60s", "match": {"http": {"path_prefix": "/v1"}}, "abort": {"status": 503}}})
        self.assertEqual(self.ask("/v1/sagas")[0], 503)
        self.assertEqual([fault["hits"] for fault in json.loads(grpcurl(f"{service}/ListFaults"))["faults"]], ["1"])
        self.assertEqual([fault["id"] for fault in self.faults()], ["broken"])
        grpcurl(f"{service}/DeleteFault", data={"id": "broken"})
        self.assertEqual(self.faults(), [])


if __name__ == "__main__":
    unittest.main()
