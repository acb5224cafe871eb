# shellcheck shell=bash
# What every part of ./dev shares: messages, paths, cache folders, cleanup. Sourced, never run.

dev_cache=${XDG_CACHE_HOME:-$HOME/.cache}/outrigger
dev_tools=$dev_repo/tools/dev

if [ -t 2 ]; then dev_bold=$'\e[1m' dev_red=$'\e[31m' dev_off=$'\e[0m'; else dev_bold='' dev_red='' dev_off=''; fi

say() { printf '%s==>%s %s\n' "$dev_bold" "$dev_off" "$*" >&2; }
warn() { printf '%swarning:%s %s\n' "$dev_bold" "$dev_off" "$*" >&2; }

# die MESSAGE [REMEDY]: says what went wrong and what to do about it.
die() {
  printf '%serror:%s %s\n' "$dev_red" "$dev_off" "$1" >&2
  [ -z "${2:-}" ] || printf '       %s\n' "$2" >&2
  exit 1
}

usage_error() { printf '%serror:%s %s\n' "$dev_red" "$dev_off" "$1" >&2; printf '       %s\n' "${2:-./dev --help lists the commands}" >&2; exit 2; }

# need_free_mib DIR MIB WHAT: refuses early instead of failing half-way with "no space left".
need_free_mib() {
  local dir=$1 free
  while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
  free=$(df -Pm "$dir" | awk 'NR==2{print $4}')
  [ "$free" -ge "$2" ] || die "$3 needs $2 MiB, but the file system of $1 has $free MiB free" \
    "free some space, or set XDG_CACHE_HOME to a folder on a larger disk"
}

# packages GROUP...: the package names of the groups, comments removed.
packages() {
  local g
  for g in "$@"; do
    [ -f "$dev_tools/packages/$g.txt" ] || die "unknown package group: $g"
    sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$dev_tools/packages/$g.txt"
  done | sort -u
}

# How many compilers at once: one a core, and not more than memory allows (about 2 GiB each at the worst).
build_jobs() {
  local cores mem
  cores=$(nproc); mem=$(awk '/MemAvailable/{print int($2/2097152)}' /proc/meminfo)
  [ "$mem" -ge 1 ] || mem=1
  echo "${OUTRIGGER_JOBS:-$((cores < mem ? cores : mem))}"
}
