# shellcheck shell=bash
# The Debian 13 that everything is built and tested on: the host itself where it is one and has the
# packages, else a private root under the cache folder, entered in a mount namespace of its own.
#
#   in_root GROUPS COMMAND...        runs COMMAND with the package groups present; everything it started ends with it
#   in_root_detached GROUPS COMMAND  the same, but daemons that COMMAND leaves behind live on (Kafka, the cluster)
#
# Every mount belongs to the namespace, so it vanishes with the last process, however that ends.

root_base=$dev_cache/root
root_lock=$dev_cache/root.lock

# Debian 13 with every package of the groups installed: the host serves as it is.
host_serves() {
  [ "${OUTRIGGER_ROOT:-auto}" != private ] || return 1
  [ -z "${OUTRIGGER_INSIDE:-}" ] || return 0
  (. /etc/os-release 2>/dev/null && [ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 13 ]) || return 1
  local p
  for p in $(packages "$@"); do
    dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || return 1
  done
}

# The mirror that the host itself uses for Debian; empty: mmdebstrap's own default.
host_mirror() {
  local wanted=$1
  { sed -n 's/^URIs:[[:space:]]*//p' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null
    sed -n 's/^deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?\([^[:space:]]\+\).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null
  } | tr ' ' '\n' | sed 's|/*$||' | grep -E "/$wanted\$" | head -n 1 || true
}

apt_sources() {
  local main security
  main=$(host_mirror debian); security=$(host_mirror debian-security)
  [ -n "$main" ] || return 0
  echo "deb $main trixie main"
  echo "deb $main trixie-updates main"
  [ -z "$security" ] || echo "deb $security trixie-security main"
}

# mmdebstrap from the host, or unpacked from its package into a temporary folder: nothing is installed.
find_mmdebstrap() {
  if command -v mmdebstrap >/dev/null; then command -v mmdebstrap; return; fi
  command -v apt-get >/dev/null || die "this host has neither mmdebstrap nor apt-get, so it cannot make a Debian root" \
    "install mmdebstrap, or build in a container: docker build --target dev -t outrigger-dev . && docker run --rm -v \"\$PWD\":/src -w /src outrigger-dev ./dev test"
  local dir=$1
  mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
  local opts=(-o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" -o Debug::NoLocking=1 -qq)
  (cd "$dir" && apt-get "${opts[@]}" update && apt-get "${opts[@]}" download mmdebstrap) >"$dir/apt.log" 2>&1 || {
    tail -n 5 "$dir/apt.log" >&2
    die "could not fetch the mmdebstrap package from the host's mirror" "check the network and the host's apt sources, then run the command again"
  }
  dpkg-deb -x "$dir"/mmdebstrap_*.deb "$dir/mmdebstrap"
  echo "$dir/mmdebstrap/usr/bin/mmdebstrap"
}

# Root rights, or user namespaces with subordinate ids: probed, not assumed.
probe_rights() {
  [ "$(id -u)" -ne 0 ] || { root_mode=root; return; }
  if unshare --user --map-auto --map-root-user --mount --pid --fork true 2>/dev/null; then root_mode=unshare; return; fi
  die "neither root nor usable user namespaces: a private Debian root cannot be made here" \
    "run as root, or let an administrator enable user namespaces and add subordinate ids (usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un 2>/dev/null || id -u)), or use: docker|podman build --target dev"
}

# Keeps the last lines of a long log visible and the rest in a file.
with_progress() {  # WHAT LOG COMMAND...
  local what=$1 log=$2; shift 2
  say "$what (log: $log)"
  local status=0
  if [ -t 2 ]; then
    "$@" 2>&1 | tee -a "$log" | awk '{ printf "\r\033[K    %s", substr($0, 1, 100) > "/dev/stderr" } END { printf "\r\033[K" > "/dev/stderr" }' || status=$?
  else
    "$@" >>"$log" 2>&1 & local pid=$! waited=0
    while kill -0 "$pid" 2>/dev/null; do
      sleep 1; waited=$((waited + 1))
      [ $((waited % 30)) -ne 0 ] || printf '    %s s: %s\n' "$waited" "$(tail -n 1 "$log" | cut -c1-100)" >&2
    done
    wait "$pid" || status=$?
  fi
  [ "$status" -eq 0 ] || { tail -n 15 "$log" >&2; die "$what failed" "the whole log is in $log; run the command again to resume"; }
}

make_base_root() {
  local work mm variant=(--variant=minbase)
  need_free_mib "$dev_cache" 6000 "a Debian 13 root"
  find "$dev_cache" -maxdepth 1 -name 'root.new.*' -exec rm -rf --one-file-system {} + 2>/dev/null || true
  work=$(mktemp -d "$dev_cache/root.new.XXXXXX")
  mm=$(find_mmdebstrap "$work") || exit 1
  apt_sources >"$work/sources.list"
  local include; include=$(packages build | paste -sd,)
  : >"$dev_cache/root.log"
  local keyring=(); [ ! -d /usr/share/keyrings ] || keyring=(--keyring=/usr/share/keyrings)
  local sources=(); [ ! -s "$work/sources.list" ] || sources=("$work/sources.list")
  with_progress "making a private Debian 13 root: once, about two minutes" "$dev_cache/root.log" \
    "$mm" "--mode=$root_mode" "${variant[@]}" "${keyring[@]}" "--include=$include" --aptopt='APT::Install-Recommends "false"' \
    trixie "$work/root" "${sources[@]}"
  echo build >"$work/root/.outrigger-groups"
  mv "$work/root" "$root_base"
  rm -rf "$work"
}

has_group() { grep -qx "$1" "$root_base/.outrigger-groups" 2>/dev/null; }

# The groups' package lists as they were installed; a changed list is installed anew.
group_stamp() { echo "$1 $(packages "$1" | sha256sum | cut -c1-16)"; }

ensure_root() {
  local g missing=()
  probe_rights
  mkdir -p "$dev_cache"
  exec 8>"$root_lock"
  flock -n 8 || { say "waiting for another ./dev that is preparing the Debian root"; flock -w 1800 8 || die "waited 30 minutes for $root_lock" "see what holds it: fuser $root_lock"; }
  [ -d "$root_base" ] || make_base_root
  for g in "$@"; do grep -qxF "$(group_stamp "$g")" "$root_base/.outrigger-stamps" 2>/dev/null || missing+=("$g"); done
  if [ "${#missing[@]}" -gt 0 ]; then
    if [ "${missing[*]}" != build ] || [ -e "$root_base/.outrigger-stamps" ]; then
      need_free_mib "$dev_cache" 3000 "installing the package groups ${missing[*]}"
      # shellcheck disable=SC2046
      with_progress "installing package groups into the private root: ${missing[*]}" "$dev_cache/root.log" \
        enter_root "" /usr/bin/env DEBIAN_FRONTEND=noninteractive sh -c '
          printf "#!/bin/sh\nexit 101\n" >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
          dpkg --configure -a && apt-get -qy update && apt-get -qy -f install && apt-get -qy --no-install-recommends install "$@" && apt-get -q clean' \
        sh $(packages "${missing[@]}")
    fi
    for g in "${missing[@]}"; do
      sed -i "/^$g /d" "$root_base/.outrigger-stamps" 2>/dev/null || true
      group_stamp "$g" >>"$root_base/.outrigger-stamps"
    done
  fi
  flock -u 8; exec 8>&-
}

# enter_root PIDNS COMMAND...: a mount namespace with the root bound onto itself; PIDNS=pid adds a process
# namespace that ends with its first process, so that Ctrl-C and failures leave nothing running.
enter_root() {
  local kind=$1; shift
  local flags=(--mount --propagation private)
  [ "${root_mode:-root}" = root ] || flags+=(--user --map-auto --map-root-user)
  [ "$kind" != pid ] || flags+=(--pid --fork --kill-child=KILL)
  # pdeathsig: when this shell is killed, unshare goes too, and --kill-child takes the rest.
  setpriv --pdeathsig=KILL unshare "${flags[@]}" "$BASH" "$dev_tools/enter.sh" "$kind" "$root_base" "$dev_repo" "$dev_cache" "$@"
}

in_root() { run_in_root pid "$@"; }
in_root_detached() { run_in_root keep "$@"; }

run_in_root() {
  local kind=$1 groups=$2; shift 2
  # shellcheck disable=SC2086
  if host_serves $groups; then "$@"; return; fi
  # shellcheck disable=SC2086
  ensure_root $groups
  enter_root "$kind" "$@"
}
