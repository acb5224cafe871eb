# shellcheck shell=bash disable=SC2034
# The versions that the cluster and its clients are made of. 1.34 is the last line whose kubelet takes cgroup v1 unasked.
kubernetes_version=v1.34.4
coredns_version=v1.15.0
helm3_version=v3.22.0
helm4_version=v4.3.1
kubeconform_version=v0.8.0
