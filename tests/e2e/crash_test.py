"""SIGKILL at random points: what was acknowledged ends, and nothing happens twice."""
import random

import daemons
import order_client
from stack import StackTest

KILLS = 6


class Crash(StackTest):
    def crash_and_restart(self, service, client, *extra):
        service.kill()
        service = self.start_service(*extra)
        client.port = service.ports["http"]
        return service

    def test_orders_survive_kills_at_random_points(self):
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"        seed {seed}")
        dice = random.Random(seed)
        slow = ("--participant-latency", "4ms", "--participant-failure-rate", "0.1", "--participant-seed", str(seed))
        service = self.start_service(*slow)
        client = order_client.Client(service.ports["http"], timeout=15)
        lines = order_client.load_orders(daemons.ORDERS)
        kill_after = sorted(dice.sample(range(5, 180), KILLS))
        placing = order_client.Placing(client, lines, concurrency=12, wait="2s")
        for target in kill_after:
            placing.wait_for(target, within=60)
            service = self.crash_and_restart(service, client, *slow)
        self.assertTrue(placing.finish(within=90), "orders are still under way")
        self.assert_as_expected(placing.outcomes)

    def test_what_was_only_acknowledged_ends_without_being_asked_for(self):
        service = self.start_service("--participant-latency", "50ms")
        client = self.client(service)
        lines = [line for line in order_client.load_orders(daemons.ORDERS) if line["because"] != "repeated key"][:40]
        acknowledged = [client.place(line, wait="0") for line in lines]
        self.assertTrue(all(outcome.code == 202 for outcome in acknowledged))
        service = self.crash_and_restart(service, client)
        self.assert_as_expected([client.finish(outcome) for outcome in acknowledged])

    def test_the_same_key_after_a_crash_is_the_same_saga(self):
        service = self.start_service()
        client = self.client(service)
        line = order_client.load_orders(daemons.ORDERS)[0]
        first = client.place(line)
        self.crash_and_restart(service, client)
        again = client.place(line)
        self.assertEqual(again.saga["id"], first.saga["id"])
        self.assertEqual(again.code, 200, "finished already: the answer is at once")
        self.assert_effects({first.saga["id"]: "COMPLETED"})
