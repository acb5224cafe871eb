"""A full disk refuses orders and loses none: 503, not ready, and in service again without a restart once there is space."""
import os
import pathlib
import subprocess
import tempfile

from stack import StackTest, eventually, make_order

FINISHED = ("COMPLETED", "COMPENSATED")
MOST_ORDERS = 2_000


class DiskFull(StackTest):
    """The data folder is a small file system of its own, in the mount namespace that the tests run in."""

    def setUp(self):
        super().setUp()
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="outrigger-disk-"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.data], check=True, timeout=20)

    def tearDown(self):
        super().tearDown()
        subprocess.run(["umount", "--lazy", self.data], check=True, timeout=20)
        self.data.rmdir()

    def fill(self):
        with open(self.data / "filler", "wb", buffering=0) as filler:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        filler.write(os.urandom(size))
                except OSError:
                    continue

    def test_orders_are_refused_until_there_is_space_and_none_is_lost(self):
        service = self.start_service()
        client, operations = self.client(service), self.operations(service)
        self.assertEqual(operations.request("GET", "/readyz")[0], 200)
        order_of = {}
        acknowledged = {}

        def place(key):
            order_of.setdefault(key, make_order(f"O-{key}", note="x" * 30_000))
            status, headers, body = client.request("POST", "/v1/orders", order_of[key], {"Idempotency-Key": key})
            if status in (200, 202):
                acknowledged[key] = body["id"]
            return status, headers

        for i in range(5):
            self.assertIn(place(f"before-{i}")[0], (200, 202))
        self.fill()
        for i in range(MOST_ORDERS):  # what RocksDB has allocated ahead is used up first
            refused = f"full-{i}"
            status, headers = place(refused)
            if status == 503:
                break
        self.assertEqual((status, headers["Retry-After"]), (503, "1"))
        eventually(lambda: operations.request("GET", "/readyz")[0] == 503, what="readiness is red")
        self.assertIn("disk is full", operations.request("GET", "/readyz?verbose")[2])
        self.assertEqual(operations.request("GET", "/livez")[0], 200, "a restart would not help")
        self.assertEqual(client.request("GET", "/api/health")[0], 200)

        (self.data / "filler").unlink()
        eventually(lambda: operations.request("GET", "/readyz")[0] == 200, within=60, what="readiness is green again")
        self.assertTrue(service.is_running(), "without a restart")
        eventually(lambda: place(refused)[0] in (200, 202), within=30, what="the refused order is taken under its key")
        ended = {}
        for key, saga_id in acknowledged.items():
            saga = eventually(lambda: (lambda body: body if body["status"] in FINISHED else None)(client.request("GET", f"/v1/sagas/{saga_id}?wait=20s")[2]),
                              within=60, what=f"{key} has ended")
            ended[saga_id] = saga["status"]
        self.assert_effects(ended)
        listed = client.request("GET", "/v1/sagas?limit=500")[2]["sagas"]
        self.assertEqual(len({saga["business_key"] for saga in listed}), len(listed), "no order was started twice")
