#!/usr/bin/env python3
"""run.py --binaries DIR [--seconds N] [--rounds N] [--connections LIST] [--servers LIST]: the HTTP engine beside its peers.

Alternates the servers over the rounds, drives each with wrk on kept-alive connections, reads the server's own CPU time from
/proc, and prints the medians. The last columns are the engine's figure over the peer's: the median of the ratios within a
round, since absolute figures of a shared machine mean little. All answer the same 15 bytes of JSON. Idle: what one
connection of --idle kept ones costs in RSS after one request each."""
import argparse
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")
OURS = "outrigger"
NGINX = """daemon off; worker_processes {workers}; worker_rlimit_nofile 65536; pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 16384; }}
http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
  uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
  server {{ listen 127.0.0.1:{port} reuseport backlog=4096;
    location /api/health {{ default_type application/json; return 200 '{{"status":"ok"}}'; }} }} }}
"""


def process_tree(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid] + [found for child in children for found in process_tree(int(child))]


def cpu_seconds(pid):
    total = 0
    for one in process_tree(pid):
        fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def rss_mib(pid):
    return sum(int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{one}/status").read_text())[1]) for one in process_tree(pid)) / 1024


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


class Server:
    """One server process of its own, on a free port, ended when left."""

    def __init__(self, name, binaries):
        self.name, self.binaries = name, binaries

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        if self.name == "nginx":
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            config = pathlib.Path(self.folder.name, "nginx.conf")
            config.write_text(NGINX.format(dir=self.folder.name, port=self.port, workers=len(os.sched_getaffinity(0))))
            self.process = subprocess.Popen(["nginx", "-c", str(config), "-e", f"{self.folder.name}/error.log"], stderr=subprocess.DEVNULL)
        else:
            binary = os.path.join(self.binaries, "bench", f"bench_http_{self.name.replace('-', '_')}")
            self.process = subprocess.Popen([binary], stdout=subprocess.PIPE, text=True)
            self.port = int(self.process.stdout.readline())
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    self.__exit__()
                    sys.exit(f"{self.name} does not listen on port {self.port}")
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


def measure(name, binaries, connections, seconds):
    with Server(name, binaries) as server:
        url = f"http://127.0.0.1:{server.port}/api/health"
        load = ["wrk", "-t", "1", "-c", str(connections), "--latency"]
        subprocess.run([*load, "-d", "1s", url], capture_output=True, check=True)
        before = cpu_seconds(server.process.pid)
        output = subprocess.run([*load, "-d", f"{seconds}s", url], capture_output=True, text=True, check=True).stdout
        used = cpu_seconds(server.process.pid) - before
        requests = int(re.search(r"(\d+) requests in", output)[1])
        if requests == 0 or "Non-2xx" in output:
            sys.exit(f"{name} answered wrongly:\n{output}")
        return {"cpu": used / requests * 1e6, "qps": requests / seconds, "p50": milliseconds(re.search(r"50%\s+(\S+)", output)[1]),
                "p99": milliseconds(re.search(r"99%\s+(\S+)", output)[1]), "rss": rss_mib(server.process.pid)}


def idle_kib(name, binaries, count):
    """RSS that one kept connection costs after one request, in KiB."""
    request = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Server(name, binaries) as server:
        before = rss_mib(server.process.pid)
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", server.port), 10)
            client.sendall(request)
            client.recv(4096)
            clients.append(client)
        cost = (rss_mib(server.process.pid) - before) * 1024 / count
        with socket.create_connection(("127.0.0.1", server.port), 1) as health:
            health.sendall(request)
            if b" 200 " not in health.recv(4096):
                sys.exit(f"{name} does not answer beside {count} idle connections")
        for client in clients:
            client.close()
        return cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", default="64,512")
    parser.add_argument("--servers", default="outrigger,pool,nginx,bare-epoll,cpp-httplib")
    parser.add_argument("--ours", default=OURS, help="the server whose CPU the last column divides by that of the others")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections to measure; 0: none")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    servers = options.servers.split(",")
    print(f"{'connections':>11}  {'server':<12} {'CPU µs/req':>10} {'req/s':>8} {'P50 ms':>7} {'P99 ms':>7} {'RSS MiB':>8} {'CPU ratio':>10}")
    for connections in map(int, options.connections.split(",")):
        samples = {name: [] for name in servers}
        for _ in range(options.rounds):
            for name in servers:
                samples[name].append(measure(name, options.binaries, connections, options.seconds))
        for name, runs in samples.items():
            row = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            ratio = statistics.median(ours["cpu"] / theirs["cpu"] for ours, theirs in zip(samples.get(options.ours, runs), runs))
            print(f"{connections:>11}  {name:<12} {row['cpu']:>10.1f} {row['qps']:>8.0f} {row['p50']:>7.2f} {row['p99']:>7.2f} {row['rss']:>8.1f} "
                  f"{ratio:>10.2f}", flush=True)
    # A thread a connection is not measured idle: it would be a measurement of stacks.
    for name in [name for name in servers if name != "cpp-httplib" and options.idle]:
        print(f"{name}: {idle_kib(name, options.binaries, min(options.idle, hard - 100)):.2f} KiB of RSS an idle connection")


if __name__ == "__main__":
    main()
