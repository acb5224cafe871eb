"""A saga's events as they happen: from the first, from where a lost stream ended, to the last."""
import http.client
import json

from stack import StackTest, eventually, make_order


class EventStream:
    """One stream of server-sent events. `ids` are those seen; comments are counted."""

    def __init__(self, port, saga_id, last_event_id=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connection.request("GET", f"/v1/sagas/{saga_id}/events", headers={} if last_event_id is None else {"Last-Event-ID": str(last_event_id)})
        self.answer = self.connection.getresponse()
        self.comments = 0

    def lines_until_blank(self):
        """The fields of one block, or None at the end of the stream."""
        fields = {}
        while line := self.answer.readline():
            line = line.decode().rstrip("\n")
            if not line:
                return fields
            if line.startswith(":"):
                self.comments += 1
            else:
                name, _, value = line.partition(": ")
                fields[name] = value
        return None

    def events(self, most=None):
        """(id, data) of the next events, up to the end of the stream or `most`."""
        found = []
        while (most is None or len(found) < most) and (fields := self.lines_until_blank()) is not None:
            if "data" in fields:
                found.append((int(fields["id"]), json.loads(fields["data"])))
        return found

    def close(self):
        self.answer.close()
        self.connection.close()


class Events(StackTest):
    def start_order(self, service, key="k"):
        return self.client(service).request("POST", "/v1/orders", make_order(f"O-{key}"), {"Idempotency-Key": key})[2]

    def open(self, daemon, saga, **options):
        stream = EventStream(daemon.ports["http"], saga["id"], **options)
        self.addCleanup(stream.close)
        return stream

    def open_streams(self, service):
        return next(float(line.split()[1]) for line in self.operations(service).request("GET", "/metrics")[2].splitlines()
                    if line.startswith("outrigger_api_event_streams "))

    def assert_is_history(self, service, saga, events):
        ended = self.client(service).request("GET", f"/v1/sagas/{saga['id']}")[2]
        self.assertEqual([data for _, data in events], ended["history"])
        self.assertEqual([number for number, _ in events], [event["sequence"] for event in ended["history"]])

    def test_a_stream_tells_everything_once_and_ends_with_the_saga(self):
        service = self.start_service("--participant-latency", "100ms")
        saga = self.start_order(service)
        stream = self.open(service, saga)
        self.assertEqual((stream.answer.status, stream.answer.headers["Content-Type"]), (200, "text/event-stream"))
        events = stream.events()
        self.assertEqual(events[-1][1]["event"], "SAGA_COMPLETED")
        self.assert_is_history(service, saga, events)
        eventually(lambda: self.open_streams(service) == 0, what="no stream is open")

    def test_a_lost_stream_goes_on_after_its_last_event(self):
        service = self.start_service("--participant-latency", "100ms")
        saga = self.start_order(service)
        lost = self.open(service, saga)
        first = lost.events(most=3)
        lost.close()
        rest = self.open(service, saga, last_event_id=first[-1][0]).events()
        self.assertTrue(rest)
        self.assert_is_history(service, saga, first + rest)
        self.assertEqual(self.open(service, saga, last_event_id=rest[-1][0]).events(), [], "nothing is told twice")

    def test_a_stream_survives_a_restart_of_the_service_by_its_last_event(self):
        service = self.start_service("--participant-failure-rate", "1")
        saga = self.start_order(service)
        first = self.open(service, saga).events(most=2)
        service.kill()
        service = self.start_service()
        rest = self.open(service, saga, last_event_id=first[-1][0]).events()
        self.assertEqual(rest[-1][1]["event"], "SAGA_COMPLETED")
        self.assert_is_history(service, saga, first + rest)

    def test_heartbeats_show_that_a_quiet_stream_lives(self):
        service = self.start_service("--participant-latency", "30s", "--event-heartbeat", "20ms")
        stream = self.open(service, self.start_order(service))
        while stream.comments < 3:
            self.assertIsNotNone(stream.lines_until_blank())

    def test_streams_are_bounded_and_a_client_that_goes_makes_room(self):
        service = self.start_service("--participant-latency", "30s", "--max-event-streams", "1")
        saga = self.start_order(service)
        first = self.open(service, saga)
        first.events(most=1)
        refused = self.open(service, saga)
        self.assertEqual((refused.answer.status, refused.answer.headers["Retry-After"]), (503, "1"))
        self.assertIn("outrigger_api_event_streams_refused_total 1", self.operations(service).request("GET", "/metrics")[2])
        first.close()
        eventually(lambda: self.open_streams(service) == 0, what="the stream that nobody reads is closed")
        self.assertEqual(self.open(service, saga).answer.status, 200)

    def test_a_stream_ends_when_the_service_stops(self):
        service = self.start_service("--participant-failure-rate", "1")
        stream = self.open(service, self.start_order(service))
        stream.events(most=1)
        service.terminate()
        stream.events()
        self.assertEqual(service.wait(), 0)

    def test_what_is_wrong_is_a_problem_and_no_stream(self):
        client = self.client(self.start_service())
        self.assertEqual(client.request("GET", "/v1/sagas/p1-01ARZ3NDEKTSV4RRFFQ69G5FAV/events")[0], 404)
        self.assertEqual(client.request("GET", "/v1/sagas/nonsense/events")[0], 400)
        self.assertEqual(client.request("GET", "/v1/sagas/p1-01ARZ3NDEKTSV4RRFFQ69G5FAV/events", headers={"Last-Event-ID": "x"})[0], 400)

    def test_events_pass_the_sidecar_while_the_saga_runs(self):
        service = self.start_service("--participant-latency", "1s")
        sidecar = self.start_sidecar(service)
        saga = self.start_order(service)
        stream = self.open(sidecar, saga)
        self.assertEqual(stream.events(most=1)[0][1]["event"], "SAGA_STARTED")
        self.assertEqual(self.client(service).request("GET", f"/v1/sagas/{saga['id']}")[2]["status"], "RUNNING")
        stream.close()
        eventually(lambda: self.open_streams(service) == 0, within=5.0, what="the service lets go of a client that left the sidecar")

    def test_a_stream_passes_the_sidecar(self):
        service = self.start_service("--participant-latency", "50ms")
        sidecar = self.start_sidecar(service)
        saga = self.start_order(service)
        self.assert_is_history(service, saga, self.open(sidecar, saga).events())
