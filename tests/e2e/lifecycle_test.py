"""Start, drain and refusal of the service."""
import subprocess
import threading
import time

import daemons
import order_client
from stack import StackTest, eventually, make_order


class Drain(StackTest):
    def test_a_drain_under_load_loses_nothing_acknowledged(self):
        slow = ("--participant-latency", "20ms", "--drain-delay", "200ms")
        service = self.start_service(*slow)
        client = self.client(service)
        acknowledged, stop = [], threading.Event()
        lock = threading.Lock()

        def send(worker):
            for i in range(10_000):
                if stop.is_set():
                    return
                line = {"idempotency_key": f"{worker}-{i}", "order": make_order(f"O-{worker}-{i}"), "expect": "COMPLETED"}
                try:
                    status, _, body = client.request("POST", "/v1/orders", line["order"], {"Idempotency-Key": line["idempotency_key"]})
                except OSError:
                    return  # stopped
                except order_client.http.client.HTTPException:
                    return
                if status in (200, 202):
                    with lock:
                        acknowledged.append(order_client.Outcome(line, status, body))

        workers = [threading.Thread(target=send, args=(worker,)) for worker in range(4)]
        for worker in workers:
            worker.start()
        eventually(lambda: len(acknowledged) > 50, what="50 acknowledged orders")
        code = service.stop()
        stop.set()
        for worker in workers:
            worker.join(timeout=30)
        self.assertEqual(code, 0)
        restarted = self.start_service()
        client.port = restarted.ports["http"]
        self.assert_as_expected([client.finish(outcome) for outcome in acknowledged])

    def test_readiness_goes_first_and_requests_are_served_on(self):
        service = self.start_service("--drain-delay", "30s")
        operations, client = self.operations(service), self.client(service)
        service.terminate()
        eventually(lambda: operations.request("GET", "/readyz")[0] == 503, what="/readyz 503")
        self.assertEqual(operations.request("GET", "/livez")[0], 200)
        status, headers, _ = client.request("POST", "/v1/orders?wait=5s", make_order("O-1"), {"Idempotency-Key": "k"})
        self.assertEqual(status, 200)
        self.assertEqual(headers["Connection"], "close")
        service.terminate()  # a second signal: no more waiting
        self.assertEqual(service.wait(), 0)

    def test_a_client_that_waits_is_answered_before_the_end(self):
        service = self.start_service("--participant-failure-rate", "1")
        client = self.client(service)
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(client.request("POST", "/v1/orders?wait=50s", make_order("O-1"), {"Idempotency-Key": "k"})))
        waiting.start()
        other = self.client(service)
        eventually(lambda: other.request("GET", "/v1/sagas")[2]["sagas"], what="the saga")
        self.assertEqual(service.stop(), 0)
        waiting.join(timeout=30)
        self.assertEqual([answer[0] for answer in answers], [202])


class Refusal(StackTest):
    def run_service(self, *arguments):
        done = subprocess.run([daemons.programs_folder() / "outrigger-service", *map(str, arguments)], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def complete(self, http_port=0):
        return ("--data-dir", self.data, "--definitions", daemons.DEFINITIONS, "--catalogue", daemons.CATALOGUE, "--operations-port", 0, "--http-port", http_port)

    def test_a_second_service_on_the_same_data_is_refused_and_does_no_harm(self):
        service = self.start_service()
        code, _, log = self.run_service(*self.complete())
        self.assertEqual(code, 78)
        self.assertIn("open in another process", log)
        self.assertIn("--data-dir", log)
        self.assertEqual(self.client(service).place({"idempotency_key": "k", "order": make_order("O-1")}).status, "COMPLETED")

    def test_a_taken_port_is_named(self):
        service = self.start_service()
        self.data = self.folder / "other"
        code, _, log = self.run_service(*self.complete(service.ports["http"]))
        self.assertEqual(code, 69, log)
        self.assertIn(str(service.ports["http"]), log)

    def test_wrong_settings_say_where_and_what(self):
        config = self.folder / "service.yaml"
        config.write_text("http-port: 0\ndata-dri: /tmp\n")
        code, _, log = self.run_service("--config", config)
        self.assertEqual(code, 78)
        self.assertIn(f"{config}:2:1", log)
        self.assertIn("data-dir", log)
        code, _, log = self.run_service("--journal", "redis")
        self.assertEqual(code, 2)
        self.assertIn("embedded|kafka", log)
        code, _, log = self.run_service("--journal", "kafka")
        self.assertEqual(code, 2)
        self.assertIn("--kafka-bootstrap", log)

    def test_wrong_files_say_which(self):
        broken = self.folder / "definitions"
        broken.mkdir()
        (broken / "a.yaml").write_text("apiVersion: outrigger/v1\nkind: SagaDefinition\nmetadata: {name: a, version: 1}\nspec: {stepz: []}\n")
        code, _, log = self.run_service("--data-dir", self.data, "--definitions", broken, "--catalogue", daemons.CATALOGUE)
        self.assertEqual(code, 78)
        self.assertIn("a.yaml:4", log)
        code, _, log = self.run_service("--data-dir", self.data, "--definitions", daemons.DEFINITIONS, "--catalogue", self.folder / "none.yaml")
        self.assertEqual(code, 78)
        self.assertIn("none.yaml", log)

    def test_a_topic_that_nobody_serves_is_found_at_the_start(self):
        stray = self.folder / "definitions"
        stray.mkdir()
        text = (daemons.DEFINITIONS / "order-fulfilment.yaml").read_text()
        (stray / "a.yaml").write_text(text.replace("topic: cmd.logistics", "topic: cmd.logistic"))
        code, _, log = self.run_service(*self.complete()[:2], "--definitions", stray, "--catalogue", daemons.CATALOGUE)
        self.assertEqual(code, 78)
        self.assertIn("cmd.logistic", log)

    def test_help_and_version(self):
        code, out, _ = self.run_service("--help")
        self.assertEqual(code, 0)
        for key in ("--http-port", "--data-dir", "--journal", "--kafka-bootstrap", "--drain-timeout", "--port-file"):
            self.assertIn(key, out)
        code, out, _ = self.run_service("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^outrigger-service \d+\.\d+\.\d+\n$")


class Definitions(StackTest):
    def test_one_added_while_running_is_used_and_a_wrong_one_refused(self):
        folder = self.folder / "definitions"
        folder.mkdir()
        text = (daemons.DEFINITIONS / "order-fulfilment.yaml").read_text()
        (folder / "one.yaml").write_text(text)
        service = self.start_service("--definitions-interval", "20ms", definitions=folder)
        client = self.client(service)
        operations = self.operations(service)

        def version_of_a_start():
            key = f"k{time.monotonic_ns()}"
            status, _, saga = client.request("POST", "/v1/sagas/order-fulfilment?wait=10s", make_order(key), {"Idempotency-Key": key})
            self.assertEqual((status, saga["status"]), (200, "COMPLETED"), saga)
            return saga["definition_version"]

        self.assertEqual(version_of_a_start(), 1)
        (folder / "two.yaml").write_text(text.replace("version: 1", "version: 2", 1))
        eventually(lambda: version_of_a_start() == 2, what="a start with version 2")
        (folder / "three.yaml").write_text("kind: nonsense\n")
        eventually(lambda: "outrigger_definitions_refused 1" in operations.request("GET", "/metrics")[2], what="the refusal in the metrics")
        eventually(lambda: "three.yaml:1:" in service.log_text(), what="the file and line in the log")
        self.assertEqual(version_of_a_start(), 2)
        (folder / "three.yaml").unlink()
        eventually(lambda: "outrigger_definitions_refused 0" in operations.request("GET", "/metrics")[2], what="the end of the refusal")
