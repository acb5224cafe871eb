# shellcheck shell=bash
# Every fuzzer for 30 s, from the seeds in tests/fuzz/corpus and what earlier runs found.
. "$dev_tools/commands/build.sh"
run_suite() { dev_build fuzz fuzzers && in_root "build fuzz" bash tools/dev/fuzz_inside.sh 30 "${test_regex:-}"; }
