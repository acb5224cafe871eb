#!/usr/bin/env bash
# enter.sh KIND ROOT REPO CACHE COMMAND...: the last step into the private root. Runs inside fresh mount (and process)
# namespaces: makes the mounts, carries certificates and caches in, and changes root. KIND: pid | keep | "" (package work).
set -euo pipefail
kind=$1 root=$2 repo=$3 cache=$4; shift 4

# The first process of a process namespace ignores every signal that it has no handler for: without this, a Ctrl-C while the
# mounts are made would be lost.
[ "$kind" != pid ] || trap 'exit 130' INT TERM HUP

mount --bind "$root" "$root"
mount --make-rshared "$root"
[ "$kind" = pid ] && mount -t proc proc "$root/proc" || mount --rbind /proc "$root/proc"
for d in sys dev; do mount --rbind "/$d" "$root/$d"; done
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"

# The host's name service and certificate authorities: without them Go and Maven meet unknown issuers.
carry() { [ ! -e "$1" ] || { mkdir -p "$(dirname "$root$1")"; [ -e "$root$1" ] || : >"$root$1"; mount --bind "$(readlink -f "$1")" "$root$1"; }; }
carry /etc/resolv.conf
carry /etc/hosts
if [ -n "$kind" ]; then
  carry /etc/ssl/certs/ca-certificates.crt
  [ ! -e "$root/etc/ssl/certs/java/cacerts" ] || carry /etc/ssl/certs/java/cacerts
  # The project stands at one fixed path, so that compiler caches hold for every checkout.
  mkdir -p "$root/src" "$root/cache" "$root/root/.m2" "$root/root/go"
  mount --bind "$repo" "$root/src"
  mkdir -p "$cache"/{home,m2,go,ccache,gobuild,bin}
  mount --bind "$cache" "$root/cache"
  mount --bind "$cache/m2" "$root/root/.m2"
  mount --bind "$cache/go" "$root/root/go"
  # A folder of the host that a command works on (./dev run --data).
  [ -z "${OUTRIGGER_DATA:-}" ] || { mkdir -p "$root/data"; mount --bind "$OUTRIGGER_DATA" "$root/data"; }
fi

env=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM="${TERM:-dumb}"
  OUTRIGGER_INSIDE=1 OUTRIGGER_CACHE=/cache CCACHE_DIR=/cache/ccache GOPATH=/root/go GOCACHE=/cache/gobuild
  GOFLAGS=-buildvcs=false GOTOOLCHAIN="${GOTOOLCHAIN:-auto}" XDG_CACHE_HOME=/cache/home)
for v in CI OUTRIGGER_DATA OUTRIGGER_JOBS GTEST_FILTER CTEST_OUTPUT_ON_FAILURE http_proxy https_proxy no_proxy GOPROXY GOSUMDB GONOSUMDB NO_COLOR; do
  [ -z "${!v:-}" ] || env+=("$v=${!v}")
done

case $kind in
  pid)
    # The first process of a process namespace: when it ends, the kernel ends all others. It must outlive Ctrl-C (which the
    # terminal sends to the command as well), so that the command can end in its own way.
    trap : INT TERM HUP
    status=0
    chroot "$root" /usr/bin/env -i "${env[@]}" bash -c 'cd /src && exec "$@"' sh "$@" || status=$?
    exit "$status" ;;
  keep) exec chroot "$root" /usr/bin/env -i "${env[@]}" bash -c 'cd /src && exec "$@"' sh "$@" ;;
  *) exec chroot "$root" /usr/bin/env -i "${env[@]}" "$@" ;;
esac
