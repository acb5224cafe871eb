# shellcheck shell=bash
# ./dev itself: refusals, exit status, nothing left behind. Runs on the host.
run_suite() { in_root build true && python3 tests/dev/dev_test.py; }
