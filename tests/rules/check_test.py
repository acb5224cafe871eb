#!/usr/bin/env python3
"""Tests of tools/check_monitoring.py and its parts: what they must find."""
import copy
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import check_dashboards  # noqa: E402
from metrics_catalogue import catalogue, known_by, names_in  # noqa: E402

BOARD = json.loads((ROOT / "dashboards/overview.json").read_text())


class Names(unittest.TestCase):
    def test_finds_metrics_and_nothing_else(self):
        for expression, names in {
            'sum by (code) (rate(a_total{x="b_total"}[5m]))': {"a_total"},
            "a:b:c / on (slo) group_left (x) d > 0": {"a:b:c", "d"},
            "histogram_quantile(0.99, sum by (le) (rate(h_bucket[$__rate_interval])))": {"h_bucket"},
            "a and b or c unless d offset 5m": {"a", "b", "c", "d"},
            "clamp_min(x, 0) > bool 1e3": {"x"},
            "sum_over_time(a:b{slo='x'}[30d:5m])": {"a:b"},
        }.items():
            self.assertEqual(names_in(expression), names, expression)


class Catalogue(unittest.TestCase):
    def test_knows_kinds_and_histogram_series(self):
        metrics = {"h_seconds": {"kind": "histogram"}, "c_total": {"kind": "counter"}, "unused_total": {"kind": "unknown"}}
        self.assertTrue(known_by("h_seconds_bucket", metrics))
        self.assertFalse(known_by("h_seconds", metrics))
        self.assertTrue(known_by("c_total", metrics))
        self.assertFalse(known_by("c_total_count", metrics))
        self.assertFalse(known_by("absent_total", metrics))
        self.assertFalse(known_by("unused_total", metrics))

    def test_reads_the_source(self):
        metrics = catalogue()
        self.assertEqual(metrics["outrigger_http_requests_total"]["kind"], "counter")
        self.assertEqual(metrics["outrigger_http_request_duration_seconds"]["kind"], "histogram")


class Dashboards(unittest.TestCase):
    def problems(self, change):
        board = copy.deepcopy(BOARD)
        change(board, next(p for p in board["panels"] if p["title"] == "Requests by status"))
        with tempfile.TemporaryDirectory(dir=ROOT / "tests") as folder:
            path = pathlib.Path(folder) / "board.json"
            path.write_text(json.dumps(board))
            return "\n".join(check_dashboards.check(path, lambda e: sorted(n for n in names_in(e) if n.startswith("bogus"))))

    def test_accepts_ours(self):
        self.assertEqual(self.problems(lambda board, panel: None), "")

    def test_finds_each_fault(self):
        def expression(text):
            return lambda board, panel: panel["targets"][0].update(expr=text)

        matchers = '{job=~"$job",instance=~"$instance"}'
        for change, wanted in (
            (expression("bogus_metric"), "has the metric bogus_metric"),
            (expression(f"rate(outrigger_x_total{matchers}[5m])"), "use [$__rate_interval]"),
            (expression("rate(outrigger_x_total[$__rate_interval])"), "no matchers"),
            (expression('rate(outrigger_x_total{job="a"}[$__rate_interval])'), "needs the matchers"),
            (expression(f"outrigger_x_total{matchers}"), "only useful as a rate"),
            (lambda board, panel: panel.update(description=""), "description"),
            (lambda board, panel: panel["datasource"].update(uid="prom"), "data source"),
            (lambda board, panel: panel["fieldConfig"]["defaults"].update(unit="furlongs"), "unit"),
            (lambda board, panel: panel.update(targets=[]), "shows nothing"),
            (lambda board, panel: panel["gridPos"].update(x=panel["gridPos"]["x"] + 1), "overlap"),
            (lambda board, panel: panel.update(id=1), "unique"),
            (lambda board, panel: board.update(id=7), "id belongs"),
            (lambda board, panel: board.update(uid="Upper Case"), "uid"),
            (lambda board, panel: board.update(editable=True), "editable"),
            (lambda board, panel: board["templating"]["list"].pop(), "variable instance"),
        ):
            with self.subTest(wanted):
                self.assertIn(wanted, self.problems(change))


if __name__ == "__main__":
    unittest.main()
