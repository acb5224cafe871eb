"""Writes what the cluster's programs read: certificates, tokens, kubeconfigs and their configuration files."""

import json
import secrets
import shutil
import subprocess
from pathlib import Path

import layout
from layout import Layout

USERS = {  # kubeconfig -> (user, groups)
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "kubelet": (f"system:node:{layout.NODE_NAME}", "system:nodes"),
    "proxy": ("system:kube-proxy", ""),
}


def openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr.strip()}")


def certificates(pki: Path) -> None:
    """A certificate authority for this cluster's life, the API server's certificate, and the one it shows to the kubelet."""
    pki.mkdir(parents=True)
    openssl("genrsa", "-out", f"{pki}/service-account.key", "2048")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-days", "30", "-subj", "/CN=outrigger-test-cluster", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout", f"{pki}/ca.key", "-out", f"{pki}/ca.crt")
    names = [f"IP:{layout.NODE_ADDRESS}", f"IP:{layout.KUBERNETES_SERVICE_ADDRESS}", "IP:127.0.0.1", "DNS:kubernetes", "DNS:kubernetes.default",
             "DNS:kubernetes.default.svc", f"DNS:kubernetes.default.svc.{layout.CLUSTER_DOMAIN}"]
    for name, subject, extensions in (
            ("apiserver", "/CN=kube-apiserver", ["-addext", f"subjectAltName={','.join(names)}", "-addext", "extendedKeyUsage=serverAuth"]),
            ("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client", ["-addext", "extendedKeyUsage=clientAuth"])):
        openssl("req", "-x509", *key, "-days", "30", "-subj", subject, "-CA", f"{pki}/ca.crt", "-CAkey", f"{pki}/ca.key",
                "-addext", "basicConstraints=critical,CA:FALSE", *extensions, "-keyout", f"{pki}/{name}.key", "-out", f"{pki}/{name}.crt")


def write(path: Path, text: str, mode: int = 0o600) -> None:
    path.touch(mode=mode)
    path.write_text(text)


def users(cluster: Layout) -> dict[str, str]:
    """Token file and kubeconfigs; returns each user's token."""
    tokens = {name: secrets.token_hex(16) for name in USERS}
    write(cluster.conf / "tokens.csv", "".join(f'{tokens[n]},{user},{user},"{groups}"\n' for n, (user, groups) in USERS.items()))
    for name, token in tokens.items():
        write(cluster.kubeconfig(name), json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": cluster.name,
            "clusters": [{"name": cluster.name, "cluster": {"server": layout.API_SERVER, "certificate-authority": f"{cluster.pki}/ca.crt"}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": cluster.name, "context": {"cluster": cluster.name, "user": name}}]}))
    return tokens


def containerd(cluster: Layout, snapshotter: str) -> None:
    write(cluster.conf / "containerd.toml", f"""version = 2
root = "{cluster.folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{cluster.containerd_socket}"
[ttrpc]
  address = "{cluster.containerd_socket}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{layout.PAUSE_IMAGE}"
  # Lowering a score needs CAP_SYS_RESOURCE, which a container that builds this may not have.
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  enable_unprivileged_ports = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cluster.conf}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{shutil.which('runc')}"
        SystemdCgroup = false
""")
    # A routed veth pair for each Pod, no bridge: Pod to Service to Pod traffic is then always routed, so that the rules of
    # kube-proxy see it without the br_netfilter module, which would have to be loaded into the machine's kernel.
    (cluster.conf / "cni").mkdir()
    write(cluster.conf / "cni" / "10-pods.conflist", json.dumps({
        "cniVersion": "0.4.0", "name": "pods", "plugins": [{
            "type": "ptp", "ipMasq": False, "ipam": {
                "type": "host-local", "dataDir": "/run/cni-addresses", "ranges": [[{"subnet": layout.NODE_POD_RANGE}]],
                "routes": [{"dst": "0.0.0.0/0"}]}}]}))


def kubelet(cluster: Layout) -> None:
    write(cluster.conf / "kubelet.yaml", json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "failCgroupV1": False, "failSwapOn": False, "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cluster.cgroup}",
        "containerRuntimeEndpoint": f"unix://{cluster.containerd_socket}",
        "address": layout.NODE_ADDRESS, "readOnlyPort": 0, "makeIPTablesUtilChains": False,
        "clusterDomain": layout.CLUSTER_DOMAIN, "clusterDNS": [layout.NODE_ADDRESS], "resolvConf": "",
        "podLogsDir": "/var/log/pods", "staticPodPath": "", "volumePluginDir": f"{cluster.folder}/kubelet-plugins",
        # The disk belongs to whoever runs this: only a nearly full one evicts Pods.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100, "oomScoreAdj": 0, "registerNode": True,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": f"{cluster.pki}/ca.crt"}},
        "authorization": {"mode": "AlwaysAllow"}}))


def coredns(cluster: Layout) -> None:
    write(cluster.conf / "Corefile", f""".:53 {{
  bind {layout.NODE_ADDRESS}
  errors
  ready {layout.NODE_ADDRESS}:8181
  kubernetes {layout.CLUSTER_DOMAIN} in-addr.arpa {{
    kubeconfig {cluster.kubeconfig()} {cluster.name}
  }}
}}
""")


def write_all(cluster: Layout, snapshotter: str) -> dict[str, str]:
    cluster.conf.mkdir()
    certificates(cluster.pki)
    containerd(cluster, snapshotter)
    kubelet(cluster)
    coredns(cluster)
    return users(cluster)
