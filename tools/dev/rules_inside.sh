#!/usr/bin/env bash
# rules_inside.sh: everything about rules and dashboards that the suite `rules` checks, from the project's root, inside the Debian root.
set -euo pipefail
rules=helm/outrigger/rules tests=tests/rules
build/dev/bin/outrigger slo generate --check --out "$rules" --tests "$tests" slo/objectives/*.yaml
promtool check rules "$rules"/*.yaml
promtool test rules "$tests"/*_test.yaml
export PYTHONDONTWRITEBYTECODE=1
python3 tools/check_monitoring.py
python3 tests/rules/check_test.py
