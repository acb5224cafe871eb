# shellcheck shell=bash
# Remove what ./dev made: clean [--build|--root|--all]
#
# usage: ./dev clean [--build|--root|--all]
#
#   --build  the folder build/ of this checkout (default)
#   --root   the private Debian root; refused while something is mounted in it or runs in it
#   --all    both, and every cache (compiler cache, Maven, Go, built binaries, image layers)

dev_clean() {
  case ${1:---build} in
    --build) rm -rf --one-file-system "$dev_repo/build" ;;
    --root) remove_root ;;
    --all) rm -rf --one-file-system "$dev_repo/build"; remove_root
      local d; for d in home m2 go ccache gobuild bin kafka-jars kafka cluster containers; do
        [ ! -d "$dev_cache/$d" ] || { chmod -R u+w "$dev_cache/$d"; rm -rf --one-file-system "${dev_cache:?}/$d"; }
      done ;;
    *) usage_error "clean: unknown option $1" "--build, --root or --all" ;;
  esac
}

# Never removes through a bind mount: each mount namespace that has the root keeps the kernel from unlinking mount points,
# and --one-file-system keeps rm out of what is mounted there.
remove_root() {
  local p
  for p in /proc/[0-9]*; do
    [ "$(readlink "$p/root" 2>/dev/null)" != "$root_base" ] || die "process ${p#/proc/} still runs in the private root" "end it (./dev kafka stop, ./dev cluster stop), then clean again"
  done
  ! grep -q " $root_base" /proc/mounts || die "something is mounted under $root_base" "unmount it first: grep $root_base /proc/mounts"
  rm -rf --one-file-system "$root_base"
}
