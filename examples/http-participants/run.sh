#!/usr/bin/env bash
# run.sh [FLAG…]: the three participants on ports 9101 to 9103, and outrigger-service with this folder's definition; FLAGs go to it.
# Ctrl-C ends all four. What they store is in a temporary folder, removed at the end.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
data=$(mktemp -d)
started=()
end() {
  kill "${started[@]}" 2>/dev/null || true
  wait
  rm -rf "$data"
}
trap end EXIT
python3 "$here/inventory.py" --port 9101 --data-dir "$data/participants" & started+=($!)
python3 "$here/logistics.py" --port 9102 --data-dir "$data/participants" --takes 1 & started+=($!)
python3 "$here/invoicing.py" --port 9103 --data-dir "$data/participants" & started+=($!)
"${OUTRIGGER_BIN:-$root/build/dev/bin}/outrigger-service" --data-dir "$data/service" --definitions "$here/definitions" \
  --catalogue "$root/examples/catalogue.yaml" "$@" & started+=($!)
wait -n
