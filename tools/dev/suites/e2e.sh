# shellcheck shell=bash
# The programs as processes: orders, crashes, drains, wrong input.
. "$dev_tools/commands/build.sh"
run_suite() {
  dev_build dev outrigger-service && in_root build python3 tests/e2e/run.py "${test_regex:-}"
}
