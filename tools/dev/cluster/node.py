"""The first process of a cluster's namespaces (mount, network, process): sets them up, starts the control plane and the node,
and stays. When it ends, the kernel ends everything else in there, and every mount and network interface goes with it.

Started by cluster.py, never by hand: node.py NAME
"""

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import config  # noqa: E402
import layout  # noqa: E402
from layout import Layout  # noqa: E402

# What kubelet wants of the kernel, machine-wide. It writes only what differs, so it gets to see these values and the machine
# keeps its own.
KUBELET_SYSCTLS = {
    "vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}


class Failure(Exception):
    """What went wrong and, where a daemon is to blame, whose log says more."""

    def __init__(self, message: str, log: str = ""):
        super().__init__(message)
        self.log = log


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()}")


class Node:
    def __init__(self, name: str):
        self.cluster = Layout(name)
        self.daemons: dict[str, subprocess.Popen] = {}
        self.tokens: dict[str, str] = {}
        self.stopping = False

    # -- what others read --------------------------------------------------------------------------------------------

    def report(self, **fields: object) -> None:
        with open(self.cluster.progress, "a") as f:
            f.write(json.dumps(fields) + "\n")

    def publish_daemons(self, ended: dict[str, str]) -> None:
        table = {name: {"pid": daemon.pid, "ended": ended.get(name, "")} for name, daemon in self.daemons.items()}
        new = self.cluster.daemons.with_suffix(".new")
        new.write_text(json.dumps(table))
        new.rename(self.cluster.daemons)

    # -- the namespaces ----------------------------------------------------------------------------------------------

    def mounts(self) -> None:
        run("mount", "--make-rprivate", "/")
        run("mount", "--make-rshared", "/")  # kubelet and containerd hand mounts on to the containers
        run("mount", "-t", "proc", "proc", "/proc")
        for folder in ("/run", "/var/lib/cni", "/var/log/pods", "/var/log/containers"):
            Path(folder).mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
        run("mount", "-t", "tmpfs", "tmpfs", "/var/lib/cni")
        (self.cluster.logs / "pods").mkdir()
        run("mount", "--bind", f"{self.cluster.logs}/pods", "/var/log/pods")
        run("mount", "-t", "tmpfs", "tmpfs", "/var/log/containers")
        for name, value in KUBELET_SYSCTLS.items():
            if Path("/proc/sys", name).exists():
                shown = Path("/run", "sysctl." + name.replace("/", "."))
                shown.write_text(value + "\n")
                run("mount", "--bind", str(shown), f"/proc/sys/{name}")

    def network(self) -> None:
        """A veth pair carries the node's address: kubelet wants one that is not loopback. Nothing leads out of the namespace."""
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "node0", "type", "veth", "peer", "name", "node0-peer")
        run("ip", "address", "add", f"{layout.NODE_ADDRESS}/24", "dev", "node0")
        run("ip", "link", "set", "node0", "up")
        run("ip", "link", "set", "node0-peer", "up")
        run("ip", "route", "add", "default", "dev", "node0")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def cgroups(self) -> None:
        """cgroup v1: one folder a controller, and cpuset starts empty. v2: the controllers are handed down."""
        base = Path("/sys/fs/cgroup")
        if (base / "cgroup.controllers").exists():
            folder = base / self.cluster.cgroup
            folder.mkdir(exist_ok=True)
            for parent in (base, folder):
                for controller in (parent / "cgroup.controllers").read_text().split():
                    try:
                        (parent / "cgroup.subtree_control").write_text(f"+{controller}")
                    except OSError:
                        pass  # kubelet names the controller if it is one that it needs
            return
        for controller in base.iterdir():
            if controller.is_dir() and not controller.is_symlink() and controller.name != "unified":
                folder = controller / self.cluster.cgroup
                folder.mkdir(exist_ok=True)
                for name in ("cpuset.cpus", "cpuset.mems"):
                    if (controller / name).exists():
                        (folder / name).write_text((controller / name).read_text())

    def snapshotter(self) -> str:
        """overlayfs where the cache folder can carry it (not on another overlay), else plain copies."""
        probe = self.cluster.folder / "probe"
        for name in ("lower", "upper", "work", "merged"):
            (probe / name).mkdir(parents=True)
        options = f"lowerdir={probe}/lower,upperdir={probe}/upper,workdir={probe}/work"
        works = subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", f"{probe}/merged"], capture_output=True).returncode == 0
        if works:
            run("umount", f"{probe}/merged")
        shutil.rmtree(probe)
        return "overlayfs" if works else "native"

    # -- daemons -----------------------------------------------------------------------------------------------------

    def start(self, name: str, *command: str) -> None:
        program = self.cluster.bin / name
        log = open(self.cluster.logs / f"{name}.log", "wb")
        self.daemons[name] = subprocess.Popen([str(program) if program.exists() else name, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        self.publish_daemons({})

    def wait(self, what: str, seconds: float, daemon: str, ready) -> None:
        deadline = time.monotonic() + seconds
        reason = ""
        while time.monotonic() < deadline:
            if self.stopping:
                raise Failure("told to stop")
            for name, process in self.daemons.items():
                if process.poll() is not None:
                    raise Failure(f"{name} ended with status {process.returncode} while {what} was awaited", name)
            try:
                if ready():
                    return
            except (OSError, urllib.error.URLError, subprocess.SubprocessError) as error:
                reason = f" ({error})"
            time.sleep(0.1)
        raise Failure(f"{what}: not ready after {seconds:.0f} s{reason}", daemon)

    def get(self, url: str) -> bytes:
        request, context = urllib.request.Request(url), None
        if url.startswith("https:"):
            request.add_header("Authorization", f"Bearer {self.tokens['admin']}")
            context = ssl.create_default_context(cafile=str(self.cluster.pki / "ca.crt"))
        with urllib.request.urlopen(request, timeout=5, context=context) as answer:
            return answer.read()

    def node_is_ready(self) -> bool:
        node = json.loads(self.get(f"{layout.API_SERVER}/api/v1/nodes/{layout.NODE_NAME}"))
        return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))

    def ctr(self, *command: str) -> subprocess.CompletedProcess:
        return subprocess.run(["ctr", "-a", str(self.cluster.containerd_socket), "-n", "k8s.io", *command], capture_output=True, text=True, timeout=60)

    def import_pause(self) -> None:
        done = self.ctr("images", "import", "--snapshotter", self.snapshotter_name, str(self.cluster.folder / "pause.tar"))
        if done.returncode != 0:
            raise Failure(f"importing the pause image: {done.stderr.strip()}", "containerd")

    def start_control_plane(self) -> None:
        pki, conf = self.cluster.pki, self.cluster.conf
        self.start("etcd", "--data-dir", f"{self.cluster.folder}/etcd", "--unsafe-no-fsync", "--log-level", "warn",
                   "--listen-client-urls", layout.ETCD, "--advertise-client-urls", layout.ETCD,
                   "--listen-peer-urls", "http://127.0.0.1:2380", "--initial-advertise-peer-urls", "http://127.0.0.1:2380", "--initial-cluster", "default=http://127.0.0.1:2380")
        self.start("containerd", "--config", f"{conf}/containerd.toml", "--log-level", "info")
        self.wait("etcd", 30, "etcd", lambda: b"true" in self.get(f"{layout.ETCD}/health"))
        self.report(step="etcd")
        self.start("kube-apiserver", "--etcd-servers", layout.ETCD, "--advertise-address", layout.NODE_ADDRESS, "--secure-port", "6443",
                   "--tls-cert-file", f"{pki}/apiserver.crt", "--tls-private-key-file", f"{pki}/apiserver.key", "--client-ca-file", f"{pki}/ca.crt",
                   "--service-cluster-ip-range", layout.SERVICE_RANGE, "--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
                   "--token-auth-file", f"{conf}/tokens.csv", "--allow-privileged", "--service-account-issuer", f"https://kubernetes.default.svc.{layout.CLUSTER_DOMAIN}",
                   "--service-account-key-file", f"{pki}/service-account.key", "--service-account-signing-key-file", f"{pki}/service-account.key",
                   "--kubelet-client-certificate", f"{pki}/kubelet-client.crt", "--kubelet-client-key", f"{pki}/kubelet-client.key",
                   "--kubelet-preferred-address-types", "InternalIP", "--profiling=false")
        self.wait("containerd", 30, "containerd", lambda: self.ctr("version").returncode == 0)
        self.import_pause()
        self.report(step="containerd")
        self.wait("the API server", 120, "kube-apiserver", lambda: self.get(f"{layout.API_SERVER}/readyz") == b"ok")
        self.report(step="API server")
        self.start("kube-controller-manager", "--kubeconfig", str(self.cluster.kubeconfig("controller-manager")), "--bind-address", "127.0.0.1",
                   "--leader-elect=false", "--use-service-account-credentials", "--root-ca-file", f"{pki}/ca.crt",
                   "--service-account-private-key-file", f"{pki}/service-account.key", "--cert-dir", f"{conf}/controller-manager")
        self.start("kube-scheduler", "--kubeconfig", str(self.cluster.kubeconfig("scheduler")), "--bind-address", "127.0.0.1", "--leader-elect=false",
                   "--cert-dir", f"{conf}/scheduler")

    def start_node(self) -> None:
        conf = self.cluster.conf
        self.start("kubelet", "--kubeconfig", str(self.cluster.kubeconfig("kubelet")), "--config", f"{conf}/kubelet.yaml", "--root-dir", f"{self.cluster.folder}/kubelet",
                   "--cert-dir", f"{self.cluster.folder}/kubelet/pki", "--hostname-override", layout.NODE_NAME, "--node-ip", layout.NODE_ADDRESS)
        self.start("kube-proxy", "--kubeconfig", str(self.cluster.kubeconfig("proxy")), "--hostname-override", layout.NODE_NAME, "--proxy-mode", "iptables",
                   "--cluster-cidr", layout.POD_RANGE, "--conntrack-max-per-core", "0", "--conntrack-tcp-timeout-established", "0",
                   "--conntrack-tcp-timeout-close-wait", "0", "--healthz-bind-address", "127.0.0.1:10256", "--metrics-bind-address", "127.0.0.1:10249")
        self.start("coredns", "-conf", f"{conf}/Corefile")
        self.wait("the node", 90, "kubelet", self.node_is_ready)
        self.report(step="node")
        self.wait("kube-proxy", 60, "kube-proxy", lambda: bool(self.get("http://127.0.0.1:10256/healthz")))
        self.wait("CoreDNS", 60, "coredns", lambda: bool(self.get(f"http://{layout.NODE_ADDRESS}:8181/ready")))
        self.wait("the default service account", 60, "kube-controller-manager",
                  lambda: bool(self.get(f"{layout.API_SERVER}/api/v1/namespaces/default/serviceaccounts/default")))
        self.report(step="services and DNS")

    def stay(self) -> None:
        """Buries the dead, of which it is told when a daemon is among them, until it is told to stop."""
        ended = {name: "" for name in self.daemons}
        by_pid = {daemon.pid: name for name, daemon in self.daemons.items()}
        while not self.stopping:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pid, status = 0, 0
            if pid == 0:
                time.sleep(0.2)  # a signal ends it early
            elif pid in by_pid:
                code = os.waitstatus_to_exitcode(status)
                ended[by_pid[pid]] = f"exit status {code}" if code >= 0 else f"signal {-code}"
                self.publish_daemons(ended)

    def main(self) -> int:
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopping", True))
        try:
            self.mounts()
            self.cgroups()
            self.network()
            self.snapshotter_name = self.snapshotter()
            self.tokens = config.write_all(self.cluster, self.snapshotter_name)
            self.report(step="namespaces")
            self.start_control_plane()
            self.start_node()
        except (Failure, OSError, RuntimeError) as error:
            self.report(failed=str(error), log=getattr(error, "log", ""))
            return 1
        self.report(ready=True)
        self.stay()
        return 0


if __name__ == "__main__":
    sys.exit(Node(sys.argv[1]).main())
