"""Orders end as they must, whatever the participants do, and can be found."""
import concurrent.futures
import json
import re
import subprocess
import sys

import daemons
import order_client
from stack import StackTest, eventually, make_order


class Orders(StackTest):
    def test_the_orders_are_what_their_generator_writes(self):
        done = subprocess.run([sys.executable, daemons.REPO / "tools" / "generate_orders.py", "--check"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_two_hundred_orders_end_as_their_lines_say(self):
        service = self.start_service()
        outcomes = order_client.place_all(self.client(service), order_client.load_orders(daemons.ORDERS))
        self.assertEqual(len(outcomes), 200)
        self.assert_as_expected(outcomes)

    def test_they_end_the_same_when_participants_are_slow_and_fail_now_and_then(self):
        service = self.start_service("--participant-latency", "3ms", "--participant-failure-rate", "0.2", "--participant-seed", "42")
        outcomes = order_client.place_all(self.client(service), order_client.load_orders(daemons.ORDERS))
        self.assert_as_expected(outcomes)
        retried = [outcome for outcome in outcomes if any(step["attempt"] > 1 for step in outcome.saga["steps"])]
        self.assertTrue(retried, "no step was retried: the failures were not injected")

    def test_participants_slower_than_the_steps_timeout_have_each_effect_once(self):
        folder = self.folder / "definitions"
        folder.mkdir()
        text = (daemons.DEFINITIONS / "order-fulfilment.yaml").read_text()
        for key, value in (("timeout", "60ms"), ("attempts", "100"), ("backoff", "10ms")):
            text = re.sub(rf"\b{key}: \w+", f"{key}: {value}", text)
        (folder / "order-fulfilment.yaml").write_text(text)
        service = self.start_service("--participant-latency", "150ms", definitions=folder)
        outcomes = order_client.place_all(self.client(service), order_client.load_orders(daemons.ORDERS)[:40])
        self.assert_as_expected(outcomes)
        self.assertTrue(any(outcome.saga["steps"][0]["attempt"] > 1 for outcome in outcomes), "nothing timed out: the slowness was not injected")

    def test_refusals_name_their_reason(self):
        client = self.client(self.start_service())
        cases = {"unknown SKU KEEL": make_order("O-1", lines=[{"sku": "KEEL", "quantity": 1, "unit_price_cents": 1}]),
                 "not enough stock of MAST-SPRUCE": make_order("O-2", lines=[{"sku": "MAST-SPRUCE", "quantity": 1, "unit_price_cents": 1}]),
                 "no carrier delivers to AQ": make_order("O-3", country="AQ"),
                 "credit limit of C-9002 exceeded": make_order("O-4", customer_id="C-9002")}
        for reason, order in cases.items():
            with self.subTest(reason):
                outcome = client.place({"idempotency_key": order["order_id"], "order": order})
                self.assertEqual(outcome.status, "COMPENSATED")
                self.assertIn(reason, outcome.reason)

    def test_a_compensated_order_is_undone_in_reverse(self):
        client = self.client(self.start_service())
        outcome = client.place({"idempotency_key": "k", "order": make_order("O-1", customer_id="C-9002")})
        undone = [event["step"] for event in outcome.saga["history"] if event["event"] == "STEP_COMPENSATED"]
        self.assertEqual(undone, ["schedule-logistics", "reserve-inventory"])

    def test_a_repeated_key_answers_the_same_saga_even_at_once(self):
        client = self.client(self.start_service())
        line = {"idempotency_key": "same", "order": make_order("O-1")}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(lambda _: client.place(line), range(24)))
        self.assertEqual(len({outcome.saga["id"] for outcome in outcomes}), 1)
        self.assert_effects({outcomes[0].saga["id"]: "COMPLETED"})

    def test_an_order_is_found_by_saga_order_customer_and_sku(self):
        client = self.client(self.start_service())
        saga = client.place({"idempotency_key": "k", "order": make_order("O-77", customer_id="C-1003")}).saga
        for path in (f"/v1/orders/{saga['id']}", "/v1/orders/O-77", f"/v1/sagas/{saga['id']}"):
            status, _, body = client.request("GET", path)
            self.assertEqual((status, body["id"], body["status"]), (200, saga["id"], "COMPLETED"), path)
        for text in ("O-77", saga["id"], "C-1003", "PADDLE-OAK"):
            found = client.request("GET", f"/api/query?q={text}")[2]
            self.assertEqual([order["order_id"] for order in found["orders"]], ["O-77"], text)
        self.assertEqual(client.request("GET", "/api/query?q=nothing")[2]["orders"], [])

    def test_the_list_filters_and_pages(self):
        client = self.client(self.start_service())
        for i in range(5):
            client.place({"idempotency_key": f"k{i}", "order": make_order(f"O-{i}", country="AQ" if i == 3 else "DE")})
        seen, cursor = [], ""
        while True:
            page = client.request("GET", f"/v1/sagas?definition=order-fulfilment&limit=2&cursor={cursor}")[2]
            self.assertLessEqual(len(page["sagas"]), 2)
            seen += [saga["business_key"] for saga in page["sagas"]]
            cursor = page["next_cursor"]
            if not cursor:
                break
        self.assertEqual(sorted(seen), [f"O-{i}" for i in range(5)])
        compensated = client.request("GET", "/v1/sagas?status=COMPENSATED")[2]["sagas"]
        self.assertEqual([saga["business_key"] for saga in compensated], ["O-3"])
        self.assertEqual(len(client.request("GET", "/v1/sagas?newer_than=1h")[2]["sagas"]), 5)
        self.assertEqual(client.request("GET", "/v1/sagas?older_than=1h")[2]["sagas"], [])

    def test_a_long_poll_returns_with_the_next_version(self):
        client = self.client(self.start_service("--participant-latency", "100ms"))
        started = client.request("POST", "/v1/orders", make_order("O-1"), {"Idempotency-Key": "k"})
        self.assertEqual(started[0], 202)
        saga, versions = started[2], [started[2]["version"]]
        while saga["status"] == "RUNNING":
            saga = client.request("GET", f"/v1/sagas/{saga['id']}?wait=10s&after_version={versions[-1]}")[2]
            versions.append(saga["version"])
        self.assertEqual(saga["status"], "COMPLETED")
        self.assertEqual(versions, sorted(set(versions)), "every answer has a newer version")

    def test_an_operator_ends_a_saga_that_cannot_go_on(self):
        client = self.client(self.start_service("--participant-failure-rate", "1"))
        saga = client.request("POST", "/v1/orders", make_order("O-1"), {"Idempotency-Key": "k"})[2]
        self.assertEqual(client.request("POST", f"/v1/sagas/{saga['id']}:skip", {"actor": "ana", "reason": "x"})[0], 409)
        status, _, ended = client.request("POST", f"/v1/sagas/{saga['id']}:abandon", {"actor": "ana", "reason": "customer called"})
        self.assertEqual((status, ended["status"]), (200, "ABANDONED"))
        audit = [event["detail"] for event in ended["history"] if event["event"] == "OPERATOR_ACTION"]
        self.assertTrue(any("ana" in detail and "customer called" in detail for detail in audit), audit)

    def test_an_operator_acts_from_the_command_line(self):
        service = self.start_service("--participant-failure-rate", "1")
        saga = self.client(service).request("POST", "/v1/orders", make_order("O-1"), {"Idempotency-Key": "k"})[2]

        def operate(verb, *more):
            command = [daemons.programs_folder() / "outrigger", "saga", verb, saga["id"], "--reason", "ticket 4711", "--actor", "ana", "--output", "json", *more]
            return subprocess.run([*map(str, command), "--url", f"http://127.0.0.1:{service.ports['http']}"], capture_output=True, text=True, timeout=60)

        refused = operate("complete")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""), refused.stderr)
        self.assertIn("no step is stuck", refused.stderr)
        ended = operate("abandon")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        audit = [event["detail"] for event in json.loads(ended.stdout)["history"] if event["event"] == "OPERATOR_ACTION"]
        self.assertIn("abandon by ana: ticket 4711", audit)

    def test_a_repeated_start_answers_the_state_now_and_waits_if_asked_to(self):
        client = self.client(self.start_service("--participant-latency", "200ms"))
        key = {"Idempotency-Key": "k"}
        status, _, first = client.request("POST", "/v1/orders", make_order("O-1"), key)
        self.assertEqual(status, 202)
        status, headers, again = client.request("POST", "/v1/orders?wait=20s", make_order("O-1"), key)
        self.assertEqual((status, again["id"], again["status"]), (200, first["id"], "COMPLETED"))
        self.assertEqual(headers["Location"], f"/v1/orders/{first['id']}")
        status, _, ended = client.request("POST", "/v1/orders", make_order("O-1"), key)
        self.assertEqual((status, ended["id"], ended["status"]), (200, first["id"], "COMPLETED"))
        self.assertEqual(client.request("POST", "/v1/orders?wait=20s", make_order("O-2"), key)[0], 422)

    def test_trace_and_request_id_come_back(self):
        client = self.client(self.start_service())
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        headers = client.request("POST", "/v1/orders", make_order("O-1"), {"Idempotency-Key": "k", "X-Request-Id": "req-1", "traceparent": trace})[1]
        self.assertEqual(headers["X-Request-Id"], "req-1")
        self.assertTrue(headers["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-"))


class Operations(StackTest):
    def test_probes_and_metrics(self):
        service = self.start_service()
        operations = self.operations(service)
        for path in ("/livez", "/readyz"):
            self.assertEqual(operations.request("GET", path)[0], 200, path)
        self.client(service).place({"idempotency_key": "k", "order": make_order("O-1")})
        wanted = ('outrigger_sagas_finished_total{definition="order-fulfilment",outcome="COMPLETED"} 1', "outrigger_build_info{",
                  'outrigger_inbox_commands_total{participant="inventory",result="executed"} 1')
        text = eventually(lambda: (lambda body: body if all(line in body for line in wanted) else "")(operations.request("GET", "/metrics")[2]),
                          what=f"the metrics {wanted}")
        self.assertNotIn('participant="overflow"', text)

    def test_health_is_constant(self):
        status, _, body = self.client(self.start_service()).request("GET", "/api/health")
        self.assertEqual((status, body), (200, {"status": "ok"}))
