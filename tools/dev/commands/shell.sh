# shellcheck shell=bash
# A shell, or one command, where the project is built
#
# usage: ./dev shell [--groups "GROUP..."] [COMMAND...]
#
# Without COMMAND an interactive bash in /src. GROUPS are names in tools/dev/packages (default: build).

dev_shell() {
  local groups=build
  [ "${1:-}" != --groups ] || { groups=${2:?--groups needs a value}; shift 2; }
  [ "${1:-}" != -- ] || shift
  [ $# -gt 0 ] || set -- bash -i
  in_root "$groups" "$@"
}
