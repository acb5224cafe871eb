# shellcheck shell=bash
# The Kafka clients, the journal with its conformance suite, and the orders on three real brokers, through kills.
. "$dev_tools/commands/build.sh"
run_suite() {
  local on_brokers=(bash tools/dev/kafka/cluster.sh with --brokers 3 --)
  dev_build dev outrigger-service outrigger-participants integration_kafka_clients integration_kafka_journal integration_kafka_conformance &&
    in_root "build kafka" "${on_brokers[@]}" bash tools/dev/ctest_inside.sh dev kafka "${test_regex:-}" &&
    { [ -n "${test_regex:-}" ] || in_root "build kafka" "${on_brokers[@]}" python3 tests/integration/kafka/orders_on_kafka.py; }
}
