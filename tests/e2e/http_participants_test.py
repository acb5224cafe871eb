"""Participants in another language, called by HTTP: the example's three programs under the real service, killed and broken in turn."""
import http.client
import random
import re
import socket
import subprocess
import sys
import threading

import check_effects
import daemons
import order_client
from stack import StackTest, eventually, make_order

EXAMPLE = daemons.REPO / "examples" / "http-participants"
NAMES = {"inventory": 9101, "logistics": 9102, "invoicing": 9103}
# Quick to give up and to try again, so that the tests are.
QUICK = ("--http-participant-circuit-open", "50ms", "--http-participant-circuit-max-open", "200ms", "--http-participant-connect-timeout", "2s")


class Participant:
    """One of the example's programs; a restart takes the same port and database."""

    def __init__(self, name, folder, *flags):
        self.name, self.folder, self.flags, self.port = name, folder, flags, 0
        self.start()

    def start(self):
        port_file = self.folder / f"{self.name}.port"
        port_file.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen([sys.executable, EXAMPLE / f"{self.name}.py", "--port", str(self.port), "--data-dir", self.folder, "--port-file",
                                             port_file, *self.flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=daemons.die_with_parent)
        try:
            eventually(lambda: port_file.exists() or self.process.poll() is not None, what=f"{self.name} listens")
            self.port = int(port_file.read_text())
        except BaseException:
            self.kill()
            raise

    def kill(self):
        self.process.kill()
        self.process.wait()


class Breaker:
    """Stands before a participant and breaks it: passes bytes through, or answers every request wrongly, or never."""

    ANSWERS = {"500": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops",
               "garbage": b"\x16\x03\x01 this is no HTTP\r\n\r\n",
               "html": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>",
               "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"}

    def __init__(self, port):
        self.target, self.mode, self.hit = port, "pass", 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, mode):
        """Connections that are open are cut: the mode holds for every request from now on."""
        self.mode, self.hit = mode, 0
        for connection in list(self.open):
            self._shut(connection)

    def close(self):
        self._shut(self.listener)
        self.set("pass")

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.open.add(connection)
            threading.Thread(target=self._serve, args=(connection, self.mode), daemon=True).start()

    def _serve(self, connection, mode):
        try:
            if mode == "pass":
                with socket.create_connection(("127.0.0.1", self.target)) as onward:
                    threading.Thread(target=self._copy, args=(onward, connection), daemon=True).start()
                    self._copy(connection, onward)
                return
            while connection.recv(65536):
                self.hit += 1
                if mode in self.ANSWERS:
                    connection.sendall(self.ANSWERS[mode])
                    return
        except OSError:
            pass
        finally:
            self._shut(connection)
            self.open.discard(connection)

    def _copy(self, source, destination):
        try:
            while data := source.recv(65536):
                destination.sendall(data)
        except OSError:
            pass
        self._shut(destination)

    @staticmethod
    def _shut(connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()


class HttpParticipants(StackTest):
    def setUp(self):
        super().setUp()
        self.programs = {}
        self.addCleanup(lambda: [program.kill() for program in self.programs.values()])

    def start_participants(self, **flags):
        for name in NAMES:
            self.programs[name] = Participant(name, self.folder / "participants", *flags.get(name, ()))

    def definitions(self, timeout=None, **ports):
        """The example's definition with the ports that the programs have, or those given."""
        text = (EXAMPLE / "definitions" / "order-fulfilment.yaml").read_text()
        for name, port in NAMES.items():
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{ports.get(name, self.programs[name].port)}")
        if timeout:
            text = re.sub(r"timeout: \w+", f"timeout: {timeout}", text)
            text = re.sub(r"attempts: \d+", "attempts: 1000", text)
        folder = self.folder / "definitions"
        folder.mkdir(exist_ok=True)
        (folder / "order-fulfilment.yaml").write_text(text)
        return folder

    def serve(self, definitions, *extra):
        return self.start_service(*QUICK, *extra, definitions=definitions)

    def assert_effects(self, finished):
        count, problems = check_effects.check(self.folder / "participants", finished)
        self.assertEqual(problems, [])
        self.assertGreater(count, 0, "the check has seen nothing")

    def metric(self, service, name, **labels):
        """The sum of the series that have these labels."""
        text = self.operations(service).request("GET", "/metrics")[2]
        lines = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE)
        return sum(float(value) for found, value in lines if all(f'{key}="{wanted}"' in found for key, wanted in labels.items()))

    def assert_all_end(self, placing, lines):
        self.assertTrue(placing.finish(within=120), "orders are still under way")
        self.assertEqual(len(placing.outcomes), len(lines))
        self.assert_as_expected(placing.outcomes)

    @staticmethod
    def some_orders(count):
        """Orders that succeed and, every fifth, one that the last participant refuses."""
        return [{"idempotency_key": f"k{i}", "order": make_order(f"O-{i}", customer_id="C-9002" if i % 5 == 4 else "C-1001"),
                 "expect": "COMPENSATED" if i % 5 == 4 else "COMPLETED"} for i in range(count)]

    def test_every_order_ends_as_it_should_and_refusals_have_their_reason(self):
        self.start_participants()
        service = self.serve(self.definitions())
        lines = order_client.load_orders(daemons.ORDERS)
        outcomes = order_client.place_all(self.client(service), lines)
        self.assert_as_expected(outcomes)
        reasons = {outcome.reason for outcome in outcomes if outcome.status == "COMPENSATED"}
        for expected in ("unknown SKU", "not enough stock", "no carrier delivers to", "credit limit"):
            self.assertTrue(any(expected in reason for reason in reasons), f"nobody was refused for: {expected}")
        self.assertGreater(self.metric(service, "outrigger_http_participant_commands_total", result="refused"), 0)
        self.assertEqual(self.metric(service, "outrigger_http_participant_requests_in_flight"), 0)

    def test_kills_of_the_service_repeat_no_effect(self):
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"        seed {seed}")
        self.start_participants()
        definitions = self.definitions()
        service = self.serve(definitions)
        client = order_client.Client(service.ports["http"], timeout=15)
        lines = self.some_orders(120)
        placing = order_client.Placing(client, lines, concurrency=12, wait="2s")
        for target in sorted(random.Random(seed).sample(range(5, 110), 4)):
            placing.wait_for(target, within=60)
            service.kill()
            service = self.serve(definitions)
            client.port = service.ports["http"]
        self.assert_all_end(placing, lines)

    def test_kills_of_participants_repeat_no_effect(self):
        self.start_participants()
        service = self.serve(self.definitions(timeout="2s"))
        lines = self.some_orders(90)
        placing = order_client.Placing(self.client(service), lines, concurrency=12, wait="2s")
        for target, name in ((10, "inventory"), (30, "invoicing"), (50, "logistics")):
            placing.wait_for(target, within=60)
            self.programs[name].kill()
            eventually(lambda n=name: self.metric(service, "outrigger_http_participant_commands_total", participant=f"127.0.0.1:{self.programs[n].port}",
                                                  result="unreachable") > 0, what=f"{name} is missed")
            self.programs[name].start()
        self.assert_all_end(placing, lines)

    def test_a_participant_that_takes_its_time_is_asked_until_it_is_done(self):
        self.start_participants(logistics=("--takes", "0.3"))
        definitions = self.definitions()
        service = self.serve(definitions)
        client = self.client(service)
        lines = self.some_orders(10)
        placed = [client.place(line, wait="0") for line in lines]
        eventually(lambda: self.metric(service, "outrigger_http_participant_in_progress") > 0, what="a command is in progress")
        service.kill()
        service = self.serve(definitions)
        client = self.client(service)
        outcomes = [client.finish(outcome) for outcome in placed]
        self.assert_as_expected(outcomes)
        self.assertIn("STEP_IN_PROGRESS", [event["event"] for event in client.place(lines[0]).saga["history"]])
        self.assertGreater(self.metric(service, "outrigger_http_participant_polls_total"), 0)
        eventually(lambda: self.metric(service, "outrigger_http_participant_in_progress") == 0, what="nothing is in progress")

    def test_a_broken_participant_trips_its_breaker_and_recovers(self):
        self.start_participants()
        broken = Breaker(self.programs["logistics"].port)
        self.addCleanup(broken.close)
        service = self.serve(self.definitions(timeout="300ms", logistics=broken.port))
        client = self.client(service)
        name = f"127.0.0.1:{broken.port}"
        outcomes = []
        for mode, result in (("500", "status"), ("garbage", "malformed"), ("html", "malformed"), ("cut", "broken"), ("hang", "deadline")):
            with self.subTest(mode):
                opened = self.metric(service, "outrigger_http_participant_circuit_opened_total", participant=name)
                before = self.metric(service, "outrigger_http_participant_commands_total", participant=name, result=result)
                broken.set(mode)
                lines = [{**line, "idempotency_key": f"{mode}-{line['idempotency_key']}"} for line in self.some_orders(10)]
                placed = [client.place(line, wait="0") for line in lines]
                eventually(lambda o=opened: self.metric(service, "outrigger_http_participant_circuit_opened_total", participant=name) > o, what="the breaker opens")
                self.assertGreater(self.metric(service, "outrigger_http_participant_commands_total", participant=name, result=result), before)
                self.assertGreater(broken.hit, 0)
                # The others are called as before, while this one is not.
                order = make_order(f"O-{mode}", lines=[{"sku": "NO-SUCH", "quantity": 1, "unit_price_cents": 1}])
                self.assertEqual(client.place({"idempotency_key": f"other-{mode}", "order": order}).status, "COMPENSATED")
                broken.set("pass")
                outcomes += [client.finish(outcome) for outcome in placed]
                eventually(lambda: self.metric(service, "outrigger_http_participant_circuit_state", participant=name) == 0, what="the breaker closes")
        self.assert_as_expected(outcomes)

    def test_what_cannot_be_called_is_refused_at_the_start(self):
        self.start_participants()
        definitions = self.definitions()
        file = definitions / "order-fulfilment.yaml"
        text = file.read_text()
        for change, extra, says in ((lambda t: t.replace("http://", "https://"), (), "https is not supported"),
                                    (lambda t: t, ("--http-participant-hosts", "inventory.example"), "not among the hosts that may be called"),
                                    (lambda t: t, ("--journal", "kafka", "--kafka-bootstrap", "127.0.0.1:1"), "use --journal embedded")):
            with self.subTest(says):
                file.write_text(change(text))
                with self.assertRaises(daemons.DaemonError) as refused:
                    self.serve(definitions, *extra)
                self.assertIn(says, str(refused.exception))

    def test_the_inbox_of_the_example_refuses_a_do_after_its_undo(self):
        self.start_participants()
        connection = http.client.HTTPConnection("127.0.0.1", self.programs["inventory"].port, timeout=10)
        self.addCleanup(connection.close)
        answers = []
        for direction, command in (("undo", "ReleaseInventory"), ("do", "ReserveInventory"), ("do", "ReserveInventory"), ("undo", "ReleaseInventory")):
            body = '{"saga_id":"p1-x","command":"%s","input":{"lines":[{"sku":"PADDLE-OAK","quantity":1}]}}' % command
            connection.request("POST", "/x", body, {"Idempotency-Key": f"p1-x/reserve/{direction}"})
            answer = connection.getresponse()
            answers.append((answer.status, answer.read().decode()))
        self.assertEqual([status for status, _ in answers], [200, 409, 409, 200])
        self.assertIn("its undo came first", answers[1][1])
        self.assertEqual(answers[1], answers[2])
