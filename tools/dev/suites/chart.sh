# shellcheck shell=bash
# The Helm chart without a cluster.
run_suite() {
  # shellcheck disable=SC2016
  in_root "build k8s" bash -c '
    mapfile -t programs < <(bash tools/dev/cluster/binaries.sh helm3 helm4 kubeconform swagger) && [ "${#programs[@]}" -eq 4 ] || exit 1
    schemas=${programs[3]%.json}-schemas
    python3 tools/dev/cluster/schemas.py "${programs[3]}" "$schemas" && PYTHONDONTWRITEBYTECODE=1 python3 tests/k8s/chart.py "${programs[@]:0:3}" "$schemas"'
}
