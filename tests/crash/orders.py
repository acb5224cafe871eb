"""Orders without end for the crash suite, and what their senders know: what was acknowledged, what has ended and how."""
import http.client
import itertools
import threading
import time

import order_client

# (what is changed in the order, how it must end); half of them take the way back, from each of the steps.
KINDS = [({}, "COMPLETED"), ({}, "COMPLETED"), ({}, "COMPLETED"), ({"country": "AQ"}, "COMPENSATED"), ({"customer_id": "C-9002"}, "COMPENSATED"),
         ({"lines": [{"sku": "MAST-SPRUCE", "quantity": 1, "unit_price_cents": 100}]}, "COMPENSATED")]
FINISHED = {"COMPLETED", "COMPENSATED"}
RETRY_PAUSE = 0.02


def make_line(number):
    changed, expect = KINDS[number % len(KINDS)]
    order = {"order_id": f"O-{number}", "customer_id": "C-1001", "country": "DE", "lines": [{"sku": "ROPE-HEMP", "quantity": 1, "unit_price_cents": 100}]}
    return {"idempotency_key": f"crash-{number}", "order": {**order, **changed}, "expect": expect}


class Senders:
    """Some threads, each with one order at a time: repeats it with its key until it is acknowledged, then asks until it has ended."""

    def __init__(self, threads):
        self.port = 0
        self.changed = threading.Condition()
        self.acknowledged, self.ended, self.problems = {}, {}, []  # saga id -> line; saga id -> status; texts
        self._numbers, self._stop = itertools.count(), threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(threads)]

    def start(self, port):
        self.port = port
        for thread in self._threads:
            thread.start()

    def finish(self, within):
        """No new orders; waits until those under way have ended."""
        self._stop.set()
        end = time.monotonic() + within
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def in_flight(self):
        return len(self.acknowledged) - len(self.ended)

    def wait_for(self, condition, within):
        with self.changed:
            return self.changed.wait_for(condition, within)

    def _answer(self, client, method, path, body=None, headers=None):
        """(status, content) once somebody answers with something other than 503; follows the service to its next port."""
        while True:
            client.port = self.port
            try:
                status, _, content = client.request(method, path, body, headers)
                if status != 503:
                    return status, content
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(RETRY_PAUSE)

    def _send(self):
        client = order_client.Client(0, timeout=10)
        while not self._stop.is_set():
            line = make_line(next(self._numbers))
            status, saga = self._answer(client, "POST", "/v1/orders?wait=0s", line["order"], {"Idempotency-Key": line["idempotency_key"]})
            if status not in (200, 202):
                self._note(lambda: self.problems.append(f"{line['idempotency_key']}: HTTP {status} {saga}"))
                continue
            self._note(lambda: self.acknowledged.__setitem__(saga["id"], line))
            while saga["status"] not in FINISHED:
                status, answer = self._answer(client, "GET", f"/v1/sagas/{saga['id']}?wait=5s")
                if status != 200:
                    self._note(lambda: self.problems.append(f"{line['idempotency_key']} was acknowledged as {saga['id']}: now HTTP {status} {answer}"))
                    break
                saga = answer
            if saga["status"] in FINISHED:
                self._note(lambda: self.ended.__setitem__(saga["id"], saga["status"]))
                if saga["status"] != line["expect"]:
                    self._note(lambda: self.problems.append(f"{line['idempotency_key']}: expected {line['expect']}, ended {saga['status']}"))
        client.close()

    def _note(self, change):
        with self.changed:
            change()
            self.changed.notify_all()
