# shellcheck shell=bash
# Measure against peers, as ratios in one run: bench NAME
#
# usage: ./dev bench NAME [ARGS...]
#
#   http     CPU, latency and memory of the HTTP engine beside nginx, bare epoll and stock cpp-httplib, on keep-alive connections
#   saga     three-step orders a second, latency of accept and completion, memory, time to be ready after SIGKILL
#
# Builds the release preset, alternates the candidates, and reports ratios of medians: absolute figures of a shared machine
# mean little. Traffic goes to 127.0.0.1 only and is bounded in time.

dev_bench() {
  local name=${1:-}
  [ -n "$name" ] || usage_error "bench: which one?" "./dev bench --help lists them"
  [ -f "$dev_repo/bench/$name/run.py" ] || usage_error "unknown benchmark: $name" "./dev bench --help lists them"
  shift
  . "$dev_tools/commands/build.sh"
  in_root "build bench" bash tools/dev/build_inside.sh release "$(build_jobs)" "bench_$name"
  in_root "build bench" python3 "bench/$name/run.py" --binaries build/release "$@"
}
