#!/usr/bin/env bash
# go_tool.sh NAME PACKAGE@VERSION [LDFLAGS]: builds one Go program from the module proxy and prints its path,
# $OUTRIGGER_CACHE/bin/NAME-VERSION. Runs where Go is (package group k8s or tools). A path that exists is whole: the
# program is built beside it and renamed, one builder a name at a time.
set -euo pipefail
[[ $# -ge 2 && $2 == *@* ]] || { echo "usage: go_tool.sh NAME PACKAGE@VERSION [LDFLAGS]" >&2; exit 2; }
name=$1 package=$2 ldflags=${3:-}
bin=${OUTRIGGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/outrigger}/bin
out=$bin/$name-${package##*@}
if [ ! -x "$out" ]; then
  mkdir -p "$bin"
  exec 7>"$bin/.$name.lock"
  flock -w 3600 7 || { echo "error: $bin/.$name.lock is held for an hour; see what holds it: fuser $bin/.$name.lock" >&2; exit 1; }
  if [ ! -x "$out" ]; then
    echo "==> building $name ${package##*@}: once" >&2
    # `go install` names the program after its package: a folder of its own keeps two versions apart.
    work=$(mktemp -d "$bin/.$name.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    CGO_ENABLED=0 GOBIN=$work nice -n 15 go install -trimpath -ldflags "-s -w $ldflags" "$package" >&2 ||
      { echo "error: building $package failed; check the network and the Go proxy settings (go env GOPROXY), then run it again" >&2; exit 1; }
    mv "$work"/* "$out"
  fi
fi
echo "$out"
