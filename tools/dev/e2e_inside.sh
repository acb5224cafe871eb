#!/usr/bin/env bash
# e2e_inside.sh PRESET [REGEX]: runs the end-to-end tests on the programs of that preset.
set -euo pipefail
. tools/dev/sanitizer_options.sh
sanitizer_options "$1"
OUTRIGGER_BIN="$PWD/build/$1/bin" exec python3 tests/e2e/run.py "${2:-}"
