#!/usr/bin/env bash
# fuzz_inside.sh SECONDS [REGEX] [SEED]: runs the built fuzzers one after the other; an input that fails is named and kept.
# The seed (default 1) makes a run repeatable; another one tries other ways.
set -euo pipefail
seconds=$1 regex=${2:-.} seed=${3:-1} status=0 ran=0
for fuzzer in build/fuzz/fuzz/*_fuzz; do
  name=$(basename "$fuzzer"); subject=${name%_fuzz}
  [[ $name =~ $regex ]] || continue
  ran=$((ran + 1))
  mkdir -p "build/fuzz/corpus/$subject" build/fuzz/failures
  log=build/fuzz/$name.log
  if UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1" "$fuzzer" -seed="$seed" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/failures/$name-" "build/fuzz/corpus/$subject" "tests/fuzz/corpus/$subject" >"$log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, none failed"
  else
    tail -n 40 "$log" >&2
    echo "$name: failed; the input is in build/fuzz/failures, run $fuzzer with its path to see it again" >&2
    status=1
  fi
done
[ "$ran" -gt 0 ] || { echo "no fuzzer was built, or none matches $regex" >&2; status=1; }
exit "$status"
