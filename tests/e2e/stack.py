"""What the end-to-end tests share: a folder of their own, programs that end with the test, waiting with a deadline."""
import pathlib
import shutil
import tempfile
import time
import unittest

import check_effects
import daemons
import order_client


def eventually(condition, within=20.0, what="the condition"):
    """Polls until it holds; its value."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what} did not hold within {within:g} s")


def make_order(order_id, **changed):
    order = {"order_id": order_id, "customer_id": "C-1001", "country": "DE", "lines": [{"sku": "PADDLE-OAK", "quantity": 1, "unit_price_cents": 8990}]}
    return {**order, **changed}


class StackTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="outrigger-e2e-"))
        self.data = self.folder / "data"
        self.started = []

    def tearDown(self):
        for daemon in reversed(self.started):
            daemon.kill()
        outcome = self._outcome.result
        if outcome.failures and outcome.failures[-1][0] is self or outcome.errors and outcome.errors[-1][0] is self:
            for daemon in self.started:
                print(f"--- the last lines of {daemon.log_file.name}:\n{daemon.log_tail()}" if daemon.log_file.exists() else "")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_service(self, *extra, **options):
        """outrigger-service on free ports, without delay in its drain."""
        if "--drain-delay" not in extra:
            extra = (*extra, "--drain-delay", "0")
        service = daemons.start_service(self.folder, self.data, *extra, **options)
        self.started.append(service)
        return service

    def start_sidecar(self, service, *extra):
        sidecar = daemons.Daemon("outrigger-sidecar", ["--http-port", 0, "--health-port", 0, "--upstream", f"127.0.0.1:{service.ports['http']}", "--admin-socket",
                                                       self.folder / "admin.sock", *extra], self.folder)
        self.started.append(sidecar)
        return sidecar

    @staticmethod
    def client(daemon):
        return order_client.Client(daemon.ports["http"])

    @staticmethod
    def operations(daemon):
        return order_client.Client(daemon.ports["operations"])

    def assert_effects(self, finished):
        """Every effect exactly once, proved from the participants' databases alone, and as the clients were told."""
        count, problems = check_effects.check(self.data / "participants", finished)
        self.assertEqual(problems, [])
        self.assertGreater(count, 0, "the check has seen nothing")

    def assert_as_expected(self, outcomes):
        self.assertEqual(order_client.problems_of(outcomes), [])
        self.assert_effects({outcome.saga["id"]: outcome.status for outcome in outcomes})
