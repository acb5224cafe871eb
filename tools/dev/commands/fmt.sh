# shellcheck shell=bash
# Format the C++ sources in place
#
# usage: ./dev fmt [--check]
#
# Formats every .h and .cpp file that git tracks with clang-format (package group lint). --check changes nothing and fails
# where something would change.

dev_fmt() {
  local mode=(-i)
  case ${1:-} in '') ;; --check) mode=(--dry-run --Werror) ;; *) usage_error "fmt: unknown option $1" "--check" ;; esac
  in_root lint bash -c 'find lib service sidecar slo chaos cli tests bench examples -name "*.h" -o -name "*.cpp" 2>/dev/null | xargs -r -n 40 -P "$(nproc)" clang-format-19 "$@"' sh "${mode[@]}"
}
