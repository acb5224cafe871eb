#!/usr/bin/env python3
"""run.py --binaries DIR [--rounds N] [--seconds N] [--data DIR]: three-step orders on the embedded store, all writes synchronous.

Closed loop (wrk, 512 connections, an order each until it has ended): orders a second. Open loop (bench_saga_load, latency from the
intended start): completion at 50 a second, accept and completion at 1,000 a second. Then SIGKILL and the time until it is ready
again with all those orders stored. Medians over the rounds; the load generator shares the machine with the service."""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "dev"))
CLOSED_LOOP_CONNECTIONS = 512
OPEN_LOOP_CONNECTIONS = {50: 16, 1000: 128}
# What a commit's time, an input's wait and a step's time are made of: (row, metric, what its labels must have).
STAGES = [("queue: first input's wait for its lane", "outrigger_saga_queue_wait_seconds", ""),
          ("decide: load and decide a round", "outrigger_saga_decide_duration_seconds", ""),
          ("commit: the journal's synchronous write", "outrigger_journal_commit_duration_seconds", ""),
          ("participants: a batch of inventory", "outrigger_inbox_batch_seconds", 'participant="inventory"'),
          ("participants: a batch of logistics", "outrigger_inbox_batch_seconds", 'participant="logistics"'),
          ("participants: a batch of invoicing", "outrigger_inbox_batch_seconds", 'participant="invoicing"'),
          ("a step, from its command's commit to its outcome", "outrigger_saga_step_duration_seconds", ""),
          ("a whole order", "outrigger_saga_duration_seconds", "")]


class Bench:
    def __init__(self, options):
        import daemons
        self.daemons, self.binaries, self.options = daemons, pathlib.Path(options.binaries), options
        os.environ["OUTRIGGER_BIN"] = str(self.binaries / "bin")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-saga-", dir=options.data))
        self.service, self.rss_mib = None, []

    def start(self):
        self.service = self.daemons.Daemon("outrigger-service", ["--data-dir", self.folder / "data", "--definitions", self.daemons.DEFINITIONS, "--catalogue",
                                           HERE / "catalogue.yaml", "--http-port", 0, "--operations-port", 0, "--log-level", "warning"], self.folder)

    def url(self, wait):
        return f"http://127.0.0.1:{self.service.ports['http']}/v1/orders?wait={wait}"

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.service.ports['operations']}/metrics", timeout=10) as answer:
            return answer.read().decode()

    @staticmethod
    def total(text, name, label=""):
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line) and label in line)

    def finished(self):
        return self.total(self.metrics(), "outrigger_sagas_finished_total")

    def note_rss(self):
        status = pathlib.Path(f"/proc/{self.service.process.pid}/status").read_text()
        self.rss_mib.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.service.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def closed_loop(self, number):
        before, cpu, began = self.finished(), self.cpu_seconds(), time.monotonic()
        done = subprocess.run(["wrk", "-t", "1", "-c", str(CLOSED_LOOP_CONNECTIONS), "-d", f"{self.options.seconds}s", "--timeout", "30s", "-s", HERE / "orders.lua",
                               f"http://127.0.0.1:{self.service.ports['http']}", "--", f"r{number}-{os.getpid()}"], capture_output=True, text=True, check=True)
        orders, took = self.finished() - before, time.monotonic() - began
        if "Non-2xx" in done.stdout or orders == 0:
            sys.exit(f"orders were refused:\n{done.stdout}")
        self.note_rss()
        return {"orders/s": orders / took, "CPU µs an order": (self.cpu_seconds() - cpu) / orders * 1e6}

    def open_loop(self, rate, wait):
        done = subprocess.run([self.binaries / "bench" / "bench_saga_load", self.url(wait), f"{rate}/s", f"{self.options.seconds}s", str(OPEN_LOOP_CONNECTIONS[rate])],
                              capture_output=True, text=True, check=True)
        result = json.loads(done.stdout)
        if not set(result.get("statuses", {})) <= {"200", "202"}:
            sys.exit(f"orders were refused: {result['statuses']}")
        latency, load = result["latency_from_intended_seconds"], result["load"]
        self.note_rss()
        return {"P50 ms": latency["p50"] * 1e3, "P99 ms": latency["p99"] * 1e3, "valid": 1.0 if load["valid"] else 0.0}

    def restart(self):
        stored = 0
        for _ in range(600):  # what was only accepted ends first
            text = self.metrics()
            stored = self.total(text, "outrigger_sagas_finished_total")
            if self.total(text, "outrigger_sagas_active") == 0:
                break
            time.sleep(0.05)
        self.service.kill()
        began = time.monotonic()
        self.start()
        return stored, time.monotonic() - began

    def stages(self, before, after):
        for row, name, label in STAGES:
            count = self.total(after, f"{name}_count", label) - self.total(before, f"{name}_count", label)
            seconds = self.total(after, f"{name}_sum", label) - self.total(before, f"{name}_sum", label)
            yield row, count, seconds / count * 1e3 if count else 0.0

    def close(self):
        if self.service:
            self.service.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def show(title, rows):
    line = ", ".join(f"{key} {statistics.median(row[key] for row in rows):.{2 if 'ms' in key else 0}f} "
                     f"({min(row[key] for row in rows):.{2 if 'ms' in key else 0}f} to {max(row[key] for row in rows):.{2 if 'ms' in key else 0}f})"
                     for key in rows[0] if key != "valid")
    doubtful = sum(1 for row in rows if row.get("valid") == 0.0)
    print(f"{title:<44} {line}" + (f"; the load generator fell behind in {doubtful} of {len(rows)} rounds" if doubtful else ""), flush=True)


def sync_milliseconds(folder):
    """Median time of an appending write with fdatasync there: what seven commits of an order cannot be faster than."""
    took = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(200):
            file.write(bytes(600))
            began = time.monotonic()
            os.fdatasync(file.fileno())
            took.append(time.monotonic() - began)
    return statistics.median(took) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--data", default=ROOT / "build", help="folder for the stores, on the disk to be measured (default: %(default)s)")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        print(f"stores in {bench.folder}, where a synchronous write takes {sync_milliseconds(bench.folder):.2f} ms", flush=True)
        bench.start()
        bench.closed_loop("warm-up")
        before = bench.metrics()
        closed = [bench.closed_loop(number) for number in range(options.rounds)]
        under_load = list(bench.stages(before, bench.metrics()))
        show(f"closed loop, {CLOSED_LOOP_CONNECTIONS} orders at once", closed)
        before = bench.metrics()
        show("completion at 50/s", [bench.open_loop(50, "10s") for _ in range(options.rounds)])
        at_fifty = list(bench.stages(before, bench.metrics()))
        show("accept at 1,000/s", [bench.open_loop(1000, "0s") for _ in range(options.rounds)])
        show("completion at 1,000/s", [bench.open_loop(1000, "10s") for _ in range(options.rounds)])
        stored, seconds = bench.restart()
        print(f"RSS {min(bench.rss_mib):.0f} to {max(bench.rss_mib):.0f} MiB, last {bench.rss_mib[-1]:.0f}; "
              f"ready {seconds:.2f} s after SIGKILL with {stored:.0f} finished orders stored")
        print(f"{'mean':<50} {'closed loop':>20} {'at 50/s':>20}")
        for (row, count, mean), (_, count50, mean50) in zip(under_load, at_fifty):
            print(f"{row:<50} {mean:>9.2f} ms ×{count:<7.0f} {mean50:>9.2f} ms ×{count50:<7.0f}")
    finally:
        bench.close()


if __name__ == "__main__":
    main()
