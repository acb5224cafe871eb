#!/usr/bin/env python3
"""`outrigger load` against the real service, and what the service then shows of it: the series that dashboards, rules and objectives read."""
import json
import pathlib
import re
import subprocess
import sys
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "dev"), str(ROOT / "tools"), str(ROOT / "tests" / "e2e")]
import daemons  # noqa: E402
from check_monitoring import rules  # noqa: E402
from metrics_catalogue import names_in  # noqa: E402
from stack import StackTest, make_order  # noqa: E402

# Counted only when something goes wrong or is done on purpose: they have no series before.
ONLY_IN_TROUBLE = {
    "outrigger_http_limit_reached_total", "outrigger_journal_commit_failures_total", "outrigger_saga_step_retries_total",
    "outrigger_sidecar_fault_injected_total",
}


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def outrigger(*arguments):
    return subprocess.run([daemons.programs_folder() / "outrigger", *map(str, arguments)], capture_output=True, text=True, timeout=60)


class LoadTest(StackTest):
    def load(self, port, *arguments):
        order = self.folder / "order.json"
        order.write_text(json.dumps(make_order("{{run}}-{{sequence}}")))
        return outrigger("load", "--url", f"http://127.0.0.1:{port}/v1/orders", "--method", "POST", "--body-file", order, "--header", "Content-Type: application/json",
                         "--header", "Idempotency-Key: {{run}}-{{sequence}}", "--output", "json", *arguments)

    def test_every_request_of_a_load_is_an_order_of_its_own_and_is_counted(self):
        service = self.start_service()
        result = self.load(service.ports["http"], "--rate", "40/s", "--duration", "2s", "--timeout", "20s")
        report = json.loads(result.stdout)
        self.assertEqual(report["offered"], 80, result.stderr)
        self.assertEqual(report["requests"]["sent"] + report["requests"]["dropped"], 80)
        self.assertEqual(report["statuses"], {"202": report["requests"]["sent"]})
        started = re.search(r"^outrigger_sagas_started_total\{[^}]*\} (\S+)$", scrape(service.ports["operations"]), re.M)
        self.assertEqual(float(started[1]), report["requests"]["sent"])

    def test_a_poisson_staircase_reports_its_stages(self):
        service = self.start_service()
        result = self.load(service.ports["http"], "--staircase", "20/s@1s,60/s@1s", "--arrival", "poisson", "--seed", "5", "--timeout", "20s")
        report = json.loads(result.stdout)
        self.assertEqual((report["arrival"], report["seed"], len(report["stages"])), ("poisson", 5, 2), result.stderr)
        self.assertEqual(sum(stage["sent"] + stage["dropped"] for stage in report["stages"]), report["offered"])
        self.assertLess(report["stages"][0]["sent"], report["stages"][1]["sent"])
        self.assertEqual(outrigger("load", "--rate", "5", "--staircase", "20/s@1s").returncode, 2)

    def test_errors_are_counted_and_nobody_there_is_told(self):
        service = self.start_service()
        port = service.ports["http"]
        refused = json.loads(outrigger("load", "--url", f"http://127.0.0.1:{port}/nowhere", "--rate", "20", "--duration", "500ms", "--output", "json").stdout)
        self.assertEqual(refused["requests"]["http_errors"], refused["requests"]["sent"])
        self.assertEqual(set(refused["statuses"]), {"404"})
        service.kill()
        nobody = outrigger("load", "--url", f"http://127.0.0.1:{port}/", "--rate", "20", "--duration", "500ms")
        self.assertEqual(nobody.returncode, 69, nobody.stderr)

    def test_what_dashboards_and_rules_read_is_really_exposed(self):
        service = self.start_service()
        sidecar = self.start_sidecar(service, "--faults-enabled")
        self.load(sidecar.ports["http"], "--rate", "20/s", "--duration", "1s", "--timeout", "20s")
        text = scrape(service.ports["operations"]) + scrape(sidecar.ports["health"])
        exposed = set(re.findall(r"^([a-zA-Z_:][\w:]*)(?:\{| )", text, re.M))
        board = json.loads((ROOT / "dashboards/overview.json").read_text())
        expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])] + [rule["expr"] for _, rule in rules()]
        wanted = {name for expression in expressions for name in names_in(expression) if name.startswith("outrigger_")}
        self.assertGreater(len(wanted), 15)
        self.assertEqual(wanted - exposed - ONLY_IN_TROUBLE, set())

    def test_the_objectives_selectors_find_their_series(self):
        service = self.start_service()
        self.load(service.ports["http"], "--rate", "20/s", "--duration", "1s", "--timeout", "20s")
        text = scrape(service.ports["operations"])
        for series in (r'outrigger_http_requests_total\{[^}]*route="/v1/orders"[^}]*\}', r'outrigger_http_request_duration_seconds_bucket\{[^}]*route="/v1/orders"[^}]*le="0.12"\}',
                       r'outrigger_http_request_duration_seconds_count\{[^}]*route="/v1/orders"[^}]*\}', r'outrigger_sagas_stuck_total\{definition="order-fulfilment"\} 0',
                       r'outrigger_sagas_deadline_exceeded_total\{definition="order-fulfilment"\} 0'):
            self.assertRegex(text, series)


if __name__ == "__main__":
    unittest.main()
