#!/usr/bin/env python3
"""run_orders.py: the part of ./dev run that runs where the programs are. ./dev run --help says what it does."""
import argparse
import collections
import datetime
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import check_effects  # noqa: E402
import daemons  # noqa: E402
import order_client  # noqa: E402

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ
DEFAULT_PORTS = {"service": (8000, 9900), "sidecar": (8080, 9901)}


def paint(text, code):
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


def say(text):
    print(paint("==> ", "1") + text, flush=True)


def print_table(header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for index, row in enumerate([header, *rows]):
        line = "  " + "  ".join(str(cell).rjust(width) if isinstance(cell, int) else str(cell).ljust(width) for cell, width in zip(row, widths))
        print(paint(line.rstrip(), "1") if index == 0 else line.rstrip())


class Stack:
    """The programs of one run, in the order of their start; stopped the other way round."""

    def __init__(self, options, folder):
        self.options, self.logs = options, folder / "logs"
        self.data = pathlib.Path(options.data or folder / "data")
        self.running = []
        self.http_port = None

    def _start(self, make):
        daemon = make()
        self.running.append(daemon)
        return daemon

    def _ports(self, program):
        wanted = DEFAULT_PORTS[program]
        if self.options.once:
            return (0, 0)
        taken = [port for port in wanted if not daemons.port_is_free(port)]
        if taken:
            say(f"{program}: port {', '.join(map(str, taken))} is taken, so free ports are used")
            return (0, 0)
        return wanted

    def start(self):
        options, kafka = self.options, []
        self.participants_folder = self.data / "participants"
        if options.kafka_bootstrap:
            kafka = ["--journal", "kafka", "--kafka-bootstrap", options.kafka_bootstrap, "--kafka-create-topics"]
            self.participants = self._start(lambda: daemons.Daemon(
                "outrigger-participants", ["--kafka-bootstrap", options.kafka_bootstrap, "--kafka-create-topics", "--data-dir", self.participants_folder, "--catalogue", daemons.CATALOGUE,
                                           "--operations-port", 0], self.logs, ready_within=120))
        http, operations = self._ports("service")
        self.service = self._start(lambda: daemons.start_service(self.logs, self.data, *kafka, http_port=http, operations_port=operations, ready_within=120))
        http, health = self._ports("sidecar")
        self.admin_socket = self.logs.parent / "admin.sock"
        self.sidecar = self._start(lambda: daemons.Daemon(
            "outrigger-sidecar", ["--http-port", http, "--health-port", health, "--upstream", f"127.0.0.1:{self.service.ports['http']}",
                                  "--admin-socket", self.admin_socket, "--faults-enabled"], self.logs))
        self.http_port = self.sidecar.ports["http"]

    def stop(self):
        codes = {}
        for daemon in reversed(self.running):
            try:
                codes[daemon.name] = daemon.stop(within=60)
            except daemons.DaemonError as problem:
                print(problem, file=sys.stderr)
                codes[daemon.name] = -1
        self.running = []
        return {name: code for name, code in codes.items() if code != 0}


def print_outcomes(outcomes):
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[outcome.line["because"]].append(outcome)
    rows = []
    for because, group in groups.items():
        expected = " or ".join(sorted({outcome.line["expect"] for outcome in group}))
        ended = ", ".join(f"{count} {status}" for status, count in sorted(collections.Counter(outcome.status for outcome in group).items()))
        right = sum(outcome.status == outcome.line["expect"] for outcome in group)
        words = next((outcome.reason for outcome in group if outcome.reason), "") if because != "repeated key" else "the same saga as the first time"
        rows.append((because, len(group), expected, ended, f"{right}/{len(group)}", words))
    print_table(("order is", "orders", "must end", "ended", "as it must", "what a participant said"), rows)


def print_timeline(saga):
    print(f"  {saga['business_key']} (saga {saga['id']}): {paint(saga['status'], '33')}")
    start = datetime.datetime.fromisoformat(saga["history"][0]["at"])
    for event in saga["history"]:
        after = (datetime.datetime.fromisoformat(event["at"]) - start).total_seconds() * 1000
        print(f"  {after:8.0f} ms  {event['event']:<22} {event['step'] or '':<20} {event['detail'] or ''}".rstrip())


def send_orders(stack):
    lines = order_client.load_orders(daemons.ORDERS)
    say(f"sending {len(lines)} orders through the sidecar, {stack.options.concurrency} at a time")
    outcomes = order_client.place_all(order_client.Client(stack.http_port), lines, stack.options.concurrency)
    print_outcomes(outcomes)
    compensated = [outcome.saga for outcome in outcomes if outcome.status == "COMPENSATED"]
    if compensated:
        print()
        say("one of the compensated orders, step by step")
        print_timeline(max(compensated, key=lambda saga: len(saga["history"])))
        print()
    problems = order_client.problems_of(outcomes)
    finished = {outcome.saga["id"]: outcome.status for outcome in outcomes if outcome.saga}
    count, broken = check_effects.check(stack.participants_folder, finished)
    say(f"the participants' databases: {count} effects, " + ("every one exactly once" if not broken else f"{len(broken)} problems"))
    return problems + broken


def shown(path):
    """As the user sees it: below the checkout, or the host's name of the folder that was given."""
    path = pathlib.Path(path)
    if "OUTRIGGER_DATA" in os.environ and path.is_relative_to("/data"):
        return str(pathlib.Path(os.environ["OUTRIGGER_DATA"]) / path.relative_to("/data"))
    return str(path.relative_to(daemons.REPO)) if path.is_relative_to(daemons.REPO) else str(path)


def keep_serving(stack):
    api = f"http://127.0.0.1:{stack.http_port}"
    service = f"http://127.0.0.1:{stack.service.ports['operations']}"
    sidecar = f"http://127.0.0.1:{stack.sidecar.ports['health']}"
    order = '{"order_id":"O-MINE","customer_id":"C-1001","country":"DE","lines":[{"sku":"PADDLE-OAK","quantity":1,"unit_price_cents":8990}]}'
    print()
    say("serving; Ctrl-C stops")
    print_table(("what", "where"), [("API through the sidecar", api), ("service: readiness, metrics", f"{service}/readyz  {service}/metrics"),
                                    ("sidecar: readiness, metrics", f"{sidecar}/readyz  {sidecar}/metrics"), ("logs", shown(stack.logs)), ("data", shown(stack.data))])
    print(textwrap.indent(textwrap.dedent(f"""
        Try, in another terminal:
          curl -i '{api}/v1/orders?wait=5s' -H 'Idempotency-Key: mine-1' -H 'Content-Type: application/json' -d '{order}'
          curl '{api}/v1/orders/O-MINE'
          curl '{api}/v1/sagas?status=COMPENSATED&limit=3'
          curl '{api}/api/query?q=C-1001'
          curl '{service}/metrics'
          ./dev shell build/dev/bin/outrigger fault apply --admin {shlex.quote(str(stack.admin_socket))} --id slow --ttl 1m --delay 300ms
        """), "  "), flush=True)
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    while True:
        if signal.sigtimedwait(signals, 1.0):
            print()
            return []
        for daemon in stack.running:
            if not daemon.is_running():
                return [f"{daemon.name} ended by itself with exit code {daemon.process.returncode}:\n{daemon.log_tail()}"]


def run(options, folder):
    stack = Stack(options, folder)
    problems = []
    try:
        say("starting " + ("outrigger-participants, " if options.kafka_bootstrap else "") + "outrigger-service and outrigger-sidecar")
        stack.start()
        problems = send_orders(stack)
        if not options.once:
            for problem in problems:
                print(paint("wrong: ", "31") + problem)
            problems += keep_serving(stack)
    except daemons.DaemonError as problem:
        problems.append(str(problem))
    except KeyboardInterrupt:
        print()
        problems.append("interrupted")
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})  # ends in order, whatever is pressed
        say("stopping")
        problems += [f"{name} ended with exit code {code} when told to stop" for name, code in stack.stop().items()]
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--data")
    parser.add_argument("--kafka-bootstrap")
    parser.add_argument("--concurrency", type=int, default=16)
    options = parser.parse_args()
    if not options.once:
        # keep_serving() waits for these; until then Ctrl-C interrupts as usual.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    # In the checkout, so that the host sees the logs and the admin socket too.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=daemons.REPO / "build"))
    problems = ["the run broke off"]
    try:
        problems = run(options, folder)
    finally:
        if not problems or problems == ["interrupted"]:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"the logs are kept in {shown(folder / 'logs')}", file=sys.stderr)
    for problem in problems[:20]:
        print(paint("error: ", "31") + problem, file=sys.stderr)
    if len(problems) > 20:
        print(f"       and {len(problems) - 20} more", file=sys.stderr)
    if not problems:
        say(paint("every order ended as it must", "32"))
    sys.exit(1 if problems else 0)


main()
