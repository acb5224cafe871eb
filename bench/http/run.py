#!/usr/bin/env python3
"""run.py --binaries DIR [--seconds N] [--rounds N] [--connections LIST]: the HTTP engine beside stock cpp-httplib.

Alternates the two servers over the rounds, drives each with wrk on kept-alive connections, reads the server's own CPU time
from /proc, and prints medians and their ratio. Both answer the same 15 bytes of JSON."""
import argparse
import os
import re
import statistics
import subprocess
import sys

SERVERS = {"outrigger": "bench_http_outrigger", "cpp-httplib": "bench_http_cpp_httplib"}
TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def rss_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) / 1024


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def measure(binary, connections, seconds):
    server = subprocess.Popen([binary], stdout=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/api/health"
        load = ["wrk", "-t", "1", "-c", str(connections), "--latency"]
        subprocess.run([*load, "-d", "1s", url], capture_output=True, check=True)
        before = cpu_seconds(server.pid)
        output = subprocess.run([*load, "-d", f"{seconds}s", url], capture_output=True, text=True, check=True).stdout
        used = cpu_seconds(server.pid) - before
        requests = int(re.search(r"(\d+) requests in", output)[1])
        if requests == 0 or "Non-2xx" in output:
            sys.exit(f"{binary} answered wrongly:\n{output}")
        return {"cpu_us": used / requests * 1e6, "per_second": requests / seconds, "p99_ms": milliseconds(re.search(r"99%\s+(\S+)", output)[1]),
                "rss_mib": rss_mib(server.pid)}
    finally:
        server.terminate()
        server.wait(10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", default="64,512")
    options = parser.parse_args()
    print(f"{'connections':>11}  {'server':<12} {'CPU µs/request':>14} {'requests/s':>11} {'P99 ms':>8} {'RSS MiB':>8}")
    for connections in map(int, options.connections.split(",")):
        samples = {name: [] for name in SERVERS}
        for _ in range(options.rounds):
            for name, binary in SERVERS.items():
                samples[name].append(measure(os.path.join(options.binaries, "bench", binary), connections, options.seconds))
        medians = {name: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for name, runs in samples.items()}
        for name, row in medians.items():
            print(f"{connections:>11}  {name:<12} {row['cpu_us']:>14.1f} {row['per_second']:>11.0f} {row['p99_ms']:>8.2f} {row['rss_mib']:>8.1f}")
        ours, theirs = medians["outrigger"], medians["cpp-httplib"]
        print(f"{connections:>11}  {'ratio':<12} {ours['cpu_us'] / theirs['cpu_us']:>14.2f} {ours['per_second'] / theirs['per_second']:>11.2f} "
              f"{ours['p99_ms'] / theirs['p99_ms']:>8.2f} {ours['rss_mib'] / theirs['rss_mib']:>8.2f}")


if __name__ == "__main__":
    main()
