# shellcheck shell=bash
# Build and run tests: test [SUITE...]
#
# usage: ./dev test [SUITE...] [-R REGEX]
#
# Without a SUITE: unit, e2e and kafka-smoke, the tests of every change.
#
#   unit          unit tests of every module
#   layers        dependency direction between modules, from the includes
#   devtool       ./dev itself: refusals, exit status, nothing left behind
#   simulator     the saga engine in a simulated world: 10,000 seeds, and four bugs that they must find
#   e2e           the programs as processes: orders through sidecar and service, crash, faults, chaos, load
#   crash         kills at random moments and at every crash point, power cuts: no effect is lost or done twice
#   kafka-smoke   the same orders on one real Kafka broker
#   kafka         the journal and the orders on three real brokers
#   rules         alert rules and generated SLO rules, with promtool
#   chart         the Helm chart: lint, rendered manifests, drift of k8s/
#   asan, tsan    unit and e2e tests under the sanitizers; with -R unit tests only
#   fuzz          every fuzzer for some seconds
#   image         the container image, built and run
#   k8s           install, test, fault and uninstall in a real one-node cluster, with Helm 3 and Helm 4
#   lint          formatting, clang-tidy, shellcheck
#   all           all of them
#
#   -R REGEX      only tests whose name matches (unit, e2e, kafka, asan, tsan)
#
# Exit status 0: every suite passed.

test_suites_default=(unit layers e2e kafka-smoke)

dev_test() {
  local suites=() suite status=0 regex=''
  while [ $# -gt 0 ]; do
    case $1 in
      -R) regex=${2:?-R needs a regular expression}; shift 2 ;;
      all) suites=(); for suite in "$dev_tools"/suites/*.sh; do suites+=("$(basename "$suite" .sh)"); done; shift ;;
      *) [ -f "$dev_tools/suites/$1.sh" ] || usage_error "unknown suite: $1" "./dev test --help lists the suites"
        suites+=("$1"); shift ;;
    esac
  done
  [ "${#suites[@]}" -gt 0 ] || suites=("${test_suites_default[@]}")
  for suite in "${suites[@]}"; do
    say "suite $suite"
    if (. "$dev_tools/suites/$suite.sh"; test_regex=$regex run_suite); then say "suite $suite: passed"
    else warn "suite $suite: failed"; status=1; fi
  done
  return "$status"
}
