#!/usr/bin/env python3
"""check_monitoring.py: rules, runbooks and dashboards agree with each other and with the metrics that the programs have.

Checks that every metric in helm/outrigger/rules/*.yaml and dashboards/*.json is in the catalogue of the source, is recorded by a rule
or stands in tools/external_metrics.txt; that every alert has its labels, annotations, runbook and a test; that the chart's copy of a
dashboard is current; that the objectives fit their JSON Schema; and the rules of check_dashboards.py. Exits 1 and names each problem."""
import json
import pathlib
import re
import sys

import jsonschema
import yaml

import check_dashboards
from metrics_catalogue import ROOT, catalogue, known_by, names_in

RULES = ROOT / "helm/outrigger/rules"
TESTS = ROOT / "tests/rules"
LABELS = ("severity", "service", "component")
ANNOTATIONS = ("summary", "description", "runbook_url")
SEVERITIES = {"critical", "warning", "info"}


def external_metrics():
    lines = (ROOT / "tools/external_metrics.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def rules():
    for path in sorted(RULES.glob("*.yaml")):
        for group in yaml.safe_load(path.read_text())["groups"]:
            for rule in group["rules"]:
                yield path.relative_to(ROOT), rule


def check_objectives():
    schema = json.loads((ROOT / "api/schemas/slo.schema.json").read_text())
    for path in sorted((ROOT / "slo/objectives").glob("*.yaml")):
        for error in jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(path.read_text())):
            yield f"{path.relative_to(ROOT)}: {error.json_path}: {error.message}"


def check_alert(where, rule, tested):
    name = rule["alert"]
    for key, wanted in (("labels", LABELS), ("annotations", ANNOTATIONS)):
        for item in wanted:
            if not rule.get(key, {}).get(item):
                yield f"{where}: {name} has no {key[:-1]} {item}"
    if rule.get("labels", {}).get("severity") not in SEVERITIES:
        yield f"{where}: {name}: severity must be one of {', '.join(sorted(SEVERITIES))}"
    runbook = rule.get("annotations", {}).get("runbook_url", "")
    if runbook != f"docs/runbooks/{name}.md" or not (ROOT / runbook).is_file():
        yield f"{where}: {name}: its runbook must be docs/runbooks/{name}.md, and that file must exist (found {runbook!r})"
    if name not in tested:
        yield f"{where}: {name} is in no test of tests/rules/"


def main():
    metrics, external, problems = catalogue(), external_metrics(), []
    everything = list(rules())
    recorded = {rule["record"] for _, rule in everything if "record" in rule}
    alerts = {rule["alert"] for _, rule in everything if "alert" in rule}
    tests = "\n".join(path.read_text() for path in TESTS.glob("*.yaml"))
    tested = {name for name in alerts if re.search(rf"\b{name}\b", tests)}

    def unknown(expression):
        return sorted(n for n in names_in(expression) if n not in recorded and n not in external and n != "ALERTS" and not known_by(n, metrics))

    for where, rule in everything:
        for name in unknown(rule["expr"]):
            problems.append(f"{where}: {rule.get('alert') or rule['record']}: no program has the metric {name}")
        if "alert" in rule:
            problems += check_alert(where, rule, tested)
    problems += check_objectives()
    for path in (ROOT / "docs/runbooks").glob("*.md"):
        if path.stem not in alerts | {"README"}:
            problems.append(f"docs/runbooks/{path.name}: no alert has this name")
    boards = sorted((ROOT / "dashboards").glob("*.json"))
    for path in boards:
        problems += check_dashboards.check(path, unknown)
        copy = ROOT / "helm/outrigger/dashboards" / path.name
        if not copy.is_file() or copy.read_bytes() != path.read_bytes():
            problems.append(f"{copy.relative_to(ROOT)} is not the same as dashboards/{path.name}: copy it")
    if not everything or not boards or not metrics:
        problems.append("found no rules, dashboards or metrics: is this the project's root?")
    print("\n".join(problems) if problems else f"{len(everything)} rules, {len(alerts)} alerts, {len(boards)} dashboards, {len(metrics)} metrics: all agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
