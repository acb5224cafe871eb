# shellcheck shell=bash
# Regenerate what follows from the chart: k8s/, its README
#
# usage: ./dev chart [--check]
#
# Writes k8s/*.yaml (the chart rendered with tools/dev/chart/k8s-values.yaml), the table of values in helm/outrigger/README.md
# and the chart's copy of dashboards/. With --check it changes nothing and names what is out of date (exit status 1).

dev_chart() {
  [ $# -eq 0 ] || [ "$*" = --check ] || usage_error "chart: unknown option $*" "./dev chart --help"
  # shellcheck disable=SC2016
  in_root "build k8s" bash -c 'helm=$(bash tools/dev/cluster/binaries.sh helm3) && exec python3 tools/dev/chart/generate.py "$helm" "$@"' sh "$@"
}
