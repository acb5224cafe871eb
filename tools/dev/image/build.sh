#!/usr/bin/env bash
# build.sh TAG VERSION REVISION JOBS: builds the runtime image from the Dockerfile without a registry and writes an OCI archive.
# Runs where the groups build and image are, from the top of the project; ./dev image calls it.
set -euo pipefail
tag=$1 version=$2 revision=$3 jobs=$4
cache=${OUTRIGGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/outrigger}
base=localhost/debian:trixie-slim
archive=build/image/outrigger-$version.tar
[ "$(id -u)" -eq 0 ] || { echo "error: ./dev image needs root; docker or podman can build the Dockerfile without" >&2; exit 1; }

mkdir -p "$cache/containers" build/image
exec 7>"$cache/containers/.lock"
flock -n 7 || { echo "==> waiting for another image build" >&2; flock -w 3600 7 || { echo "error: $cache/containers/.lock is held for an hour" >&2; exit 1; }; }

# Storage and settings of our own: nothing of the machine's containers is seen or changed.
export BUILDAH_ISOLATION=chroot CONTAINERS_STORAGE_CONF=$cache/containers/storage.conf CONTAINERS_REGISTRIES_CONF=$cache/containers/registries.conf
work=$(mktemp -d "$cache/containers/.work.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
export TMPDIR=$work
driver() {
  mkdir -p "$work/probe"/{l,u,w,m}
  if mount -t overlay -o "lowerdir=$work/probe/l,upperdir=$work/probe/u,workdir=$work/probe/w" overlay "$work/probe/m" 2>/dev/null; then
    umount "$work/probe/m"; echo overlay
  else echo vfs; fi
}
[ -s "$CONTAINERS_STORAGE_CONF" ] || printf '[storage]\ndriver = "%s"\ngraphroot = "%s/containers/storage"\nrunroot = "/run/containers/storage"\n' \
  "$(driver)" "$cache" >"$CONTAINERS_STORAGE_CONF"
printf 'unqualified-search-registries = ["localhost"]\nshort-name-mode = "permissive"\n' >"$CONTAINERS_REGISTRIES_CONF"
policy=$work/policy.json
printf '{"default": [{"type": "insecureAcceptAnything"}]}\n' >"$policy"

# The base image, with the apt sources of this root: build stages install from them, the runtime stage starts from scratch.
if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
  echo "==> making the base image $base: once" >&2
  mapfile -t sources < <(cat /etc/apt/sources.list 2>/dev/null)
  printf '%s\n' "${sources[@]}" >"$work/sources.list"
  given=(); ! grep -q '^deb ' "$work/sources.list" || given=("$work/sources.list")
  mmdebstrap --variant=minbase --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --quiet trixie "$work/base.tar" "${given[@]}" >&2
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$work/base.tar" / >/dev/null
  buildah config --cmd bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  buildah commit --quiet --signature-policy "$policy" --rm "$container" "$base" >/dev/null
  rm "$work/base.tar"
fi

# buildah raises the limits of a build step to its own defaults, which needs a right that we may lack: keep the ones we have.
limit() { local n; n=$(ulimit -H "$1"); [ "$n" != unlimited ] || n=-1; echo "$2=$n:$n"; }

build() {
  buildah build --signature-policy "$policy" --pull=never --layers --format oci --timestamp 0 \
    --ulimit "$(limit -n nofile)" --ulimit "$(limit -u nproc)" --volume "$cache/ccache:/ccache" "$@" . >&2
}
mkdir -p "$cache/ccache"
# Stages that were built before are of no use after a change; a few dozen are kept, and the toolchain by its name.
[ "$(buildah images --all --quiet | wc -l)" -lt 80 ] || buildah rmi --prune >/dev/null 2>&1 || true
echo "==> building $tag" >&2
build --target toolchain -t localhost/outrigger-toolchain:latest
build --build-arg "JOBS=$jobs" --build-arg "VERSION=$version" --build-arg "REVISION=$revision" -t "localhost/$tag"

# The name in the archive is what `kubelet` asks for; containerd reads it from this annotation.
rm -f "$archive.new"
buildah push --quiet --signature-policy "$policy" "localhost/$tag" "oci-archive:$archive.new:docker.io/library/$tag" >&2
mv "$archive.new" "$archive"
