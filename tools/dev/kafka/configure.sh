# shellcheck shell=bash
# The settings and data folders of a new cluster. Sourced by cluster.sh, whose `state`, `here`, `java` and functions it uses.

uuid() { python3 -c 'import base64, uuid; print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))' | sed 's/^-/A/'; }

configure() {  # BROKERS: settings of each node, then a formatted data folder for each
  local count=$1 n ports voters='' bootstrap='' factor in_sync
  mapfile -t ports < <(python3 "$here/free_ports.py" $((2 * count)))
  [ "${#ports[@]}" -eq $((2 * count)) ] || die "found no free ports on 127.0.0.1"
  for ((n = 1; n <= count; n++)); do
    bootstrap+=",127.0.0.1:${ports[n - 1]}"; voters+=",$n@127.0.0.1:${ports[count + n - 1]}"
  done
  factor=$((count < 3 ? count : 3)); in_sync=$((factor > 1 ? factor - 1 : 1))
  for ((n = 1; n <= count; n++)); do
    mkdir -p "$state/$n"
    cat >"$state/$n/server.properties" <<P
process.roles=broker,controller
node.id=$n
controller.quorum.voters=${voters#,}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${ports[n - 1]},CONTROLLER://127.0.0.1:${ports[count + n - 1]}
advertised.listeners=PLAINTEXT://127.0.0.1:${ports[n - 1]}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$state/$n/data
auto.create.topics.enable=false
default.replication.factor=$factor
min.insync.replicas=$in_sync
unclean.leader.election.enable=false
# Internal topics: as many copies as there are nodes, few partitions: each costs files and start-up time.
offsets.topic.replication.factor=$factor
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=$factor
transaction.state.log.min.isr=$in_sync
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=$factor
share.coordinator.state.topic.min.isr=$in_sync
share.coordinator.state.topic.num.partitions=1
# A small cluster that notices quickly.
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
replica.lag.time.max.ms=5000
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=1000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
num.network.threads=2
num.io.threads=4
background.threads=2
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.backoff.ms=500
P
  done
  java_command
  "${java[@]}" -Xmx64m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn kafka.tools.StorageTool format \
    -t "$(uuid)" -c "$state/1/server.properties" >"$state/format.log" 2>&1 || { cat "$state/format.log" >&2; die "Kafka could not format $state/1/data"; }
  # One JVM formats the first; the others take a copy with their own ids, which saves a JVM's start each.
  for ((n = 2; n <= count; n++)); do
    cp -r "$state/1/data" "$state/$n/data"
    sed -i "s/^node.id=.*/node.id=$n/; s/^directory.id=.*/directory.id=$(uuid)/" "$state/$n/data/meta.properties"
  done
  echo "${bootstrap#,}" >"$state/bootstrap"
}
