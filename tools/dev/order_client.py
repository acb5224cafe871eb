"""Sends orders to a running Outrigger: repeats with the same key until it is answered, and knows what became of each."""
import concurrent.futures
import dataclasses
import http.client
import json
import threading
import time

FINISHED = {"COMPLETED", "COMPENSATED", "ABANDONED"}


class NotAnswered(Exception):
    pass


@dataclasses.dataclass
class Outcome:
    line: dict
    code: int = 0              # of the answer that acknowledged it
    saga: dict = dataclasses.field(default_factory=dict)
    problem: str = ""          # why there is none
    attempts: int = 0

    @property
    def status(self):
        return self.saga.get("status", "NOT ACKNOWLEDGED" if not self.code else f"HTTP {self.code}")

    @property
    def reason(self):
        return next((step["error"] for step in self.saga.get("steps", []) if step["error"]), "")


class Client:
    """One HTTP connection a thread to one address. Thread-safe."""

    def __init__(self, port, host="127.0.0.1", timeout=60.0):
        self.host, self.port, self.timeout = host, port, timeout
        self.has_given_up = threading.Event()  # set: until_answered() tries no more
        self._local = threading.local()

    def _connection(self):
        if getattr(self._local, "connection", None) is None:
            self._local.connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        return self._local.connection

    def close(self):
        if getattr(self._local, "connection", None) is not None:
            self._local.connection.close()
            self._local.connection = None

    def request(self, method, path, body=None, headers=None):
        """(status, headers, parsed body). Raises OSError or http.client.HTTPException when there is no answer."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        try:
            connection = self._connection()
            connection.request(method, path, body=body, headers={"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            self.close()
            raise
        if answer.will_close:
            self.close()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.status, answer.headers, json.loads(content) if is_json else content.decode(errors="replace")

    def until_answered(self, method, path, body=None, headers=None, within=60.0):
        """Repeats while nobody answers or the answer is 502, 503 or 504. Safe: the key makes it the same request."""
        end, attempts, last = time.monotonic() + within, 0, "never tried"
        while time.monotonic() < end and not self.has_given_up.is_set():
            attempts += 1
            try:
                status, answered, content = self.request(method, path, body, headers)
                if status not in (502, 503, 504):
                    return status, answered, content, attempts
                last = f"HTTP {status}"
            except (OSError, http.client.HTTPException) as problem:
                last = f"{type(problem).__name__}: {problem}"
            time.sleep(0.05)
        raise NotAnswered(f"no answer to {method} {path} within {within:g} s; the last try: {last}")

    def place(self, line, wait="10s", within=60.0):
        outcome = Outcome(line)
        try:
            status, _, content, outcome.attempts = self.until_answered("POST", f"/v1/orders?wait={wait}", line["order"],
                                                                      {"Idempotency-Key": line["idempotency_key"]}, within)
        except NotAnswered as problem:
            outcome.problem = str(problem)
            return outcome
        outcome.code = status
        if status in (200, 202):
            outcome.saga = content
        else:
            outcome.problem = content.get("detail", "") if isinstance(content, dict) else str(content)
        return outcome

    def finish(self, outcome, within=60.0):
        """Waits until the outcome's saga is finished."""
        end = time.monotonic() + within
        while outcome.saga and outcome.status not in FINISHED and time.monotonic() < end:
            try:
                status, _, content, _ = self.until_answered("GET", f"/v1/sagas/{outcome.saga['id']}?wait=5s", within=end - time.monotonic())
            except NotAnswered as problem:
                outcome.problem = str(problem)
                break
            if status == 200:
                outcome.saga = content
            else:
                outcome.problem = f"HTTP {status}: {content}"
                break
        return outcome


def load_orders(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def place_all(client, lines, concurrency=16, within=60.0, wait="10s", on_outcome=None):
    """Outcomes in the order of the lines, each finished if it was acknowledged."""
    def one(line):
        outcome = client.finish(client.place(line, wait, within), within)
        if on_outcome:
            on_outcome(outcome)
        return outcome

    with concurrent.futures.ThreadPoolExecutor(concurrency) as pool:
        return list(pool.map(one, lines))


class Placing:
    """place_all() on a thread of its own, which counts the orders that have ended."""

    def __init__(self, client, lines, **options):
        self._client = client
        self.outcomes, self._ended, self._changed = [], 0, threading.Condition()
        self._thread = threading.Thread(target=lambda: self.outcomes.extend(place_all(client, lines, on_outcome=self._count, **options)))
        self._thread.start()

    def wait_for(self, ended, within):
        """Until so many orders have ended, else an AssertionError that says how many have."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._ended >= ended, timeout=within):
                self._client.has_given_up.set()  # else the program would not end before the last order's patience
                raise AssertionError(f"only {self._ended} orders ended")

    def finish(self, within):
        """True: all have ended, `outcomes` is complete."""
        self._thread.join(timeout=within)
        if self._thread.is_alive():
            self._client.has_given_up.set()
        return not self._thread.is_alive()

    def _count(self, _):
        with self._changed:
            self._ended += 1
            self._changed.notify_all()


def problems_of(outcomes):
    """What did not end as its line says: one text a problem."""
    problems, first_saga = [], {}
    for outcome in outcomes:
        key, expected = outcome.line["idempotency_key"], outcome.line["expect"]
        if outcome.status != expected:
            problems.append(f"{key}: expected {expected}, ended {outcome.status} {outcome.problem or outcome.reason}".rstrip())
        elif first_saga.setdefault(key, outcome.saga["id"]) != outcome.saga["id"]:
            problems.append(f"{key}: the repeated key started another saga, {outcome.saga['id']} beside {first_saga[key]}")
    return problems
