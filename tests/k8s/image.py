#!/usr/bin/env python3
"""image.py ARCHIVE VERSION: the image as it ships: what is in it, and its programs run by runc with a read-only root, without
rights and in a network of their own. Runs as root where the groups build and image are."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from checks import Checks, Failed, expect, run, wait_for

TOP = Path(__file__).resolve().parents[2]
PROGRAMS = {"outrigger", "outrigger-service", "outrigger-sidecar", "outrigger-participants"}
UID = 65532


class Image:
    """The archive's configuration, and its layers unpacked."""

    def __init__(self, archive: str, folder: Path):
        self.folder, self.root = folder, folder / "rootfs"
        self.root.mkdir()
        with tarfile.open(archive) as tar:
            def blob(digest: str):
                return tar.extractfile("blobs/" + digest.replace(":", "/"))
            self.index = json.load(tar.extractfile("index.json"))
            manifest = json.load(blob(self.index["manifests"][0]["digest"]))
            self.config = json.load(blob(manifest["config"]["digest"]))["config"]
            for layer in manifest["layers"]:
                with tarfile.open(fileobj=blob(layer["digest"])) as files:
                    files.extractall(self.root, numeric_owner=True, filter="fully_trusted")


class Container:
    """One run of a program by runc; ends with the block that it belongs to."""

    def __init__(self, image: Image, name: str, arguments: list[str], files: dict[str, str] | None = None):
        self.name, self.folder = f"outrigger-image-{os.getpid()}-{name}", image.folder / name
        self.folder.mkdir()
        (self.folder / "etc").mkdir()
        for file, text in (files or {}).items():
            (self.folder / "etc" / file).write_text(text)
        run("runc", "spec", "--bundle", str(self.folder))
        spec = json.loads((self.folder / "config.json").read_text())
        spec["root"] = {"path": str(image.root), "readonly": True}
        spec["hostname"] = "outrigger"
        spec["process"] |= {"terminal": False, "user": {"uid": UID, "gid": UID}, "args": arguments, "cwd": "/", "env": image.config["Env"],
                            "noNewPrivileges": True, "capabilities": {}}
        spec["process"].pop("rlimits", None)
        scratch = ["nosuid", "nodev", f"uid={UID}", "mode=0700"]
        spec["mounts"] += [{"destination": d, "type": "tmpfs", "source": "tmpfs", "options": scratch} for d in ("/tmp", "/run/outrigger", "/var/lib/outrigger")]
        spec["mounts"].append({"destination": "/etc/outrigger", "type": "bind", "source": str(self.folder / "etc"), "options": ["bind", "ro"]})
        spec["linux"]["cgroupsPath"] = "/" + self.name
        (self.folder / "config.json").write_text(json.dumps(spec))

    def __enter__(self) -> "Container":
        self.log = open(self.folder / "log", "w+")
        self.process = subprocess.Popen(["runc", "run", "--bundle", str(self.folder), "--pid-file", str(self.folder / "pid"), self.name],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            subprocess.run(["runc", "kill", self.name, "KILL"], capture_output=True, timeout=20)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        subprocess.run(["runc", "delete", "--force", self.name], capture_output=True, timeout=20)
        self.log.close()

    def output(self) -> str:
        return (self.folder / "log").read_text()

    def ended(self, seconds: float) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"still running after {seconds:.0f} s:\n{self.output()}") from None

    def get(self, url: str) -> str | None:
        """The body of a 200 answer, asked for from inside the container's network."""
        if self.process.poll() is not None:
            raise Failed(f"it ended with {self.process.returncode}:\n{self.output()}")
        with contextlib.suppress(OSError):
            pid = (self.folder / "pid").read_text().strip()
            done = run("nsenter", f"--net=/proc/{pid}/ns/net", "curl", "-sSf", "-m", "3", url, check=False)
            return done.stdout if done.returncode == 0 else None
        return None

    def stop(self) -> int:
        os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)
        return self.ended(60)


class Suite:
    def __init__(self, archive: str, version: str, folder: Path):
        self.version, self.archive = version, archive
        self.image = Image(archive, folder)
        self.checks = Checks()

    def holds_the_programs(self) -> None:
        found = {p.name for p in (self.image.root / "usr/local/bin").iterdir()}
        expect(found == PROGRAMS, f"programs in the image: {sorted(found)}")

    def holds_nothing_else(self) -> None:
        root = self.image.root
        for path in ("bin/sh", "usr/bin/bash", "usr/bin/apt-get", "etc/apt", "usr/bin/perl", "var/lib/apt"):
            expect(not (root / path).exists(), f"/{path} is in the image")
        special = [p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and p.stat().st_mode & 0o6000]
        expect(not special, f"setuid or setgid: {special}")
        writable = [p for p in root.rglob("*") if not p.is_symlink() and p.stat().st_mode & 0o002 and p != root / "tmp"]
        expect(not writable, f"writable by everybody: {writable}")

    def is_configured(self) -> None:
        config = self.image.config
        expect(config["User"] == f"{UID}:{UID}", f"user {config.get('User')}")
        labels = config["Labels"]
        expect(labels["org.opencontainers.image.version"] == self.version, f"{labels}")
        expect(labels["org.opencontainers.image.licenses"] == "Apache-2.0", f"{labels}")
        leaked = [e for e in config["Env"] if "proxy" in e.lower()]
        expect(not leaked, f"environment: {leaked}")

    def is_licensed(self) -> None:
        records = list((self.image.root / "var/lib/dpkg/status.d").iterdir())
        expect(len(records) > 5, f"{len(records)} package records")
        missing = [r.name for r in records if not (self.image.root / "usr/share/doc" / r.name / "copyright").exists()]
        expect(not missing, f"packages without their licence: {missing}")

    def answers(self, program: str, flag: str) -> None:
        with Container(self.image, f"{program}{flag}", [program, flag]) as container:
            status = container.ended(30)
            expect(status == 0, f"exit status {status}:\n{container.output()}")
            wanted = self.version if flag == "--version" else program
            expect(wanted in container.output(), f"{wanted!r} is not in what it prints:\n{container.output()}")

    def root_is_read_only(self) -> None:
        with Container(self.image, "readonly", ["outrigger-service", "--data-dir", "/usr/local/data", "--definitions", "/usr/local/share/outrigger/definitions"]) as container:
            status = container.ended(30)
            expect(status not in (0, 139, 134), f"exit status {status} with a data folder on the read-only root:\n{container.output()}")
            expect("/usr/local/data" in container.output(), f"the message does not name the folder:\n{container.output()}")

    def service_runs(self) -> None:
        arguments = ["outrigger-service", "--data-dir", "/var/lib/outrigger/data", "--definitions", "/usr/local/share/outrigger/definitions",
                     "--http-address", "127.0.0.1", "--http-port", "8000", "--operations-address", "127.0.0.1", "--operations-port", "9900"]
        with Container(self.image, "service", arguments) as container:
            wait_for("/readyz", 30, lambda: container.get("http://127.0.0.1:9900/readyz") is not None)
            expect('"ok"' in (container.get("http://127.0.0.1:8000/api/health") or ""), "/api/health does not say ok")
            metrics = container.get("http://127.0.0.1:9900/metrics") or ""
            expect("# TYPE" in metrics, f"/metrics: {metrics[:200]}")
            status = container.stop()
            expect(status == 0, f"exit status {status} after SIGTERM:\n{container.output()}")

    def sidecar_runs(self) -> None:
        arguments = ["outrigger-sidecar", "--http-address", "127.0.0.1", "--http-port", "8080", "--health-address", "127.0.0.1", "--health-port", "9901"]
        with Container(self.image, "sidecar", arguments) as container:
            wait_for("/readyz", 30, lambda: container.get("http://127.0.0.1:9901/readyz") is not None)
            status = container.stop()
            expect(status == 0, f"exit status {status} after SIGTERM:\n{container.output()}")

    def takes_the_charts_settings(self, program: str, file: str) -> None:
        """The rendered manifests' configuration, which the chart suite keeps equal to the chart's."""
        data = next(yaml.safe_load_all((TOP / "k8s/configmap.yaml").read_text()))["data"]
        with Container(self.image, f"config-{file}", [program, "--config", f"/etc/outrigger/{file}", "--check-config"], {file: data[file]}) as container:
            status = container.ended(30)
            expect(status == 0, f"exit status {status}:\n{container.output()}")

    def main(self) -> int:
        check = self.checks.check
        size = sum(p.stat().st_size for p in self.image.root.rglob("*") if p.is_file() and not p.is_symlink())
        print(f"        {self.archive}: {os.path.getsize(self.archive) >> 20} MiB, unpacked {size >> 20} MiB")
        check("the image holds all programs", self.holds_the_programs)
        check("no shell, no package manager, no special files", self.holds_nothing_else)
        check("user, labels, environment", self.is_configured)
        check("package records and licences", self.is_licensed)
        for program in sorted(PROGRAMS):
            for flag in ("--help", "--version"):
                check(f"{program} {flag}", lambda p=program, f=flag: self.answers(p, f))
        for program, file in (("outrigger-service", "service.yaml"), ("outrigger-sidecar", "sidecar.yaml")):
            check(f"{program} takes the chart's settings", lambda p=program, f=file: self.takes_the_charts_settings(p, f))
        check("the root is read-only and the service says so", self.root_is_read_only)
        check("the service becomes ready, answers and drains", self.service_runs)
        check("the sidecar becomes ready and drains", self.sidecar_runs)
        return self.checks.finish()


if __name__ == "__main__":
    work = Path(tempfile.mkdtemp(prefix="outrigger-image."))
    work.chmod(0o755)
    try:
        sys.exit(Suite(sys.argv[1], sys.argv[2], work).main())
    finally:
        shutil.rmtree(work, ignore_errors=True)
