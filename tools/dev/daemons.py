"""Starts Outrigger's programs for ./dev run and the end-to-end tests, waits until they are ready, and ends them."""
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

REPO = pathlib.Path(__file__).resolve().parent.parent.parent
DEFINITIONS = REPO / "service" / "orders" / "definitions"
CATALOGUE = REPO / "examples" / "catalogue.yaml"
ORDERS = REPO / "examples" / "orders.jsonl"
PR_SET_PDEATHSIG = 1


def programs_folder():
    return pathlib.Path(os.environ.get("OUTRIGGER_BIN", REPO / "build" / "dev" / "bin"))


class DaemonError(Exception):
    pass


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def die_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Daemon:
    """One running program. `ports` is what it wrote to its port file once it was ready."""

    def __init__(self, program, arguments, folder, ready_within=60.0, name=None, environment=None):
        self.name = name or program
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log_file = self.folder / f"{self.name}.log"
        port_file = self.folder / f"{self.name}.ports.json"
        port_file.unlink(missing_ok=True)
        self._log = open(self.log_file, "ab")
        self._log_start = self._log.tell()
        # A session of its own: Ctrl-C reaches only whoever started it, who then ends the daemons in the right order.
        self.process = subprocess.Popen([programs_folder() / program, *map(str, arguments), "--port-file", str(port_file)], stdin=subprocess.DEVNULL,
                                        stdout=self._log, stderr=self._log, start_new_session=True, preexec_fn=die_with_parent,
                                        env={**os.environ, **(environment or {})})
        try:
            self.ports = self._await_ports(port_file, ready_within)
        except BaseException:
            self.kill()
            raise

    def _await_ports(self, port_file, within):
        end = time.monotonic() + within
        while time.monotonic() < end:
            if port_file.exists():
                return json.loads(port_file.read_text())
            if self.process.poll() is not None:
                raise DaemonError(f"{self.name} ended with exit code {self.process.returncode} before it was ready:\n{self.log_tail()}")
            time.sleep(0.01)
        raise DaemonError(f"{self.name} was not ready within {within:g} s:\n{self.log_tail()}")

    def log_text(self):
        with open(self.log_file, "rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def log_tail(self, lines=8):
        return "\n".join("    " + line for line in self.log_text().splitlines()[-lines:])

    def is_running(self):
        return self.process.poll() is None

    def kill(self):
        """SIGKILL: as a crash would end it."""
        if self.is_running():
            self.process.kill()
        code = self.process.wait()
        self._log.close()
        return code

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, within=60.0):
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise DaemonError(f"{self.name} did not end within {within:g} s of SIGTERM") from late
        self._log.close()
        return code

    def stop(self, within=60.0):
        """SIGTERM and the exit code of its drain."""
        if self.is_running():
            self.terminate()
        return self.wait(within)


def start_service(folder, data, *extra, http_port=0, operations_port=0, definitions=DEFINITIONS, **options):
    arguments = ["--data-dir", data, "--definitions", definitions, "--catalogue", CATALOGUE, "--http-port", http_port, "--operations-port", operations_port]
    return Daemon("outrigger-service", [*arguments, *extra], folder, **options)
