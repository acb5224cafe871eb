# shellcheck shell=bash
# Dependency direction between modules.
run_suite() { in_root build python3 tools/check_layers.py; }
