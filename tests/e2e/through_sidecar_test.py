"""The same orders through the sidecar, with the service crashing and answers failing behind it, and the command line beside it."""
import json
import subprocess

import daemons
import order_client
from stack import StackTest, make_order


class ThroughTheSidecar(StackTest):
    def outrigger(self, *arguments, stdin=None, expect=0):
        done = subprocess.run([daemons.programs_folder() / "outrigger", *map(str, arguments)], capture_output=True, text=True, timeout=60, input=stdin)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout

    def fault(self, *arguments):
        return self.outrigger("fault", *arguments, "--admin", self.folder / "admin.sock")

    def test_the_two_hundred_orders_end_as_their_lines_say(self):
        sidecar = self.start_sidecar(self.start_service())
        self.assert_as_expected(order_client.place_all(self.client(sidecar), order_client.load_orders(daemons.ORDERS)))

    def test_a_crash_of_the_service_is_bridged_by_repeating(self):
        service = self.start_service("--participant-latency", "10ms")
        sidecar = self.start_sidecar(service)
        client = self.client(sidecar)
        lines = [line for line in order_client.load_orders(daemons.ORDERS) if line["because"] != "repeated key"][:30]
        acknowledged = [client.place(line, wait="0") for line in lines]
        port = service.ports["http"]
        service.kill()
        self.assertIn(client.request("GET", f"/v1/sagas/{acknowledged[0].saga['id']}")[0], (502, 503, 504))
        self.start_service(http_port=port)
        self.assert_as_expected([client.finish(outcome) for outcome in acknowledged])

    def test_injected_failures_and_delays_double_nothing(self):
        client = self.client(self.start_sidecar(self.start_service(), "--faults-enabled"))
        self.fault("apply", "--id", "refuse", "--ttl", "1m", "--abort", 503, "--percent", 30, "--method", "POST", "--path-prefix", "/v1/orders")
        outcomes = order_client.place_all(client, order_client.load_orders(daemons.ORDERS))
        self.assert_as_expected(outcomes)
        self.assertGreater(max(outcome.attempts for outcome in outcomes), 1, "no order met the fault")

    def test_the_command_line_starts_shows_and_lists_sagas(self):
        url = f"http://127.0.0.1:{self.start_sidecar(self.start_service()).ports['http']}"
        self.outrigger("saga", "start", "--url", url, "--idempotency-key", "cli-1", "--wait", "10s", "--expect", "COMPLETED", stdin=json.dumps(make_order("O-CLI")))
        listed = json.loads(self.outrigger("--output", "json", "saga", "list", "--url", url))
        saga = next(saga for saga in (listed["sagas"] if isinstance(listed, dict) else listed) if saga["business_key"] == "O-CLI")
        self.assertIn("COMPLETED", self.outrigger("saga", "get", saga["id"], "--url", url))
