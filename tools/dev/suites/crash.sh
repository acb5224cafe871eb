# shellcheck shell=bash
# Crashes: the service is killed at random moments and at every crash point, power is cut; the participants' databases are judged.
. "$dev_tools/commands/build.sh"
run_suite() {
  dev_build dev outrigger-service crash_power_loss && in_root "build tools" python3 tests/crash/run.py &&
    in_root build bash tools/dev/ctest_inside.sh dev crash "${test_regex:-}"
}
