# shellcheck shell=bash
# Unit tests of every module.
. "$dev_tools/commands/build.sh"
run_suite() { dev_build dev && in_root build bash tools/dev/ctest_inside.sh dev unit "${test_regex:-}"; }
