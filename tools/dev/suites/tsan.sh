# shellcheck shell=bash
# Unit tests built with the tsan preset.
. "$dev_tools/commands/build.sh"
run_suite() { dev_build tsan && in_root build bash tools/dev/ctest_inside.sh tsan unit "${test_regex:-}"; }
