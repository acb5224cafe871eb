# shellcheck shell=bash
# Configure and build: build [PRESET] [TARGET...]
#
# usage: ./dev build [PRESET] [TARGET...]
#
# PRESET is one of the names in CMakePresets.json: dev (default), release, asan-ubsan, tsan, fuzz.
# TARGET is a CMake target such as unit_lib_http; without one, everything is built.
# Output goes to build/PRESET. Compilers go through ccache; a second build of an unchanged tree does nothing.

build_groups() { case $1 in fuzz) echo build fuzz ;; *) echo build ;; esac; }

dev_build() {
  local preset=${1:-dev}
  [ $# -eq 0 ] || shift
  grep -q "\"name\": \"$preset\"" "$dev_repo/CMakePresets.json" || usage_error "unknown preset: $preset" "the presets are in CMakePresets.json: dev release asan-ubsan tsan fuzz"
  in_root "$(build_groups "$preset")" bash tools/dev/build_inside.sh "$preset" "$(build_jobs)" "$@"
}
