"""Where a cluster keeps its files, and the addresses it uses: all of them are inside its own network namespace, so fixed
numbers collide with nothing on the machine and two clusters can run side by side."""

import os
import re
from pathlib import Path

NODE_NAME = "outrigger"
NODE_ADDRESS = "10.89.77.1"
POD_RANGE = "10.244.0.0/16"
NODE_POD_RANGE = "10.244.0.0/24"
SERVICE_RANGE = "10.96.0.0/16"
KUBERNETES_SERVICE_ADDRESS = "10.96.0.1"
CLUSTER_DOMAIN = "cluster.local"
API_SERVER = f"https://{NODE_ADDRESS}:6443"
ETCD = "http://127.0.0.1:2379"
PAUSE_IMAGE = "docker.io/library/pause:1"

KUBERNETES_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")


def cache() -> Path:
    if path := os.environ.get("OUTRIGGER_CACHE"):
        return Path(path)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "outrigger"


class Layout:
    """The files of one cluster; everything is under one folder that `stop` removes."""

    def __init__(self, name: str):
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", name):
            raise SystemExit(f"error: cluster name {name!r}: use up to 20 lower-case letters, digits and dashes, a letter first")
        self.name = name
        self.folder = cache() / "cluster" / name
        self.lock = cache() / "cluster" / f".{name}.lock"
        self.state = self.folder / "state.json"        # who holds the namespaces; written before anything runs in them
        self.progress = self.folder / "progress.jsonl"  # what the node has reached, a JSON object a line
        self.daemons = self.folder / "daemons.json"     # name -> pid inside, or how it ended
        self.logs = self.folder / "logs"
        self.pki = self.folder / "pki"
        self.conf = self.folder / "conf"
        self.bin = self.folder / "bin"
        self.cgroup = f"outrigger-{name}"
        self.containerd_socket = self.folder / "containerd.sock"

    def kubeconfig(self, user: str = "admin") -> Path:
        return self.folder / f"{user}.kubeconfig"
