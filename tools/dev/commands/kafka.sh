# shellcheck shell=bash
# A real Apache Kafka on this machine: kafka start|stop|kill N|restart N|status|tool
#
# usage: ./dev kafka start [--brokers 1|3] [--name NAME]   start a cluster and print its bootstrap address
#        ./dev kafka stop [--name NAME]                    end it and remove its data
#        ./dev kafka kill NODE [--name NAME]               SIGKILL one node
#        ./dev kafka restart NODE [--name NAME]            start it again, stopping it first where it runs
#        ./dev kafka status [--name NAME]                  nodes, pids, memory, ports; exit status 1: a node is down, 3: no cluster
#        ./dev kafka bootstrap [--name NAME]               the bootstrap address of a running cluster
#        ./dev kafka tool CLASS ARGS...                    a Java tool, e.g. org.apache.kafka.tools.TopicCommand
#
# The jars (Apache Kafka 4.1.2) come from Maven Central once. Nodes are brokers and controllers at once (KRaft), listen on
# 127.0.0.1 on free ports, and live until `stop`. Data and logs are in the cache folder under kafka/NAME (NAME: default).
# A topic listing, for example:
#   ./dev kafka tool org.apache.kafka.tools.TopicCommand --bootstrap-server "$(./dev kafka bootstrap)" --list

dev_kafka() {
  [ $# -gt 0 ] || usage_error "kafka: what shall be done?" "./dev kafka --help"
  case $1 in start | stop | kill | restart | status | bootstrap | tool) ;; *) usage_error "kafka: unknown action: $1" "./dev kafka --help" ;; esac
  in_root_detached "build kafka" bash tools/dev/kafka/cluster.sh "$@"
}
