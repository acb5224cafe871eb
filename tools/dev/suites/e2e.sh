# shellcheck shell=bash
# The programs as processes: orders through sidecar and service, crashes, drains, faults, wrong input.
. "$dev_tools/commands/build.sh"
run_suite() {
  dev_build dev outrigger-service outrigger-sidecar outrigger example_cpp_httplib_service example_cpp_httplib_service_stock &&
    in_root "build tools" bash tools/dev/e2e_inside.sh dev "${test_regex:-}"
}
