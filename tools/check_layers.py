#!/usr/bin/env python3
"""check_layers.py: every include goes down the layers of docs/architecture.md, and every header stands alone in its folder's rules.

Reads the includes of all sources of the tree; exits 1 and names file:line for each that goes the wrong way."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A layer may include itself and what its line names. `api` is generated contracts, included by everybody.
MAY_INCLUDE = {
    "lib": set(),
    "service": {"lib"},
    "sidecar": {"lib"},
    "slo": {"lib"},
    "chaos": {"lib", "slo"},
    "cli": {"lib", "slo", "chaos"},
    "tests": {"lib", "service", "sidecar", "slo", "chaos", "cli"},
    "bench": {"lib", "service", "sidecar", "slo", "chaos", "cli"},
    "examples": {"lib"},
}
# Inside lib: a module may include itself and these; runtime is below everything.
LIB = {
    "runtime": set(),
    "yaml": {"runtime"},
    "config": {"runtime", "yaml"},
    "telemetry": {"runtime"},
    "http": {"runtime", "telemetry"},
    "contracts": {"runtime"},
    "participant": {"runtime", "telemetry"},
    "kafka": {"runtime", "telemetry", "participant", "contracts"},
    "load": {"runtime", "telemetry"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
problems, seen = [], 0
for top in MAY_INCLUDE:
    for path in sorted((ROOT / top).rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        seen += 1
        relative = path.relative_to(ROOT)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            parts = match[1].split("/")
            where = f"{relative}:{number}"
            if parts[0] in MAY_INCLUDE:
                if parts[0] != top and parts[0] not in MAY_INCLUDE[top]:
                    problems.append(f"{where}: {top}/ must not include {parts[0]}/ ({match[1]})")
                if top == parts[0] == "lib" and relative.parts[1] != parts[1] and parts[1] not in LIB.get(relative.parts[1], set()):
                    problems.append(f"{where}: lib/{relative.parts[1]} must not include lib/{parts[1]}")
                if "internal" in parts and path.parent.parts[: len(ROOT.parts) + parts.index("internal")] != (ROOT.joinpath(*parts[: parts.index("internal")])).parts and top != "tests":
                    problems.append(f"{where}: {match[1]} is private to its module")
            elif parts[0] not in {"api"} and not (ROOT / match[1]).exists() and "/" in match[1]:
                continue
            elif len(parts) == 1:
                problems.append(f'{where}: include project headers by their path from the top of the tree, not "{match[1]}"')
if seen == 0:
    problems.append("no source was found: is this the project's root?")
print("\n".join(problems) if problems else f"{seen} sources, every include goes down the layers")
sys.exit(1 if problems else 0)
