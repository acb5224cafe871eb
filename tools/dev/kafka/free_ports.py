#!/usr/bin/env python3
"""free_ports.py COUNT: prints COUNT different free TCP ports of 127.0.0.1, one a line.

The kernel is asked by binding, and all are held until the last is found. They lie below the range from which the kernel
takes the ports of outgoing connections: otherwise one could take a broker's port while the broker is down, or a client
that tries to reach the broker that is down could even connect to itself.
"""
import pathlib
import random
import socket
import sys

LOWEST = 10000


def ephemeral_start() -> int:
    try:
        return int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32768


def main() -> int:
    count = int(sys.argv[1])
    candidates = list(range(LOWEST, max(ephemeral_start(), LOWEST + 1000)))
    random.shuffle(candidates)
    held: list[socket.socket] = []
    for port in candidates:
        probe = socket.socket()
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            probe.close()
            continue
        held.append(probe)
        if len(held) == count:
            print("\n".join(str(s.getsockname()[1]) for s in held))
            return 0
    print(f"error: fewer than {count} free ports on 127.0.0.1", file=sys.stderr)
    return 1


sys.exit(main())
