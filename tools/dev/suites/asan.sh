# shellcheck shell=bash
# Unit tests built with the asan-ubsan preset.
. "$dev_tools/commands/build.sh"
run_suite() { dev_build asan-ubsan && in_root build bash tools/dev/ctest_inside.sh asan-ubsan unit "${test_regex:-}"; }
