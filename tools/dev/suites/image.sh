# shellcheck shell=bash
# The container image: built, looked into, run read-only and without rights.
. "$dev_tools/commands/image.sh"
run_suite() {
  local version
  version=$(project_version)
  dev_image || return 1
  in_root "build image" env PYTHONDONTWRITEBYTECODE=1 python3 tests/k8s/image.py "build/image/outrigger-$version.tar" "$version"
}
