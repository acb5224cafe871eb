#!/usr/bin/env bash
# ctest_inside.sh PRESET LABEL [REGEX]: runs the built tests that carry the label.
set -euo pipefail
args=(--test-dir "build/$1" -L "^$2\$" --output-on-failure --no-tests=error --timeout 300 -j "$(nproc)" --progress)
[ -z "${3:-}" ] || args+=(-R "$3")
case $1 in
  tsan) export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 suppressions=$PWD/tests/support/tsan.supp" ;;
  asan-ubsan) export ASAN_OPTIONS="detect_stack_use_after_return=1 strict_string_checks=1" UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1" LSAN_OPTIONS="suppressions=$PWD/tests/support/lsan.supp" ;;
esac
exec ctest "${args[@]}"
