#!/usr/bin/env python3
"""k8s.py ARCHIVE [HELM...]: the chart and the image on a real one-node cluster that this starts and stops.

For Helm 3 and Helm 4: install, `helm test`, an upgrade that allows faults, a fault and a chaos scenario through the admin API,
rollback, uninstall. Runs where the groups build and k8s are, in the machine's process namespace.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from checks import Checks, expect, run, wait_for

TOP = Path(__file__).resolve().parents[2]
CLUSTER = [sys.executable, str(TOP / "tools/dev/cluster/cluster.py"), "test"]
CHART = str(TOP / "helm/outrigger")
VALUES = str(TOP / "tests/k8s/cluster-values.yaml")
SCENARIO = "/usr/local/share/outrigger/scenarios/slow-orders.yaml"
RELEASE = "orders"
STATEFUL_SET = "orders-outrigger"
POD = STATEFUL_SET + "-0"
ORDER = {"customer_id": "C-1001", "country": "DE", "lines": [{"sku": "ROPE-HEMP", "quantity": 1, "unit_price_cents": 1490}]}


def in_cluster(*command: str, **options):
    return run(*CLUSTER, "run", *command, **options)


def kubectl(*arguments: str, **options):
    return in_cluster("kubectl", "--request-timeout=30s", *arguments, **options)


def get_json(*arguments: str) -> dict:
    return json.loads(kubectl("get", *arguments, "--output", "json").stdout)


class Release:
    """One Helm's way through the life of a release, in a namespace of its own."""

    def __init__(self, helm: str):
        self.helm_program = helm
        self.namespace = f"shop-{helm}"
        self.first_saga = ""

    def helm(self, *arguments: str, **options):
        return in_cluster(self.helm_program, "--namespace", self.namespace, *arguments, **options)

    def kubectl(self, *arguments: str, **options):
        return kubectl("--namespace", self.namespace, *arguments, **options)

    def exec(self, container: str, *command: str, **options):
        return self.kubectl("exec", POD, "--container", container, "--", *command, **options)

    # -- from a client's place -------------------------------------------------------------------------------------

    def url(self) -> str:
        address = get_json("--namespace", self.namespace, "service", STATEFUL_SET)["spec"]["clusterIP"]
        return f"http://{address}:8080"

    def curl(self, path: str, *arguments: str, seconds: float = 30) -> tuple[int, str, float]:
        """Status, body and duration of a request through the Service, so through the sidecar."""
        done = in_cluster("curl", "--silent", "--show-error", "--max-time", str(seconds), "--write-out", "\n%{http_code} %{time_total}", *arguments, self.url() + path)
        body, _, last = done.stdout.rpartition("\n")
        status, duration = last.split()
        return int(status), body, float(duration)

    def place_order(self, order_id: str) -> tuple[dict, float]:
        status, body, duration = self.curl("/v1/orders?wait=20s", "--request", "POST", "--header", "Content-Type: application/json",
                                           "--header", f"Idempotency-Key: {self.namespace}-{order_id}", "--data", json.dumps({"order_id": order_id, **ORDER}))
        expect(status == 200, f"status {status}: {body}")
        return json.loads(body), duration

    # -- steps, in their order ---------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """A namespace that admits restricted Pods only, and a local volume for the claim."""
        folder = Path(os.environ["KUBELET_VOLUMES"]) / self.namespace
        folder.mkdir(parents=True)
        objects = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": self.namespace}, "spec": {
                "capacity": {"storage": "100Mi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local-test", "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": self.namespace, "name": f"data-{POD}"}, "local": {"path": str(folder)},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}]}}}}]
        kubectl("apply", "--filename", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def install(self) -> None:
        done = self.helm("install", RELEASE, CHART, "--values", VALUES, "--wait", "--timeout", "120s", seconds=150)
        expect(f"helm -n {self.namespace} test {RELEASE}" in done.stdout, f"the notes do not say how to test:\n{done.stdout}")
        pod = get_json("--namespace", self.namespace, "pod", POD)
        statuses = pod["status"]["containerStatuses"] + pod["status"]["initContainerStatuses"]
        expect(all(s["ready"] and s["restartCount"] == 0 for s in statuses), f"not ready, or restarted: {statuses}")

    def helm_test(self) -> None:
        done = self.helm("test", RELEASE, "--logs", "--timeout", "90s", seconds=120)
        expect("COMPLETED" in done.stdout, f"no completed order in the log:\n{done.stdout}")

    def order_through_service(self) -> None:
        saga, _ = self.place_order("first")
        expect(saga["status"] == "COMPLETED", f"{saga}")
        self.first_saga = saga["id"]
        expect(self.curl("/api/health")[1].find('"ok"') > 0, "/api/health does not say ok")

    def first_order_is_kept(self) -> None:
        status, body, _ = self.curl(f"/v1/sagas/{self.first_saga}")
        expect(status == 200 and json.loads(body)["status"] == "COMPLETED", f"the first order after the change: {status} {body}")

    def faults_are_refused(self) -> None:
        done = self.exec("sidecar", "outrigger", "fault", "apply", "--id", "no", "--ttl", "10s", "--delay", "1s", check=False)
        expect(done.returncode != 0, f"a fault was armed though faults are off:\n{done.stdout}")
        expect("faults" in done.stderr, f"the message does not say why:\n{done.stderr}")

    def upgrade(self) -> None:
        before = get_json("--namespace", self.namespace, "pod", POD)["metadata"]["uid"]
        self.helm("upgrade", RELEASE, CHART, "--values", VALUES, "--set", "sidecar.faults.enabled=true", "--wait", "--timeout", "120s", seconds=150)
        after = get_json("--namespace", self.namespace, "pod", POD)["metadata"]["uid"]
        expect(before != after, "the changed configuration did not roll the Pod")
        self.first_order_is_kept()

    def fault_delays_answers(self) -> None:
        self.exec("sidecar", "outrigger", "fault", "apply", "--id", "slow", "--ttl", "8s", "--delay", "900ms", "--path-prefix", "/v1/orders", "--reason", "k8s suite")
        saga, duration = self.place_order("slow")
        expect(saga["status"] == "COMPLETED", f"{saga}")
        expect(duration >= 0.9, f"the answer was not delayed: {duration} s")
        listed = json.loads(self.exec("sidecar", "outrigger", "fault", "list", "--output", "json").stdout)
        fault = (listed["faults"] if isinstance(listed, dict) else listed)[0]
        expect(int(fault["hits"]) == 1, f"hits: {fault}")
        wait_for("the fault's end", 20, lambda: "slow" not in self.exec("sidecar", "outrigger", "fault", "list", "--output", "json").stdout)
        metrics = self.sidecar_metrics()
        expect("outrigger_" in metrics or "sidecar_" in metrics, f"no metrics of the sidecar:\n{metrics[:300]}")

    def sidecar_metrics(self) -> str:
        address = get_json("--namespace", self.namespace, "pod", POD)["status"]["podIP"]
        return in_cluster("curl", "--silent", "--show-error", "--fail", "--max-time", "10", f"http://{address}:9901/metrics").stdout

    def readiness_ignores_faults(self) -> None:
        self.exec("sidecar", "outrigger", "fault", "apply", "--id", "down", "--ttl", "30s", "--abort", "503", "--reason", "k8s suite")
        path = f"/v1/sagas/{self.first_saga}"
        expect(self.curl(path)[0] == 503, "the abort does not reach clients")
        deadline = time.monotonic() + 4  # two periods of the readiness probe
        while time.monotonic() < deadline:
            statuses = get_json("--namespace", self.namespace, "pod", POD)["status"]
            expect(all(s["ready"] for s in statuses["containerStatuses"] + statuses["initContainerStatuses"]), "an injected fault made the Pod unready")
            time.sleep(0.5)
        self.exec("sidecar", "outrigger", "fault", "delete", "--all")
        expect(self.curl(path)[0] == 200, "the fault outlived its removal")

    def chaos_scenario(self) -> None:
        done = self.exec("sidecar", "outrigger", "chaos", "run", SCENARIO, "--execute", "--journal", "/run/outrigger/slow-orders.jsonl", "--set", "url=http://127.0.0.1:8080", "--set", "rate=40/s",
                         "--set", "baseline=8s", "--set", "inject=8s", "--set", "recover=8s", "--set", "min_hits=200", seconds=120, check=False)
        expect(done.returncode == 0, f"verdict {done.returncode}:\n{done.stdout}\n{done.stderr}")
        left = self.exec("sidecar", "outrigger", "fault", "list", "--output", "json").stdout
        expect("slow-orders" not in left, f"the scenario left its fault: {left}")

    def rollback(self) -> None:
        self.helm("rollback", RELEASE, "1", "--wait", "--timeout", "120s", seconds=150)
        self.faults_are_refused()
        self.first_order_is_kept()

    def uninstall(self) -> None:
        self.helm("uninstall", RELEASE, "--wait", "--timeout", "120s", seconds=150)
        wait_for("the Pod's end", 60, lambda: not get_json("--namespace", self.namespace, "pods", "--selector", "app.kubernetes.io/component=service")["items"])
        kinds = "all,configmaps,secrets,serviceaccounts,persistentvolumeclaims,poddisruptionbudgets,endpointslices,controllerrevisions"
        left = wait_for("the garbage collector", 60, lambda: self.only_kept(kinds))
        expect(left == {f"Pod/{STATEFUL_SET}-test-order", f"PersistentVolumeClaim/data-{POD}"}, f"left: {left}")
        kubectl("delete", "namespace", self.namespace, "--timeout", "90s", seconds=120)
        kubectl("delete", "persistentvolume", self.namespace, "--timeout", "60s", seconds=90)

    def only_kept(self, kinds: str) -> set[str] | None:
        items = get_json("--namespace", self.namespace, kinds)["items"]
        names = {f"{o['kind']}/{o['metadata']['name']}" for o in items} - {"ConfigMap/kube-root-ca.crt", "ServiceAccount/default"}
        return names if len(names) <= 2 else None

    def show(self) -> None:
        """What helps to understand a failure."""
        for title, command in (("Pods", ("describe", "pods")), ("events", ("get", "events", "--sort-by", ".lastTimestamp")),
                               ("service's log", ("logs", POD, "--container", "service", "--tail", "25")), ("sidecar's log", ("logs", POD, "--container", "sidecar", "--tail", "25")),
                               ("service's last log", ("logs", POD, "--container", "service", "--previous", "--tail", "25"))):
            done = self.kubectl(*command, check=False, seconds=60)
            if done.stdout:
                print(f"        -- {title} in {self.namespace}\n        " + "\n        ".join(done.stdout.strip().splitlines()[-80:]), flush=True)


def steps(release: Release) -> list[tuple[str, object]]:
    return [
        ("a restricted namespace and a volume", release.prepare),
        ("install, and everything becomes ready", release.install),
        ("helm test: an order completes", release.helm_test),
        ("an order through the Service completes", release.order_through_service),
        ("faults are refused unless enabled", release.faults_are_refused),
        ("upgrade rolls the Pod and keeps the orders", release.upgrade),
        ("a fault delays answers and ends by itself", release.fault_delays_answers),
        ("an injected fault does not make the Pod unready", release.readiness_ignores_faults),
        ("the chaos scenario slow-orders passes", release.chaos_scenario),
        ("rollback takes the right to inject away again", release.rollback),
        ("uninstall leaves only the claim and the test's Pod", release.uninstall),
    ]


def nothing_is_left() -> None:
    run(*CLUSTER, "stop", seconds=120)
    left = list(Path("/sys/fs/cgroup").glob("*/outrigger-test")) + list(Path("/sys/fs/cgroup").glob("outrigger-test"))
    expect(not left, f"cgroups: {left}")
    status = run(*CLUSTER, "status", check=False)
    expect(status.returncode == 3, f"status after stop: {status.returncode} {status.stdout}")


def main(archive: str, helms: list[str]) -> int:
    checks = Checks()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run(*CLUSTER, "stop", seconds=120)  # what an earlier run, that was killed, may have left
    try:
        def start() -> None:
            run(*CLUSTER, "start", seconds=1800)  # the first one builds Kubernetes
            with open(archive, "rb") as image:
                run(*CLUSTER, "load-image", seconds=120, stdin_file=image)
        if checks.check("the cluster starts and takes the image", start):
            status = run(*CLUSTER, "status").stdout
            logs = next(line.split()[1] for line in status.splitlines() if line.strip().startswith("logs"))
            os.environ["KUBELET_VOLUMES"] = str(Path(logs).parent / "volumes")
            for helm in helms:
                release = Release(helm)
                for name, body in steps(release):
                    if not checks.check(f"{helm}: {name}", body, release.show) and body in (release.prepare, release.install):
                        break
    finally:
        checks.check("stopping the cluster leaves nothing", nothing_is_left)
    return checks.finish()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:] or ["helm", "helm4"]))
    except KeyboardInterrupt:
        raise SystemExit("interrupted: the cluster was stopped")
