# shellcheck shell=bash
# Unit and end-to-end tests built with the tsan preset.
. "$dev_tools/sanitized.sh"
run_suite() { run_sanitized tsan; }
