# shellcheck shell=bash
# The orders on one real Kafka broker.
. "$dev_tools/commands/build.sh"
run_suite() {
  dev_build dev outrigger-service outrigger-participants &&
    in_root "build kafka" bash tools/dev/kafka/cluster.sh with --brokers 1 -- python3 tests/integration/kafka/orders_on_kafka.py Smoke
}
