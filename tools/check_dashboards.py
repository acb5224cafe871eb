#!/usr/bin/env python3
"""check_dashboards.py: the rules for Grafana dashboards; check_monitoring.py runs it.

They follow Grafana's dashboard-linter: a templated data source, job and instance variables and matchers, $__rate_interval, titles, units
and descriptions; and add a stable uid, unique panel ids and a grid without overlap."""
import json
import re

from metrics_catalogue import ROOT

UNITS = {"short", "none", "percentunit", "s", "ms", "reqps", "ops", "bytes", "decbytes", "cps"}
RATES = re.compile(r"\b(rate|irate|increase)\s*\([^\[]*\[([^\]]+)\]")
COUNTER = re.compile(r"\b[a-z_]+_total\b")
SELECTOR = re.compile(r"([A-Za-z_][\w]*)\{([^{}]*)\}")


def walk(panels):
    for panel in panels:
        yield panel
        yield from walk(panel.get("panels", []))


def check_frame(board):
    """What the dashboard itself must have."""
    if not re.fullmatch(r"[a-z0-9-]{1,40}", board.get("uid", "")):
        yield "uid must be 1 to 40 of a-z, 0-9 and '-': links to the dashboard depend on it"
    if not 39 <= board.get("schemaVersion", 0) <= 41:
        yield "schemaVersion must be 39 to 41"
    for key in ("id", "__inputs", "__requires"):
        if board.get(key) is not None:
            yield f"{key} belongs to one Grafana: remove it"
    if board.get("editable") is not False:
        yield "editable must be false: changes are made here"
    if not board.get("title") or not board.get("description"):
        yield "title and description are needed"
    variables = {v["name"]: v for v in board.get("templating", {}).get("list", [])}
    source = variables.get("datasource", {})
    if source.get("type") != "datasource" or source.get("query") != "prometheus" or source.get("label") != "Data Source":
        yield "the variable datasource must choose a prometheus data source and be labelled 'Data Source'"
    for name in ("job", "instance"):
        variable = variables.get(name, {})
        if not (variable.get("multi") and variable.get("includeAll") and variable.get("allValue") == ".+" and variable.get("refresh") == 2):
            yield f"the variable {name} must be multi, include all as .+ and reload when the time range changes"


def check_target(panel, target, unknown):
    where = f"panel {panel.get('title')!r}"
    expression = target.get("expr", "")
    if not expression:
        yield f"{where}: a target has no expression"
    for name in unknown(expression.replace("$__rate_interval", "5m")):
        yield f"{where}: no program and no rule has the metric {name}"
    for function, window in RATES.findall(expression):
        if window != "$__rate_interval":
            yield f"{where}: {function} over [{window}]: use [$__rate_interval], which fits the zoom and the scrape interval"
    for name, matchers in SELECTOR.findall(expression):
        if name.startswith("outrigger_") and not ('job=~"$job"' in matchers and 'instance=~"$instance"' in matchers):
            yield f'{where}: {name} needs the matchers job=~"$job" and instance=~"$instance"'
    without_matchers = re.sub(r"\{[^{}]*\}", "{}", expression)
    for name in re.findall(r"\boutrigger_\w+\b(?!\s*\{)", without_matchers):
        yield f"{where}: {name} has no matchers"
    if COUNTER.search(expression) and not re.search(r"\b(rate|irate|increase)\s*\(", expression):
        yield f"{where}: a counter is only useful as a rate or an increase"


def check_panel(panel, unknown):
    where = f"panel {panel.get('title')!r}"
    if not panel.get("title") or not panel.get("description"):
        yield f"{where}: title and description are needed"
    if panel.get("datasource", {}).get("uid") != "${datasource}":
        yield f"{where}: its data source must be ${{datasource}}"
    if panel.get("fieldConfig", {}).get("defaults", {}).get("unit") not in UNITS:
        yield f"{where}: its unit must be one of {', '.join(sorted(UNITS))}"
    if not panel.get("targets"):
        yield f"{where}: it shows nothing"
    for target in panel.get("targets", []):
        yield from check_target(panel, target, unknown)


def overlaps(a, b):
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


def check(path, unknown):
    """Problems of one file, as texts."""
    name = path.relative_to(ROOT)
    board = json.loads(path.read_text())
    problems = list(check_frame(board))
    panels = list(walk(board.get("panels", [])))
    ids = [panel.get("id") for panel in panels]
    if len(set(ids)) != len(ids) or None in ids:
        problems.append("panel ids must be there and unique")
    for i, panel in enumerate(panels):
        for other in panels[i + 1:]:
            if overlaps(panel["gridPos"], other["gridPos"]):
                problems.append(f"panels {panel.get('title')!r} and {other.get('title')!r} overlap")
        if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24:
            problems.append(f"panel {panel.get('title')!r} is wider than the grid of 24")
        if panel.get("type") not in {"row", "text"}:
            problems += check_panel(panel, unknown)
    for annotation in board.get("annotations", {}).get("list", []):
        for metric in unknown(annotation.get("expr", "")):
            problems.append(f"annotation {annotation.get('name')!r}: no program has the metric {metric}")
    return [f"{name}: {problem}" for problem in problems]
