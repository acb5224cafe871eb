#!/usr/bin/env python3
"""orders_on_kafka.py [TEST…]: the 200 orders through outrigger-service and outrigger-participants on the real brokers that
`cluster.sh with` started. Tests: Smoke and Fence (one broker is enough), Crash (three). Ends only processes that it started."""
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools" / "dev"), str(ROOT / "tools")]
import check_effects  # noqa: E402
import daemons  # noqa: E402
import order_client  # noqa: E402

BOOTSTRAP = os.environ.get("OUTRIGGER_KAFKA_BOOTSTRAP", "")
LAST_EVENTS = {"SAGA_COMPLETED": "COMPLETED", "SAGA_COMPENSATED": "COMPENSATED"}


def cluster(action, node):
    subprocess.run(["bash", os.environ["OUTRIGGER_KAFKA_CLUSTER"], action, str(node), "--state", os.environ["OUTRIGGER_KAFKA_STATE"]], check=True)


def read_history(generation_topic="saga.history"):
    """saga -> [(sequence, event)], committed records only, from the headers."""
    printed = subprocess.run(["kcat", "-b", BOOTSTRAP, "-C", "-q", "-e", "-t", generation_topic, "-o", "beginning", "-X", "isolation.level=read_committed", "-f", "%h\n"],
                             check=True, capture_output=True, timeout=60).stdout.decode(errors="replace")
    history = collections.defaultdict(list)
    for line in printed.splitlines():
        headers = dict(item.split("=", 1) for item in line.split(",") if "=" in item)
        saga, sequence = headers["ce_id"].rsplit("/", 1)
        history[saga].append((int(sequence), headers["ce_type"]))
    return history


class OnKafka(unittest.TestCase):
    def setUp(self):
        self.assertTrue(BOOTSTRAP, "OUTRIGGER_KAFKA_BOOTSTRAP is not set: run ./dev test kafka or kafka-smoke, which start brokers")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="outrigger-kafka-test-"))
        self.generation = f"t{os.getpid()}{time.monotonic_ns() % 100_000}"
        self.started = []

    def tearDown(self):
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            for daemon in self.started:
                # Which process ended by itself, and what it said besides the connections it tried.
                lines = [line for line in daemon.log_text().splitlines() if '"facility":"FAIL"' not in line and "_TRANSPORT" not in line]
                state = "runs" if daemon.is_running() else f"ended with {daemon.process.returncode}"
                print(f"--- {daemon.name} {state}; its log:\n" + "\n".join(line[:500] for line in lines[-25:]), file=sys.stderr)
        for daemon in reversed(self.started):
            daemon.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_participants(self, *extra):
        daemon = daemons.Daemon("outrigger-participants", ["--kafka-bootstrap", BOOTSTRAP, "--kafka-create-topics", "--data-dir", self.folder / "participants", "--catalogue",
                                                           daemons.CATALOGUE, "--operations-port", 0, "--instance", f"participants-{self.generation}", *extra],
                                self.folder / "logs", ready_within=90)
        self.started.append(daemon)
        return daemon

    def start_service(self, *extra):
        daemon = daemons.start_service(self.folder / "logs", self.folder / "service", "--journal", "kafka", "--kafka-bootstrap", BOOTSTRAP, "--kafka-create-topics",
                                       "--kafka-topic-generation", self.generation, "--instance", f"service-{self.generation}", *extra, ready_within=90)
        self.started.append(daemon)
        return daemon

    def assert_effects(self, outcomes):
        self.assertEqual(order_client.problems_of(outcomes), [])
        finished = {outcome.saga["id"]: outcome.status for outcome in outcomes}
        count, problems = check_effects.check(self.folder / "participants", finished)
        self.assertEqual(problems, [])
        self.assertGreater(count, len(finished))
        return finished

    def assert_history(self, finished):
        history = read_history()
        for saga, status in finished.items():
            events = sorted(history.get(saga, []))
            self.assertEqual([sequence for sequence, _ in events], list(range(1, len(events) + 1)), f"{saga}: the history has a gap or a line twice")
            self.assertEqual([LAST_EVENTS[event] for _, event in events if event in LAST_EVENTS], [status], saga)


class Smoke(OnKafka):
    def test_the_two_hundred_orders_end_as_their_lines_say(self):
        self.start_participants()
        service = self.start_service()
        outcomes = order_client.place_all(order_client.Client(service.ports["http"]), order_client.load_orders(daemons.ORDERS))
        self.assertEqual(len(outcomes), 200)
        self.assert_history(self.assert_effects(outcomes))
        # Every payload fitted the schema of its type, and nothing was refused.
        for daemon in self.started:
            _, _, metrics = order_client.Client(daemon.ports["operations"]).request("GET", "/metrics")
            for name in ("contract_fallbacks_total", "dead_letters_total"):
                self.assertEqual([line for line in metrics.splitlines() if name in line and not line.startswith("#") and not line.endswith(" 0")], [])
        self.assertEqual([daemon.stop() for daemon in reversed(self.started)], [0, 0])
        self.assertNotIn('"level":"error"', service.log_text())


class Fence(OnKafka):
    def test_a_second_service_of_the_same_name_ends_the_first_with_78(self):
        self.start_participants()
        first = self.start_service("--drain-delay", "0ms")
        second = daemons.start_service(self.folder / "second", self.folder / "second-data", "--journal", "kafka", "--kafka-bootstrap", BOOTSTRAP,
                                       "--kafka-topic-generation", self.generation, "--instance", f"service-{self.generation}", ready_within=90)
        self.started.append(second)
        self.assertEqual(first.wait(within=60), 78)
        self.assertIn(f"another process runs with the instance name service-{self.generation}", first.log_text())
        line = order_client.load_orders(daemons.ORDERS)[0]
        outcome = order_client.place_all(order_client.Client(second.ports["http"]), [line])[0]
        self.assertEqual(outcome.status, line["expect"])

    def test_two_services_share_the_work_and_one_alone_takes_it_over(self):
        self.start_participants()
        first = self.start_service()
        second = daemons.start_service(self.folder / "second", self.folder / "second-data", "--journal", "kafka", "--kafka-bootstrap", BOOTSTRAP,
                                       "--kafka-topic-generation", self.generation, "--instance", f"other-{self.generation}", ready_within=90)
        self.started.append(second)
        owned = lambda daemon: self.metric(daemon, "outrigger_saga_partitions_owned")
        self.until(lambda: owned(first) == 6 and owned(second) == 6, "six partitions each")
        second.kill()
        self.until(lambda: owned(first) == 12, "all partitions back after the session timeout", within=60)
        outcomes = order_client.place_all(order_client.Client(first.ports["http"]), order_client.load_orders(daemons.ORDERS)[:40])
        self.assertEqual(order_client.problems_of(outcomes), [])

    def metric(self, daemon, name):
        _, _, text = order_client.Client(daemon.ports["operations"]).request("GET", "/metrics")
        return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(name)), None)

    def until(self, condition, what, within=40):
        end = time.monotonic() + within
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)


class Crash(OnKafka):
    def test_kills_of_service_participants_and_a_broker_lose_nothing_and_repeat_nothing(self):
        slow = ("--participant-latency", "30ms", "--participant-failure-rate", "0.05")
        participants, service = self.start_participants(*slow), self.start_service()
        client = order_client.Client(service.ports["http"], timeout=20)
        placing = order_client.Placing(client, order_client.load_orders(daemons.ORDERS), concurrency=12, within=180, wait="2s")
        placing.wait_for(30, within=120)
        service.kill()
        service = self.start_service()
        client.port = service.ports["http"]
        placing.wait_for(70, within=120)
        cluster("kill", 2)
        placing.wait_for(110, within=120)
        participants.kill()
        participants = self.start_participants(*slow)
        placing.wait_for(130, within=120)
        cluster("restart", 2)
        service.kill()
        service = self.start_service()
        client.port = service.ports["http"]
        self.assertTrue(placing.finish(within=240), "the orders did not end")
        self.assert_history(self.assert_effects(placing.outcomes))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
