# shellcheck shell=bash
# Alert rules and generated SLO rules with promtool, runbooks, dashboards.
. "$dev_tools/commands/build.sh"
run_suite() { dev_build dev outrigger && in_root "build monitoring" bash tools/dev/rules_inside.sh; }
