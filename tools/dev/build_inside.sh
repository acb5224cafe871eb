#!/usr/bin/env bash
# build_inside.sh PRESET JOBS [TARGET...]: configures once and builds. Runs where the packages are.
set -euo pipefail
preset=$1 jobs=$2; shift 2
build=build/$preset
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-20G}
# One builder a folder at a time: two ninjas in one folder corrupt each other's log.
mkdir -p "$build"
exec 7>"$build/.lock"
flock -n 7 || { echo "==> waiting for another build of $preset" >&2; flock -w 3600 7 || { echo "error: $build/.lock is held for an hour" >&2; exit 1; }; }
if [ ! -f "$build/build.ninja" ] || [ CMakePresets.json -nt "$build/build.ninja" ]; then
  cmake --preset "$preset" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
fi
targets=(); [ $# -eq 0 ] || targets=(--target "$@")
exec cmake --build "$build" -j "$jobs" "${targets[@]}"
