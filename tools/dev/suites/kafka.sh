# shellcheck shell=bash
# The journal and the orders on three real brokers.
. "$dev_tools/commands/build.sh"
run_suite() {
  dev_build dev &&
    in_root "build kafka" bash tools/dev/kafka/cluster.sh with --brokers 3 -- bash tools/dev/ctest_inside.sh dev kafka "${test_regex:-}"
}
