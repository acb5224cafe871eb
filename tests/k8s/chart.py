#!/usr/bin/env python3
"""chart.py HELM3 HELM4 KUBECONFORM SCHEMAS: the chart without a cluster: lint, rendered objects, refused values, drift."""

import json
import sys
from pathlib import Path

import yaml

from checks import Checks, expect, run

TOP = Path(__file__).resolve().parents[2]
CHART = str(TOP / "helm" / "outrigger")
VALUES = sorted((TOP / "tests" / "k8s" / "values").glob("*.yaml"))
MONITORING = ["--api-versions", "monitoring.coreos.com/v1/ServiceMonitor", "--api-versions", "monitoring.coreos.com/v1/PrometheusRule"]
NO_MONITORING = "monitoring.serviceMonitor.enabled=false,monitoring.prometheusRule.enabled=false"  # lint knows no such kinds
GOOD_VALUES = [("defaults", []), *((path.stem, ["--values", str(path)]) for path in VALUES)]

# What must be refused: the arguments, and what the message has to name.
REFUSED = [
    ("a misspelt value", ["--set", "service.drainSecond=5"], "drainSecond"),
    ("a wrong type", ["--set", "replicas=many"], "replicas"),
    ("an unknown journal", ["--set", "service.journal=postgres"], "journal"),
    ("a port out of range", ["--set", "sidecar.ports.http=70000"], "http"),
    ("a tag that is no tag", ["--set", "image.tag=a b"], "tag"),
    ("a grace period that is too short", ["--set", "terminationGracePeriodSeconds=30"], "service.preStopSeconds (5) + service.drainSeconds (25) + sidecar.drainSeconds (15)"),
    ("replicas with an embedded journal", ["--set", "replicas=2"], "replicas (2) with service.journal embedded"),
    ("Kafka without brokers", ["--set", "service.journal=kafka"], "service.kafka.bootstrap"),
    ("two containers on one port", ["--set", "sidecar.ports.http=8000"], "must differ"),
    ("a ServiceMonitor on a cluster without the operator", ["--set", "monitoring.serviceMonitor.enabled=true"], "monitoring.serviceMonitor.enabled is true, but this cluster has no ServiceMonitor"),
    ("a PrometheusRule on a cluster without the operator", ["--set", "monitoring.prometheusRule.enabled=true"], "monitoring.prometheusRule.enabled is true"),
    ("an older Kubernetes", ["--kube-version", "1.28.9"], "kubeVersion"),
]


def template(helm: str, *arguments: str, release: str = "orders", check: bool = True):
    kube = () if "--kube-version" in arguments else ("--kube-version", "1.34.4")
    return run(helm, "template", release, CHART, "--namespace", "shop", *kube, *arguments, check=check)


def objects(helm: str, *arguments: str, release: str = "orders") -> list[dict]:
    return [o for o in yaml.safe_load_all(template(helm, *arguments, release=release).stdout) if o]


def only(found: list[dict], kind: str) -> dict:
    matching = [o for o in found if o["kind"] == kind and "helm.sh/hook" not in o["metadata"].get("annotations", {})]
    expect(len(matching) == 1, f"{len(matching)} objects of kind {kind}, not one")
    return matching[0]


def containers(pod: dict) -> list[dict]:
    return pod.get("initContainers", []) + pod["containers"]


def pods(found: list[dict]) -> list[dict]:
    return [o["spec"]["template"]["spec"] if o["kind"] == "StatefulSet" else o["spec"] for o in found if o["kind"] in ("StatefulSet", "Pod")]


class Suite:
    def __init__(self, helm3: str, helm4: str, kubeconform: str, schemas: str):
        self.helms = {"Helm 3": helm3, "Helm 4": helm4}
        self.helm3, self.kubeconform, self.schemas = helm3, kubeconform, schemas
        self.checks = Checks()

    def conforms(self, *arguments: str) -> None:
        rendered = template(self.helm3, *arguments).stdout
        run(self.kubeconform, "-strict", "-summary", "-skip", "ServiceMonitor,PrometheusRule", "-schema-location",
            self.schemas + "/{{ .ResourceKind }}{{ .KindSuffix }}.json", "-", stdin=rendered)

    def same_in_both(self, *arguments: str) -> None:
        one, two = (sorted(json.dumps(o, sort_keys=True) for o in objects(helm, *arguments)) for helm in self.helms.values())
        expect(one == two, "Helm 3 and Helm 4 render different objects")

    def is_refused(self, helm: str, arguments: list[str], named: str) -> None:
        done = template(helm, *arguments, check=False)
        expect(done.returncode != 0, "it was accepted")
        expect(named in done.stderr, f"the message does not name {named!r}:\n{done.stderr}")

    def selectors_are_stable(self) -> None:
        found = objects(self.helm3, "--values", str(TOP / "tests/k8s/values/everything.yaml"), *MONITORING)
        wanted = {"app.kubernetes.io/name": "outrigger", "app.kubernetes.io/instance": "orders", "app.kubernetes.io/component": "service"}
        stateful = only(found, "StatefulSet")["spec"]
        for selector in [stateful["selector"]["matchLabels"], *(o["spec"]["selector"] for o in found if o["kind"] == "Service")]:
            expect(selector == wanted, f"selector {selector}")
        labels = stateful["template"]["metadata"]["labels"]
        expect(wanted.items() <= labels.items(), f"a user's label took a selector's place: {labels}")
        expect(labels["tier"] == "backend", "podLabels are missing")

    def pods_are_restricted(self, *arguments: str) -> None:
        for pod in pods(objects(self.helm3, *arguments)):
            context = pod["securityContext"]
            expect(context["runAsNonRoot"] is True and context["seccompProfile"]["type"] == "RuntimeDefault", f"Pod: {context}")
            expect("runAsUser" not in context, "a fixed user id")
            expect(pod["automountServiceAccountToken"] is False, "a service account token is mounted")
            for container in containers(pod):
                own = container["securityContext"]
                expect(own["allowPrivilegeEscalation"] is False and own["readOnlyRootFilesystem"] is True and own["capabilities"] == {"drop": ["ALL"]}, f"{container['name']}: {own}")
                expect("memory" in container["resources"]["limits"], f"{container['name']} has no memory limit")

    def sidecar_is_native(self) -> None:
        pod = only(objects(self.helm3), "StatefulSet")["spec"]["template"]["spec"]
        sidecar, service = pod["initContainers"][0], pod["containers"][0]
        expect(sidecar["restartPolicy"] == "Always", "not a native sidecar")
        expect("startupProbe" in sidecar, "nothing holds the service back until the sidecar is up")
        expect("lifecycle" not in sidecar, "a preStop hook of a native sidecar runs before the service has ended")
        expect(service["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "5"], "no pause before SIGTERM")
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            expect(service[probe]["httpGet"]["port"] == "operations", f"{probe} does not ask the service itself")
        mounts = {m["name"] for m in service["volumeMounts"]}
        expect("admin" not in mounts, "the service's container has the admin socket")

    def config(self, *arguments: str) -> tuple[dict, dict]:
        data = next(o for o in objects(self.helm3, *arguments) if o["kind"] == "ConfigMap")["data"]
        return yaml.safe_load(data["service.yaml"]), yaml.safe_load(data.get("sidecar.yaml", "{}"))

    def faults_are_off(self) -> None:
        expect(self.config()[1]["faults-enabled"] is False, "faults are on by default")
        expect(self.config("--set", "sidecar.faults.enabled=true")[1]["faults-enabled"] is True, "faults stay off")

    def settings_reach_the_programs(self) -> None:
        service, sidecar = self.config("--set", "service.settings.io-threads=3,sidecar.settings.log-level=debug")
        expect(service["io-threads"] == 3 and sidecar["log-level"] == "debug", f"{service} {sidecar}")

    def change_rolls_pods(self) -> None:
        def checksum(*arguments: str) -> str:
            return only(objects(self.helm3, *arguments), "StatefulSet")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        expect(checksum() == checksum(), "the checksum differs from one rendering to the next")
        expect(checksum() != checksum("--set", "sidecar.logLevel=debug"), "a change of the sidecar's settings does not roll the Pods")
        one, other = ("--set-string", "service.definitions.a\\.yaml=name: a"), ("--set-string", "service.definitions.a\\.yaml=name: b")
        templates = [only(objects(self.helm3, *definitions), "StatefulSet")["spec"]["template"] for definitions in (one, other)]
        expect(templates[0] == templates[1], "a change of the definitions rolls the Pods, though the service takes it in while it runs")

    def budget_needs_replicas(self) -> None:
        expect(not [o for o in objects(self.helm3) if o["kind"] == "PodDisruptionBudget"], "a budget for one replica blocks drains")
        only(objects(self.helm3, "--values", str(TOP / "tests/k8s/values/kafka.yaml")), "PodDisruptionBudget")

    def openshift_chooses_the_group(self) -> None:
        context = only(objects(self.helm3, "--api-versions", "security.openshift.io/v1"), "StatefulSet")["spec"]["template"]["spec"]["securityContext"]
        expect("fsGroup" not in context, "a fixed fsGroup on OpenShift")
        context = only(objects(self.helm3, "--set", "podSecurityContext.fsGroup=null"), "StatefulSet")["spec"]["template"]["spec"]["securityContext"]
        expect("fsGroup" not in context, "null does not remove fsGroup")

    def names_fit(self) -> None:
        for release in ("y", "on", "a" * 53):
            for o in objects(self.helm3, "--set", "nameOverride=" + "n" * 60, *MONITORING, "--set", "monitoring.prometheusRule.enabled=true,monitoring.dashboards.enabled=true", release=release):
                expect(isinstance(o["metadata"]["name"], str) and len(o["metadata"]["name"]) <= 63, f"{o['kind']} {o['metadata']['name']!r}")
                labels = o["metadata"].get("labels", {})
                expect(all(isinstance(v, str) and len(v) <= 63 for v in labels.values()), f"{o['kind']}: {labels}")

    def rules_and_dashboards_are_whole(self) -> None:
        arguments = [*MONITORING, "--set", "monitoring.prometheusRule.enabled=true,monitoring.dashboards.enabled=true"]
        found = objects(self.helm3, *arguments)
        rules = {o["metadata"]["name"]: o["spec"] for o in found if o["kind"] == "PrometheusRule"}
        boards = {k: v for o in found if o["kind"] == "ConfigMap" and "-dashboard-" in o["metadata"]["name"] for k, v in o["data"].items()}
        for path in sorted(Path(CHART, "rules").glob("*.yaml")):
            expect(rules.get(f"orders-outrigger-{path.stem}"[:63]) == yaml.safe_load(path.read_text()), f"{path.name} is not in the rendered rules as it is")
        for path in sorted(Path(CHART, "dashboards").glob("*.json")):
            expect(json.loads(boards[path.name]) == json.loads(path.read_text()), f"{path.name} is not in its ConfigMap as it is")

    def main(self) -> int:
        check = self.checks.check
        for name, helm in self.helms.items():
            for title, arguments in GOOD_VALUES:
                check(f"{name}: lint --strict, {title}", lambda h=helm, a=arguments: run(h, "lint", "--strict", CHART, *a, "--set", NO_MONITORING))
            for title, arguments, named in REFUSED:
                check(f"{name} refuses {title}", lambda h=helm, a=arguments, n=named: self.is_refused(h, a, n))
        for title, arguments in GOOD_VALUES:
            check(f"objects conform to the Kubernetes API: {title}", lambda a=arguments: self.conforms(*a, *MONITORING))
            check(f"Helm 3 and 4 render the same: {title}", lambda a=arguments: self.same_in_both(*a, *MONITORING))
            check(f"Pods are restricted: {title}", lambda a=arguments: self.pods_are_restricted(*a, *MONITORING))
        check("selectors hold only name, instance and component", self.selectors_are_stable)
        check("the sidecar is native, ordered, and alone with its admin socket", self.sidecar_is_native)
        check("faults are off unless enabled", self.faults_are_off)
        check("settings reach the programs' files", self.settings_reach_the_programs)
        check("a change of configuration rolls the Pods", self.change_rolls_pods)
        check("a disruption budget only with several replicas", self.budget_needs_replicas)
        check("OpenShift and null leave fsGroup out", self.openshift_chooses_the_group)
        check("names and labels fit, whatever the release is called", self.names_fit)
        check("rules and dashboards are rendered as they are", self.rules_and_dashboards_are_whole)
        check("k8s/, README and dashboards follow the chart", lambda: run(sys.executable, str(TOP / "tools/dev/chart/generate.py"), self.helm3, "--check"))
        manifests = [str(p) for p in sorted((TOP / "k8s").glob("*.yaml"))]
        check("k8s/ conforms to the Kubernetes API", lambda: run(self.kubeconform, "-strict", "-schema-location", self.schemas + "/{{ .ResourceKind }}{{ .KindSuffix }}.json", *manifests))
        return self.checks.finish()


if __name__ == "__main__":
    sys.exit(Suite(*sys.argv[1:5]).main())
