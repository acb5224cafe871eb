# shellcheck shell=bash
# run_sanitized PRESET: the unit tests, then the end-to-end tests on the programs of that preset. A regular expression chooses
# among the unit tests only. The chaos experiments are left out: what they measure under load, a sanitizer's slowness decides.
. "$dev_tools/commands/build.sh"
run_sanitized() {
  dev_build "$1" && in_root build bash tools/dev/ctest_inside.sh "$1" unit "${test_regex:-}" || return
  [ -n "${test_regex:-}" ] || in_root "build tools" bash tools/dev/e2e_inside.sh "$1" '^(?!chaos_test)'
}
