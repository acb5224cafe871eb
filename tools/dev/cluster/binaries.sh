#!/usr/bin/env bash
# binaries.sh [NAME...]: builds what the cluster needs that Debian does not have, from the Go module proxy, into
# $OUTRIGGER_CACHE/bin/NAME-VERSION, and prints the paths. Without NAME all of them. Runs where the group k8s is.
# Cold, on two idle cores, the Kubernetes programs take about five minutes and Helm and CoreDNS about as long again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/dev/cluster/versions.sh
. "$here/versions.sh"
bin=${OUTRIGGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/outrigger}/bin

kubernetes_programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy)

# k8s.io/kubernetes replaces its staging modules by folders of its repository, which `go install PACKAGE@VERSION` refuses.
# A wrapper module of our own pins each of them to the release that belongs to the same version (v1.34.4: v0.34.4).
wrapper_module() {
  local go_mod=$1 staging=v0.${kubernetes_version#v1.}
  echo "module outrigger.invalid/kubernetes"
  sed -n '/^go /p;/^godebug /p' "$go_mod"
  echo "require k8s.io/kubernetes $kubernetes_version"
  echo "replace ("
  sed -n 's|^[[:space:]]*\(k8s\.io/[a-z0-9-]*\) => \./staging/.*|\1|p' "$go_mod" | sort -u | sed "s|.*|  & => & $staging|"
  echo ")"
}

version_flags() {
  local minor=${kubernetes_version#v1.} package
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    echo "-X $package.gitVersion=$kubernetes_version -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}" \
      "-X $package.gitTreeState=clean -X $package.gitCommit=unknown -X $package.buildDate=1970-01-01T00:00:00Z"
  done | paste -sd' '
}

build_kubernetes() {  # PROGRAM
  local out=$bin/$1-$kubernetes_version
  if [ ! -x "$out" ]; then
    mkdir -p "$bin"
    exec 6>"$bin/.kubernetes.lock"
    flock -w 3600 6 || { echo "error: $bin/.kubernetes.lock is held for an hour; see what holds it: fuser $bin/.kubernetes.lock" >&2; exit 1; }
    if [ ! -x "$out" ]; then
      echo "==> building $1 $kubernetes_version: once" >&2
      work=$(mktemp -d "$bin/.kubernetes.XXXXXX")
      trap 'rm -rf "$work"' EXIT
      (
        cd "$work"
        export CGO_ENABLED=0 GOFLAGS=-mod=mod
        go mod download -json "k8s.io/kubernetes@$kubernetes_version" >module.json
        wrapper_module "$(sed -n 's/.*"GoMod": "\(.*\)",/\1/p' module.json)" >go.mod
        nice -n 15 go build -trimpath -ldflags "-s -w $(version_flags)" -o program "k8s.io/kubernetes/cmd/$1"
      ) >&2 || { echo "error: building $1 failed; check the network and the Go proxy settings (go env GOPROXY), then run it again" >&2; exit 1; }
      mv "$work/program" "$out"
      rm -rf "$work"
    fi
    flock -u 6
  fi
  echo "$out"
}

# The Kubernetes module's own OpenAPI document: what kubeconform's schemas are made from.
openapi_document() {
  local out=$bin/swagger-$kubernetes_version.json dir
  if [ ! -s "$out" ]; then
    dir=$(go mod download -json "k8s.io/kubernetes@$kubernetes_version" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
    cp "$dir/api/openapi-spec/swagger.json" "$out.new.$$"
    chmod 644 "$out.new.$$"
    mv "$out.new.$$" "$out"
  fi
  echo "$out"
}

# Helm 3 takes an unset Kubernetes version for 1.20, and charts that need a newer one then do not even render.
helm3_flags() {
  local minor=${kubernetes_version#v1.} package flags="-X helm.sh/helm/v3/internal/version.version=$helm3_version"
  for package in chartutil lint/rules; do
    flags+=" -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=${minor%%.*}"
  done
  echo "$flags"
}

build() {
  case $1 in
    kube-* | kubelet) build_kubernetes "$1" ;;
    coredns) bash "$here/../go_tool.sh" coredns "github.com/coredns/coredns@$coredns_version" ;;
    helm3) bash "$here/../go_tool.sh" helm "helm.sh/helm/v3/cmd/helm@$helm3_version" "$(helm3_flags)" ;;
    helm4) bash "$here/../go_tool.sh" helm "helm.sh/helm/v4/cmd/helm@$helm4_version" "-X helm.sh/helm/v4/internal/version.version=$helm4_version" ;;
    kubeconform) bash "$here/../go_tool.sh" kubeconform "github.com/yannh/kubeconform/cmd/kubeconform@$kubeconform_version" ;;
    swagger) openapi_document ;;
    *) echo "error: unknown program: $1; known: ${kubernetes_programs[*]} coredns helm3 helm4 kubeconform swagger" >&2; exit 2 ;;
  esac
}

[ $# -gt 0 ] || set -- swagger kubeconform helm3 "${kubernetes_programs[@]}" coredns helm4
for program in "$@"; do build "$program"; done
