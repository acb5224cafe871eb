#!/usr/bin/env bash
# ctest_inside.sh PRESET LABEL [REGEX]: runs the built tests that carry the label.
set -euo pipefail
. tools/dev/sanitizer_options.sh
seconds=300
[[ $1 != tsan && $1 != asan-ubsan ]] || seconds=900  # some ten times slower
args=(--test-dir "build/$1" -L "^$2\$" --output-on-failure --no-tests=error --timeout "$seconds" -j "$(nproc)" --progress)
[ -z "${3:-}" ] || args+=(-R "$3")
sanitizer_options "$1"
exec ctest "${args[@]}"
