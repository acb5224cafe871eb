#!/usr/bin/env bash
# A real Apache Kafka on 127.0.0.1: combined KRaft nodes, for tests and for trying things out. Runs where Java is; the
# processes are children of nobody, so in a process namespace they die with it and elsewhere they live until `stop`.
#
#   cluster.sh start [--brokers 1|3] [--name N | --state DIR]    prints the bootstrap address when every node is ready
#   cluster.sh stop | status | bootstrap [--name N | --state DIR]
#   cluster.sh kill NODE | restart NODE [--name N | --state DIR]  kill is SIGKILL
#   cluster.sh with [--brokers N] -- COMMAND...  a fresh cluster for COMMAND alone, gone when it ends;
#       COMMAND sees OUTRIGGER_KAFKA_BOOTSTRAP, OUTRIGGER_KAFKA_STATE and OUTRIGGER_KAFKA_CLUSTER (this script)
#   cluster.sh tool CLASS ARGS...                a Java tool, such as org.apache.kafka.tools.TopicCommand
#
# State: DIR or CACHE/kafka/NAME holds bootstrap, and for each node server.properties, pid, log and data.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
cache=${OUTRIGGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/outrigger}
. "$here/configure.sh"
small_jvm=(-Xss512k -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData)

die() { printf 'error: %s\n' "$1" >&2; [ -z "${2:-}" ] || printf '       %s\n' "$2" >&2; exit 1; }

jars() { [ -n "${OUTRIGGER_KAFKA_JARS:-}" ] || OUTRIGGER_KAFKA_JARS=$(bash "$here/fetch.sh"); export OUTRIGGER_KAFKA_JARS; }

java_command() {  # fills the array `java`: the class archive holds for exactly this class path
  jars
  local archive=(); [ ! -s "$OUTRIGGER_KAFKA_JARS/classes.jsa" ] || archive=("-XX:SharedArchiveFile=$OUTRIGGER_KAFKA_JARS/classes.jsa" -Xshare:auto)
  java=(java "${small_jvm[@]}" "${archive[@]}" -cp "$(printf '%s:' "$OUTRIGGER_KAFKA_JARS"/*.jar)")
}

# alive NODE: prints its pid. A pid counts only while it is that node's broker: after a crash the number may be someone else's.
alive() {
  local pid; pid=$(cat "$state/$1/pid" 2>/dev/null) && [ -n "$pid" ] || return 1
  { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qxF "$state/$1/server.properties" || return 1
  echo "$pid"
}
nodes() { local d; for d in "$state"/[0-9]*/; do [ ! -d "$d" ] || basename "$d"; done; }
any_alive() { local n; for n in $(nodes); do ! alive "$n" >/dev/null || return 0; done; return 1; }

launch() {  # NODE
  java_command
  local extra=(); [ -z "${OUTRIGGER_KAFKA_JVM:-}" ] || read -ra extra <<<"$OUTRIGGER_KAFKA_JVM"
  setsid "${java[@]}" "-Xmx${OUTRIGGER_KAFKA_HEAP:-256m}" "${extra[@]}" -Dorg.slf4j.simpleLogger.defaultLogLevel=info \
    -Dorg.slf4j.simpleLogger.showDateTime=true -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS \
    -Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn -Dorg.slf4j.simpleLogger.log.kafka.server.KafkaConfig=warn \
    kafka.Kafka "$state/$1/server.properties" >>"$state/$1/log" 2>&1 </dev/null &
  echo $! >"$state/$1/pid"
  disown $!
}

# wait_ready NODE...: a node is ready when it answers and names as many brokers as there are live nodes: KRaft names only unfenced ones.
wait_ready() {
  local n port expected=0 deadline=$((SECONDS + ${OUTRIGGER_KAFKA_START_SECONDS:-90}))
  for n in $(nodes); do ! alive "$n" >/dev/null || expected=$((expected + 1)); done
  for n in "$@"; do
    port=$(cut -d, -f"$n" "$state/bootstrap")
    until [ "$(timeout 3 kcat -b "$port" -L 2>/dev/null | grep -cE '^  broker [0-9]+ at ')" -ge "$expected" ]; do
      alive "$n" >/dev/null || { tail -n 20 "$state/$n/log" >&2; die "Kafka node $n ended while starting" "its log: $state/$n/log"; }
      [ "$SECONDS" -lt "$deadline" ] || { tail -n 5 "$state/$n/log" >&2; die "Kafka node $n is not ready in time" "its log: $state/$n/log; OUTRIGGER_KAFKA_START_SECONDS allows more"; }
      sleep 0.1
    done
  done
}

start() {
  if any_alive; then
    [ "$(nodes | wc -l)" -eq "$brokers" ] || die "a cluster of $(nodes | wc -l) node(s) runs in $state" "./dev kafka stop ends it"
    local n; for n in $(nodes); do alive "$n" >/dev/null || die "node $n of the cluster in $state is down" "restart $n brings it back, stop ends the cluster"; done
  else
    [ -z "$(nodes)" ] || { echo "removing what a cluster that is gone left in $state" >&2; clean; }
    mkdir -p "$state"
    configure "$brokers"
    local n; for n in $(nodes); do launch "$n"; done
    # shellcheck disable=SC2046
    wait_ready $(nodes)
  fi
  cat "$state/bootstrap"
}

clean() { local n; for n in $(nodes); do rm -rf "${state:?}/$n"; done; rm -f "$state/bootstrap" "$state/format.log"; rmdir "$state" 2>/dev/null || true; }

end_node() {  # NODE SIGNAL: then SIGKILL after 20 s
  local pid tries; pid=$(alive "$1") || return 0
  kill "-$2" "$pid" 2>/dev/null || true
  for ((tries = 0; tries < 200; tries++)); do alive "$1" >/dev/null || break; sleep 0.1; done
  ! pid=$(alive "$1") || kill -KILL "$pid" 2>/dev/null || true
  rm -f "$state/$1/pid"
}

stop() {  # SIGNAL: all at once, else each waits in vain for a quorum that has gone
  local n pid; for n in $(nodes); do ! pid=$(alive "$n") || kill "-$1" "$pid" 2>/dev/null || true; done
  for n in $(nodes); do end_node "$n" "$1"; done
  clean
}

status() {
  [ -n "$(nodes)" ] || { echo "no cluster in $state"; return 3; }
  local n pid down=0
  echo "bootstrap $(cat "$state/bootstrap" 2>/dev/null)"
  for n in $(nodes); do
    if pid=$(alive "$n"); then echo "node $n: up, pid $pid, $(awk '/VmRSS/{print int($2 / 1024)}' "/proc/$pid/status") MiB, 127.0.0.1:$(cut -d, -f"$n" "$state/bootstrap" | cut -d: -f2)"
    else echo "node $n: down"; down=1; fi
  done
  return "$down"
}

known_node() { { [[ "${1:-}" =~ ^[0-9]+$ ]] && [ -d "$state/$1" ]; } || die "no node '${1:-}' in $state" "its nodes: $(nodes | paste -sd' ')"; }

command=${1:-}; [ $# -eq 0 ] || shift
brokers=1 state='' name=default rest=()
if [ "$command" = tool ]; then
  [ "${1:-}" != -- ] || shift
  java_command
  exec "${java[@]}" -Xmx128m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn "$@"
fi
while [ $# -gt 0 ]; do
  case $1 in
    --brokers) brokers=${2:-}; shift 2 ;;
    --name) name=${2:-}; shift 2 ;;
    --state) state=${2:-}; shift 2 ;;
    --) shift; rest+=("$@"); break ;;
    *) rest+=("$1"); shift ;;
  esac
done
[[ $brokers =~ ^[13]$ ]] || die "--brokers must be 1 or 3, not '$brokers'"
[[ $name =~ ^[a-z0-9-]+$ ]] || die "--name takes lower-case letters, digits and dashes, not '$name'"
state=${state:-$cache/kafka/$name}
case $command in
  start) start ;;
  stop) stop TERM ;;
  status) status ;;
  bootstrap) cat "$state/bootstrap" ;;
  kill) known_node "${rest[0]:-}"; alive "${rest[0]}" >/dev/null || die "node ${rest[0]} is down already"; end_node "${rest[0]}" KILL ;;
  restart) known_node "${rest[0]:-}"; end_node "${rest[0]}" TERM; launch "${rest[0]}"; wait_ready "${rest[0]}" ;;
  with)
    state=$(mktemp -d "${TMPDIR:-/tmp}/outrigger-kafka.XXXXXX")
    trap 'stop KILL; rm -rf "$state"' EXIT
    trap 'exit 130' INT TERM
    start >/dev/null
    OUTRIGGER_KAFKA_BOOTSTRAP=$(cat "$state/bootstrap") OUTRIGGER_KAFKA_STATE=$state OUTRIGGER_KAFKA_CLUSTER=$here/cluster.sh "${rest[@]}" ;;
  *) sed -n '2,14p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
esac
