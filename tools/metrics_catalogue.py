#!/usr/bin/env python3
"""metrics_catalogue.py: every metric of the programs, read from the MetricInfo constants of the source.

usage: metrics_catalogue.py [--markdown]

Prints JSON: name -> {help, kind, declared}. kind is how the constant is used: counter, gauge, histogram, or unknown
where no use was found: it is declared, but no program exposes it. Also a module: catalogue(), and names_in(expression) for the metric names of a PromQL expression."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("lib", "service", "sidecar")
DECLARED = re.compile(r'MetricInfo\s+(k\w+)\s*\{\s*"([^"]+)",\s*"((?:[^"\\]|\\.)*)"')
USED = re.compile(r"\b(counter|gauge|histogram)(?:_function)?\(\s*((?:\w+::)*)(k\w+)")

KEYWORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset", "and", "or", "unless", "inf", "nan", "atan2"}
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)", re.I)


def sources():
    for top in PROGRAMS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in {".h", ".cpp"}:
                yield path


def catalogue():
    metrics, constants, kinds = {}, {}, {}
    for path in sources():
        text = path.read_text()
        for constant, name, explanation in DECLARED.findall(text):
            constants.setdefault((path.parent, constant), name)
            metrics[name] = {"help": explanation, "kind": "unknown", "declared": str(path.relative_to(ROOT))}
        for kind, _, constant in USED.findall(text):
            kinds.setdefault((path.parent, constant), kind)
            if path.parent.name == "internal":
                kinds.setdefault((path.parent.parent, constant), kind)
    for place, name in constants.items():
        metrics[name]["kind"] = kinds.get(place, "unknown")
    return metrics


def names_in(expression):
    """The metric names of a PromQL expression: identifiers that are neither functions, labels, keywords nor durations."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', '""', expression)
    text = re.sub(r"\{[^{}]*\}", " ", text)
    text = re.sub(r"\[[^\]]*\]", " ", text)
    text = GROUPING.sub(" ", text)
    found = set()
    for match in re.finditer(r"(?<![\w:.$])([A-Za-z_:][\w:]*)(\s*\()?", text):
        if not match[2] and match[1].lower() not in KEYWORDS:
            found.add(match[1])
    return found


def known_by(name, metrics):
    """Whether a series of that name comes from the catalogue: a histogram has three. What no code registers does not count."""
    if name in metrics:
        return metrics[name]["kind"] in {"counter", "gauge"}
    stem = re.sub(r"_(bucket|count|sum)$", "", name)
    return stem != name and metrics.get(stem, {}).get("kind") == "histogram"


def main():
    metrics = catalogue()
    if "--markdown" in sys.argv[1:]:
        print("| metric | kind | what it counts |\n|---|---|---|")
        for name, item in sorted(metrics.items()):
            print(f"| `{name}` | {item['kind']} | {item['help']} |")
    else:
        json.dump(metrics, sys.stdout, indent=2, sort_keys=True)
        print()


if __name__ == "__main__":
    main()
