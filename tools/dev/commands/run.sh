# shellcheck shell=bash
# Run the product and send it 200 orders: run [--once] [--kafka] [--data DIR]
#
# usage: ./dev run [--once] [--kafka] [--data DIR] [--concurrency N]
#
# Builds and starts the service (saga orchestrator with the order example) and the sidecar in front of it, sends the orders of
# examples/orders.jsonl through the sidecar, and prints how they ended, beside how they must end, and one compensated order step
# by step. Then the participants' databases are checked: every effect exactly once.
#
#   --once           stop then; exit status 0 only if every order ended as its line says and every effect happened once
#                    (without it: keeps serving and prints the addresses, until Ctrl-C)
#   --kafka          sagas on a real Kafka of three brokers, participants in a process of their own
#   --data DIR       keep the data there (default: a temporary folder); a second run finds the orders of the first
#   --concurrency N  orders under way at once (default 16)
#
# Ports are free ones with --once; else the default ones (API 8080, service 8000 and 9900, sidecar health 9901) unless taken.

. "$dev_tools/commands/build.sh"

dev_run() {
  local arguments=() once='' kafka='' data='' targets=(outrigger-service outrigger-sidecar)
  while [ $# -gt 0 ]; do
    case $1 in
      --once) once=yes; arguments+=(--once); shift ;;
      --kafka) kafka=yes; targets+=(outrigger-participants); shift ;;
      --data) data=${2:?--data needs a folder}; shift 2 ;;
      --concurrency) [[ ${2:-} =~ ^[1-9][0-9]{0,2}$ ]] || usage_error "run: --concurrency needs a number from 1 to 999"; arguments+=(--concurrency "$2"); shift 2 ;;
      *) usage_error "run: unknown option $1" "./dev run --help" ;;
    esac
  done
  # While it serves, the command line is of use.
  [ -n "$once" ] || targets+=(outrigger)
  if [ -n "$data" ]; then
    mkdir -p "$data"
    data=$(cd "$data" && pwd)
    # shellcheck disable=SC2046
    if host_serves $(build_groups dev); then arguments+=(--data "$data"); else export OUTRIGGER_DATA=$data; arguments+=(--data /data); fi
  fi
  dev_build dev "${targets[@]}"
  if [ -z "$kafka" ]; then in_root build python3 tools/dev/run_orders.py "${arguments[@]}"; return; fi
  say "starting three Kafka brokers"
  run_with_kafka "${arguments[@]}"
}

# The brokers run beside the programs, in the same process namespace, so that they end with it however the run ends.
run_with_kafka() {
  in_root "build kafka" bash tools/dev/kafka/cluster.sh with --brokers 3 -- \
    bash -c 'exec python3 tools/dev/run_orders.py "$@" --kafka-bootstrap "$OUTRIGGER_KAFKA_BOOTSTRAP"' sh "$@"
}
