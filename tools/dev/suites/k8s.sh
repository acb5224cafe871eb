# shellcheck shell=bash
# The image and the chart in a real one-node cluster, with Helm 3 and Helm 4.
. "$dev_tools/commands/image.sh"
run_suite() {
  local version
  version=$(project_version)
  dev_image || return 1
  in_root_detached "build k8s" env PYTHONDONTWRITEBYTECODE=1 python3 tests/k8s/k8s.py "build/image/outrigger-$version.tar"
}
