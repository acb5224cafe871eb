# shellcheck shell=bash
# Build the container image: image [--tag NAME:TAG]
#
# usage: ./dev image [--tag NAME:TAG]
#
# Builds the Dockerfile with buildah, without a registry and without a container daemon, and writes an OCI archive to
# build/image/outrigger-VERSION.tar. The default tag is outrigger:VERSION. Its path is printed last:
#
#   ./dev cluster load-image build/image/outrigger-VERSION.tar      onto the node of ./dev cluster
#   skopeo copy oci-archive:FILE docker://REGISTRY/outrigger:VERSION      to a registry
#   podman load -i FILE                                                   into podman; docker needs skopeo's docker-archive
#
# Base image, build layers and compiler results are kept in the cache folder, so a second build compiles what changed.
# It needs root. docker build . and podman build . build the same image.

project_version() { sed -n 's/^project(outrigger VERSION \([0-9.]*\).*/\1/p' "$dev_repo/CMakeLists.txt"; }

dev_image() {
  local version tag revision
  version=$(project_version)
  tag=outrigger:$version
  while [ $# -gt 0 ]; do
    case $1 in
      --tag) tag=${2:?--tag needs a value}; shift 2 ;;
      *) usage_error "image: unknown option $1" "./dev image --help" ;;
    esac
  done
  [[ $tag =~ ^[a-z0-9][a-z0-9._/-]*:[A-Za-z0-9_][A-Za-z0-9._-]*$ ]] || usage_error "image: $tag is not NAME:TAG" "for example --tag outrigger:$version"
  need_free_mib "$dev_cache" 6000 "building the image"
  revision=$(git -C "$dev_repo" rev-parse HEAD 2>/dev/null || echo unknown)
  : >"$dev_cache/image.log"
  with_progress "building $tag: minutes the first time, then what changed" "$dev_cache/image.log" in_root "build image" bash tools/dev/image/build.sh "$tag" "$version" "$revision" "$(build_jobs)"
  echo "build/image/outrigger-$version.tar"
}
