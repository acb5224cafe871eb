#!/usr/bin/env bash
# rootfs.sh PREFIX OUT: gathers the file system of the runtime image in OUT: what was installed under PREFIX and the shared
# libraries that it loads, certificate authorities, `sleep` (for preStop hooks), users, licences and, so that vulnerability
# scanners know what is in there, the dpkg records of the packages. Runs in the build stage of the Dockerfile.
set -euo pipefail
prefix=$1 out=$2
[ ! -e "$out" ] || { echo "error: $out exists" >&2; exit 1; }
mkdir -p "$out"

programs=()
for f in "$prefix"/bin/*; do [ ! -x "$f" ] || [ ! -f "$f" ] || programs+=("$f"); done
[ "${#programs[@]}" -gt 0 ] || { echo "error: no program is installed in $prefix/bin" >&2; exit 1; }
extra=(/usr/bin/sleep)

# name => path lines, and the loader itself, which has no arrow.
libraries() { ldd "$@" | sed -n 's/^.* => \(\/[^ ]*\) (.*$/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*$/\1/p' | sort -u; }
mapfile -t libs < <(libraries "${programs[@]}" "${extra[@]}")
! ldd "${programs[@]}" | grep 'not found' >&2 || { echo "error: a program lacks a library" >&2; exit 1; }

# Debian's merged /usr: the loader is named by its old path.
mkdir -p "$out/usr/bin" "$out/usr/lib" "$out/usr/sbin"
for d in bin sbin lib lib64; do [ ! -L "/$d" ] || { ln -s "$(readlink "/$d")" "$out/$d"; mkdir -p "$out/$(readlink "/$d")"; }; done

packages=()
copy() {  # a file by its path, through symbolic links, each under its own name
  local path=$1 target package
  target=$(readlink -f "$path")
  mkdir -p "$out/$(dirname "$target")"
  cp -p "$target" "$out$target"
  [ "$path" = "$target" ] || [ -e "$out$path" ] || { mkdir -p "$out$(dirname "$path")"; ln -s "$target" "$out$path"; }
  package=$(dpkg-query -S "$target" 2>/dev/null || dpkg-query -S "${target#/usr}" 2>/dev/null) || return 0
  packages+=("${package%%:*}")
}
for f in "${libs[@]}" "${extra[@]}" /etc/ssl/certs/ca-certificates.crt /etc/ssl/openssl.cnf; do copy "$f"; done
packages+=(ca-certificates)
mkdir -p "$out/usr/lib/ssl"
ln -s /etc/ssl/certs "$out/usr/lib/ssl/certs"
ln -s /etc/ssl/openssl.cnf "$out/usr/lib/ssl/openssl.cnf"

mkdir -p "$out$prefix"
cp -a "$prefix/bin" "$out$prefix/"
[ ! -d "$prefix/share/outrigger" ] || { mkdir -p "$out$prefix/share"; cp -a "$prefix/share/outrigger" "$out$prefix/share/"; }
mkdir -p "$out/usr/share/doc/outrigger"
cp LICENSE "$out/usr/share/doc/outrigger/copyright"

mkdir -p "$out/var/lib/dpkg/status.d"
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
for p in "${packages[@]}"; do
  dpkg-query -s "$p" 2>/dev/null | sed '/^Conffiles:/,/^[^ ]/{/^Conffiles:/d;/^ /d}' >"$out/var/lib/dpkg/status.d/$p"
  for doc in /usr/share/doc/$p/copyright; do
    [ ! -e "$doc" ] || { mkdir -p "$out/usr/share/doc/$p"; cp -L "$doc" "$out$doc"; }
  done
done
cp /etc/os-release "$out/usr/lib/os-release"; mkdir -p "$out/etc"; ln -s ../usr/lib/os-release "$out/etc/os-release"

printf 'root:x:0:0:root:/root:/usr/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/usr/sbin/nologin\n' >"$out/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$out/etc/group"
printf 'hosts: files dns\n' >"$out/etc/nsswitch.conf"
install -d -m 1777 "$out/tmp"
# Mount points of what the programs write: state and the admin socket. Group 0 may write too, for platforms that choose the uid.
install -d -o 65532 -g 0 -m 0775 "$out/var/lib/outrigger" "$out/run/outrigger"
