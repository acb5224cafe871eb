#!/usr/bin/env bash
# fetch.sh: the jars of Apache Kafka from Maven Central, once a version, and an archive of its loaded classes that makes a
# broker start in a third of the time. Prints the folder of the jars. Runs where Java and Maven are.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
version=${OUTRIGGER_KAFKA_VERSION:-4.1.2}
store=${OUTRIGGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/outrigger}/kafka-jars
jars=$store/$version

[ ! -s "$jars/classes.jsa" ] || { echo "$jars"; exit 0; }
mkdir -p "$store"
exec 9>"$store/.lock"
flock -w 900 9 || { echo "error: $store/.lock is held for 15 minutes: another fetch hangs" >&2; exit 1; }

if [ ! -d "$jars" ]; then
  find "$store" -maxdepth 1 -name '.new.*' -exec rm -rf {} +
  new=$(mktemp -d "$store/.new.XXXXXX")
  echo "==> fetching Apache Kafka $version (56 MB, once)" >&2
  mvn -B -q -f "$here/pom.xml" dependency:copy-dependencies "-Dkafka.version=$version" "-DoutputDirectory=$new" >"$store/fetch.log" 2>&1 || {
    tail -n 15 "$store/fetch.log" >&2
    echo "error: Maven could not fetch Apache Kafka $version; the whole log is in $store/fetch.log" >&2
    exit 1
  }
  chmod 755 "$new"
  mv "$new" "$jars"
fi

# The archive is bound to this class path, so it is made after the jars stand in their final place.
if [ ! -s "$jars/classes.jsa" ]; then
  echo "==> archiving Kafka's classes (once)" >&2
  scratch=$(mktemp -d)
  trap 'bash "$here/cluster.sh" stop --state "$scratch" >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT
  OUTRIGGER_KAFKA_JARS=$jars OUTRIGGER_KAFKA_JVM="-XX:ArchiveClassesAtExit=$jars/.classes.new.jsa" \
    bash "$here/cluster.sh" start --brokers 1 --state "$scratch" 9>&- >/dev/null
  bash "$here/cluster.sh" stop --state "$scratch" >&2
  mv "$jars/.classes.new.jsa" "$jars/classes.jsa"
fi
echo "$jars"
