# shellcheck shell=bash
# Unit and end-to-end tests built with the asan-ubsan preset.
. "$dev_tools/sanitized.sh"
run_suite() { run_sanitized asan-ubsan; }
