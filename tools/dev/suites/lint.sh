# shellcheck shell=bash
# Formatting, clang-tidy, shellcheck.
. "$dev_tools/commands/lint.sh"
run_suite() { dev_lint; }
