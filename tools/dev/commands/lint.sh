# shellcheck shell=bash
# Formatting, static analysis and shell checks
#
# usage: ./dev lint [FILE...]
#
# clang-format (nothing may change), clang-tidy with .clang-tidy over the given sources (default: all; a result is cached by
# the content of the source, the headers it includes and the configuration), shellcheck over the scripts.

dev_lint() {
  . "$dev_tools/commands/build.sh"
  dev_build dev
  in_root "build lint" python3 tools/lint.py --jobs "$(build_jobs)" "$@"
}
