#!/usr/bin/env python3
"""cluster.py NAME start|stop|status|run PROGRAM [ARGS...]|load-image: the outside of a cluster: makes its namespaces, knows
whether it lives, takes it away. Runs where the groups build and k8s are, in the machine's process namespace."""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import layout  # noqa: E402
from layout import Layout  # noqa: E402

HERE = Path(__file__).resolve().parent
START_SECONDS = 300
NOT_RUNNING = 3  # what LSB init scripts answer
MS_PRIVATE, MS_REC, MNT_DETACH = 1 << 18, 1 << 14, 2  # <sys/mount.h>


def say(text: str) -> None:
    print(f"==> {text}", file=sys.stderr, flush=True)


def die(message: str, remedy: str = "") -> None:
    print(f"error: {message}", file=sys.stderr)
    if remedy:
        print(f"       {remedy}", file=sys.stderr)
    raise SystemExit(1)


# -- the holder: the process whose namespaces the cluster is ------------------------------------------------------------


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int | None:
    """When the process began, in ticks since boot: with the boot id, it tells the process from a later one of its number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def holder(cluster: Layout) -> int | None:
    try:
        state = json.loads(cluster.state.read_text())
    except (OSError, ValueError):
        return None
    alive = state["boot_id"] == boot_id() and start_ticks(state["pid"]) == state["start_ticks"]
    return state["pid"] if alive else None


def own_root() -> None:
    """Makes the root folder the root of the mount namespace too, where it is only a chroot so far.

    `kubectl exec` needs it: runc enters a container's mount namespace and is then at that namespace's root, which in a chroot
    would be the machine's instead of the container's.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def call(function, *arguments) -> None:
        if function(*arguments) != 0:
            raise OSError(ctypes.get_errno(), function.__name__)

    root = os.open("/", os.O_PATH)
    with open("/proc/self/ns/mnt") as namespace:
        os.setns(namespace.fileno(), os.CLONE_NEWNS)  # back to the namespace's root
    if os.path.samestat(os.stat("/"), os.fstat(root)):
        return
    call(libc.mount, b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    os.fchdir(root)
    call(libc.pivot_root, b".", b".")
    call(libc.umount2, b".", MNT_DETACH)
    os.chdir("/")


def make_holder(cluster: Layout) -> int:
    """Forks the first process of new namespaces. It goes on only when its identity is on disk, so that `stop` always finds it."""
    told_r, told_w = os.pipe()
    go_r, go_w = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            null, log = os.open("/dev/null", os.O_RDONLY), os.open(cluster.logs / "node.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for source, target in ((null, 0), (log, 1), (log, 2)):
                os.dup2(source, target)
            os.unshare(os.CLONE_NEWNS | os.CLONE_NEWNET | os.CLONE_NEWPID | os.CLONE_NEWUTS)
            own_root()
            first = os.fork()
            if first == 0:
                os.close(go_w)
                if os.read(go_r, 1):
                    os.closerange(3, 4096)
                    os.execv(sys.executable, [sys.executable, str(HERE / "node.py"), cluster.name])
                os._exit(1)
            os.write(told_w, str(first).encode())
            os._exit(0)
        except BaseException:  # noqa: BLE001 the forked copy must end here, whatever happens
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(told_w)
    os.close(go_r)
    pid = int(os.read(told_r, 32) or 0)
    os.waitpid(child, 0)
    if not pid:
        tail(cluster.logs / "node.log")
        die("cannot make mount, network and process namespaces", "the cluster needs root, with CAP_SYS_ADMIN and CAP_NET_ADMIN")
    new = cluster.state.with_suffix(".new")
    new.write_text(json.dumps({"pid": pid, "start_ticks": start_ticks(pid), "boot_id": boot_id()}))
    new.rename(cluster.state)
    os.write(go_w, b"g")
    os.close(go_w)
    os.close(told_r)
    return pid


@contextlib.contextmanager
def locked(cluster: Layout):
    cluster.lock.parent.mkdir(parents=True, exist_ok=True)
    with open(cluster.lock, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another start or stop of cluster {cluster.name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# -- start --------------------------------------------------------------------------------------------------------------


def probe() -> None:
    if os.geteuid() != 0 or Path("/proc/self/uid_map").read_text().split()[:3] != ["0", "0", "4294967295"]:
        die("the cluster needs real root: containers, cgroups and network interfaces are made", "run ./dev cluster as root; everything else works without")
    free = os.statvfs(layout.cache())
    if free.f_bavail * free.f_frsize < 3 << 30:
        die(f"the cluster needs 3 GiB, {layout.cache()} has {free.f_bavail * free.f_frsize >> 20} MiB free", "free some space, or set XDG_CACHE_HOME to a folder on a larger disk")
    if not os.access("/sys/fs/cgroup", os.W_OK) or not any(Path("/sys/fs/cgroup").iterdir()):
        die("/sys/fs/cgroup is empty or read-only: kubelet cannot make cgroups", "in a container, run it privileged")
    memory = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemAvailable"))) >> 10
    if memory < 1500:
        die(f"the cluster needs about 1500 MiB of memory, {memory} MiB are available", "stop something first")


def binaries(cluster: Layout) -> None:
    """Links each program, at its cached version, into the cluster's own bin folder."""
    names = [*layout.KUBERNETES_PROGRAMS, "coredns"]
    built = subprocess.run(["bash", str(HERE / "binaries.sh"), *names], stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise SystemExit(built.returncode)
    cluster.bin.mkdir()
    for name, path in zip(names, built.stdout.split()):
        (cluster.bin / name).symlink_to(path)


def pause_image(cluster: Layout) -> None:
    program = cluster.folder / "pause"
    for command in (["gcc", "-static", "-Os", "-s", "-o", str(program), str(HERE / "pause.c")],
                    [sys.executable, str(HERE / "pause_image.py"), str(program), str(cluster.folder / "pause.tar"), layout.PAUSE_IMAGE]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            die(f"making the pause image: {done.stderr.strip()}")


def tail(path: Path, lines: int = 20) -> None:
    with contextlib.suppress(OSError):
        for line in path.read_text(errors="replace").splitlines()[-lines:]:
            print(f"    {line[:300]}", file=sys.stderr)


def is_ready(cluster: Layout) -> bool:
    return cluster.progress.exists() and '"ready"' in cluster.progress.read_text()


def follow(cluster: Layout, pid: int) -> None:
    """Prints what the node reaches until it is ready; ends the attempt when it fails."""
    begin, seen = time.monotonic(), 0
    while time.monotonic() < begin + START_SECONDS:
        lines = cluster.progress.read_text().splitlines() if cluster.progress.exists() else []
        alive = holder(cluster) == pid
        for line in lines[seen:]:
            entry = json.loads(line)
            seen += 1
            if "step" in entry:
                say(f"{time.monotonic() - begin:5.1f} s  {entry['step']}")
            if entry.get("ready"):
                return
            if "failed" in entry:
                if entry["log"]:
                    print(f"last lines of {entry['log']}:", file=sys.stderr)
                    tail(cluster.logs / f"{entry['log']}.log")
                remove(cluster)
                die(f"cluster {cluster.name}: {entry['failed']}")
        if not alive:
            tail(cluster.logs / "node.log")
            remove(cluster)
            die(f"cluster {cluster.name}: its first process ended")
        time.sleep(0.1)
    remove(cluster)
    die(f"cluster {cluster.name}: not ready after {START_SECONDS} s")


def describe(cluster: Layout) -> None:
    print(f"cluster {cluster.name} is ready: one node, {layout.API_SERVER} inside its own network namespace")
    print("  ./dev cluster kubectl get pods -A    ./dev cluster helm list -A    ./dev cluster shell    ./dev cluster stop")


def start(cluster: Layout) -> None:
    with locked(cluster):
        pid = holder(cluster)
        if pid is None:
            probe()
            if cluster.folder.exists():
                say(f"removing what is left of an earlier cluster {cluster.name}")
                remove(cluster)
            cluster.logs.mkdir(parents=True)
            try:
                binaries(cluster)
                pause_image(cluster)
                say(f"starting cluster {cluster.name}")
                follow(cluster, make_holder(cluster))
            except BaseException as error:
                remove(cluster)
                if isinstance(error, KeyboardInterrupt):
                    die("interrupted: nothing was left behind")
                raise
        elif not is_ready(cluster):  # an earlier start was killed, its cluster goes on
            follow(cluster, pid)
        describe(cluster)


# -- stop ---------------------------------------------------------------------------------------------------------------


def remove_cgroups(cluster: Layout) -> list[Path]:
    """Removes the cluster's cgroups; the kernel empties them some moments after their processes have ended."""
    base = Path("/sys/fs/cgroup")
    roots = [root for root in (base / cluster.cgroup, *(d / cluster.cgroup for d in base.iterdir() if d.is_dir() and not d.is_symlink())) if root.is_dir()]
    deadline = time.monotonic() + 10
    while True:
        for root in roots:
            for folder, _, _ in os.walk(root, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
        roots = [root for root in roots if root.exists()]
        if not roots or time.monotonic() > deadline:
            return roots
        time.sleep(0.1)


def remove(cluster: Layout) -> None:
    """Ends the holder, with it the kernel ends every process, mount and interface of the cluster; then removes cgroups and files."""
    pid = holder(cluster)
    for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 20)):
        if pid is None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while (pid := holder(cluster)) is not None and time.monotonic() < deadline:
            time.sleep(0.05)
    if pid is not None:
        die(f"process {pid} of cluster {cluster.name} does not end")
    left = remove_cgroups(cluster)
    done = subprocess.run(["rm", "-rf", "--one-file-system", str(cluster.folder)], capture_output=True, text=True)
    if done.returncode != 0:
        die(f"cannot remove {cluster.folder}: {done.stderr.strip()}")
    if left:
        die(f"cgroups that are still in use: {', '.join(map(str, left))}", "a process is in them: cat their cgroup.procs")


def stop(cluster: Layout) -> None:
    with locked(cluster):
        if not cluster.folder.exists():
            print(f"cluster {cluster.name} is not running")
            return
        remove(cluster)
    print(f"cluster {cluster.name} is stopped: no process, mount, interface, cgroup or file of it is left")


# -- use ----------------------------------------------------------------------------------------------------------------


def running(cluster: Layout) -> int:
    pid = holder(cluster)
    if pid is None:
        die(f"cluster {cluster.name} is not running", "./dev cluster start")
    return pid


def status(cluster: Layout) -> int:
    pid = holder(cluster)
    if pid is None:
        print(f"cluster {cluster.name} is not running" + (": what a crash left is removed by the next start or by stop" if cluster.folder.exists() else ""))
        return NOT_RUNNING
    ready = is_ready(cluster)
    daemons = json.loads(cluster.daemons.read_text()) if cluster.daemons.exists() else {}
    broken = [f"{name} ended: {d['ended']} (log: {cluster.logs}/{name}.log)" for name, d in daemons.items() if d["ended"]]
    print(f"cluster {cluster.name}: {'degraded' if broken else 'ready' if ready else 'starting'} (process {pid})")
    print(f"  api server  {layout.API_SERVER}\n  kubeconfig  {cluster.kubeconfig()}\n  logs        {cluster.logs}\n  daemons     {' '.join(daemons)}")
    for line in broken:
        print(f"  {line}")
    return 1 if broken or not ready else 0


def run(cluster: Layout, command: list[str]) -> None:
    """Runs a program in the cluster's network, with the caller's files."""
    environment = dict(os.environ, KUBECONFIG=str(cluster.kubeconfig()), PATH=f"{cluster.bin}:{os.environ['PATH']}")
    pid = running(cluster)
    programs = {"helm": "helm3", "helm4": "helm4"}
    for link, name in programs.items():
        if command[0] in (link, "bash") and not (cluster.bin / link).exists():
            built = subprocess.run(["bash", str(HERE / "binaries.sh"), name], stdout=subprocess.PIPE, text=True)
            if built.returncode != 0:
                raise SystemExit(built.returncode)
            with contextlib.suppress(FileExistsError):
                (cluster.bin / link).symlink_to(built.stdout.strip())
    for kind in ("CACHE", "CONFIG", "DATA"):
        environment[f"HELM_{kind}_HOME"] = str(cluster.folder / command[0] / kind.lower())
    os.execvpe("nsenter", ["nsenter", f"--net=/proc/{pid}/ns/net", "--", *command], environment)


def load_image(cluster: Layout) -> None:
    """Imports an image archive (docker or OCI) from standard input into the node, under the names that the archive gives."""
    pid = running(cluster)
    done = subprocess.run(["nsenter", "-t", str(pid), "-m", "-p", "-r", "-w", "--", "ctr", "-a", str(cluster.containerd_socket), "-n", "k8s.io", "images", "import", "-"],
                          stdout=subprocess.PIPE, text=True)
    names = re.findall(r"^unpacking (\S+) ", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not names:
        die("no image was imported", "the archive needs a full name in it, as in docker.io/library/outrigger:0.1.0; ./dev image writes such a one")
    for name in names:
        print(f"the node has {name}")


def main(arguments: list[str]) -> int:
    cluster, action = Layout(arguments[0]), arguments[1]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    match action:
        case "start": start(cluster)
        case "stop": stop(cluster)
        case "status": return status(cluster)
        case "run": run(cluster, arguments[2:])
        case "load-image": load_image(cluster)
        case _: raise SystemExit(f"error: unknown action {action}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
