# shellcheck shell=bash
# Crashes: the service is killed at random moments and at every crash point, and the participants' databases are judged.
. "$dev_tools/commands/build.sh"
run_suite() {
  dev_build dev outrigger-service && in_root "build tools" python3 tests/crash/run.py
}
