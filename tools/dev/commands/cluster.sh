# shellcheck shell=bash
# A real one-node Kubernetes: cluster start|stop|status|kubectl|helm|helm4|load-image|shell
#
# usage: ./dev cluster [--name NAME] ACTION [ARGS...]
#
#   start                starts it, or says that it runs: etcd, control plane, containerd, kubelet, kube-proxy, CoreDNS
#   stop                 ends it and removes everything of it, also after a failed start or a restart of the machine
#   status               exit status 0: ready, 1: starting or degraded, 3: not running
#   kubectl ARGS...      kubectl as its administrator
#   helm ARGS...         Helm 3; `helm4 ARGS...` is Helm 4
#   load-image TAR       puts an image archive (docker or OCI) on the node, see ./dev image
#   shell [-- CMD...]    a shell in the cluster's network, with kubectl, helm and helm4
#
# The cluster lives in mount, network and process namespaces of its own, with its files under the cache folder, so any number
# of them can run and nothing on the machine changes. It needs root. The first start builds the Kubernetes programs from the
# Go module proxy (about ten minutes on two cores); later ones take tens of seconds.

cluster_program() { in_root_detached "build k8s" python3 tools/dev/cluster/cluster.py "$@"; }

dev_cluster() {
  local name=default action tar
  [ "${1:-}" != --name ] || { name=${2:?--name needs a value}; shift 2; }
  [ $# -gt 0 ] || usage_error "cluster: what shall it do?" "./dev cluster --help"
  action=$1; shift
  case $action in
    start | stop | status)
      [ $# -eq 0 ] || usage_error "cluster $action takes no arguments: $*"
      cluster_program "$name" "$action" ;;
    kubectl | helm | helm4) cluster_program "$name" run "$action" "$@" ;;
    load-image)
      [ $# -eq 1 ] || usage_error "cluster load-image takes one archive" "./dev image writes one to build/image"
      tar=$1
      [ -r "$tar" ] || die "cannot read $tar" "./dev image writes an archive to build/image"
      cluster_program "$name" load-image <"$tar" ;;
    shell)
      [ "${1:-}" != -- ] || shift
      [ $# -gt 0 ] || set -- -i
      if [ "$1" = -i ]; then cluster_program "$name" run bash -i; else cluster_program "$name" run bash -c 'exec "$@"' sh "$@"; fi ;;
    *) usage_error "cluster: unknown action $action" "./dev cluster --help" ;;
  esac
}
