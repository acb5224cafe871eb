"""What clients get wrong is answered precisely, and the service goes on."""
import json

from stack import StackTest, make_order

KEY = {"Idempotency-Key": "k"}


class BadInput(StackTest):
    def test_each_wrong_request_gets_its_problem(self):
        client = self.client(self.start_service())
        one_line = {"sku": "PADDLE-OAK", "quantity": 0, "unit_price_cents": 1}
        cases = [  # name, method, path, body, headers, status, part of title or detail, pointers
            ("malformed JSON", "POST", "/v1/orders", "{", KEY, 400, "not JSON", None),
            ("not UTF-8", "POST", "/v1/orders", b'{"order_id":"\xff"}', KEY, 400, "not JSON", None),
            ("a list", "POST", "/v1/orders", "[]", KEY, 400, "not a JSON object", None),
            ("empty body", "POST", "/v1/orders", "", KEY, 400, "not JSON", None),
            ("missing fields", "POST", "/v1/orders", "{}", KEY, 400, "/order_id is missing", ["/order_id", "/customer_id", "/country", "/lines"]),
            ("a wrong line", "POST", "/v1/orders", make_order("O", lines=[one_line]), KEY, 400, "whole number", ["/lines/0/quantity"]),
            ("missing key", "POST", "/v1/orders", make_order("O"), {}, 400, "Idempotency-Key", None),
            ("another media type", "POST", "/v1/orders", "a=b", {**KEY, "Content-Type": "application/x-www-form-urlencoded"}, 415, "application/json", None),
            ("bad wait", "POST", "/v1/orders?wait=5", make_order("O"), KEY, 400, "wait", None),
            ("unknown definition", "POST", "/v1/sagas/none", "{}", KEY, 404, "none", None),
            ("unknown saga", "GET", "/v1/sagas/p1-01ARZ3NDEKTSV4RRFFQ69G5FAV", None, {}, 404, "", None),
            ("not a saga id", "GET", "/v1/sagas/O-1", None, {}, 400, "", None),
            ("unknown order", "GET", "/v1/orders/O-none", None, {}, 404, "", None),
            ("unknown status", "GET", "/v1/sagas?status=DONE", None, {}, 400, "status", None),
            ("bad cursor", "GET", "/v1/sagas?cursor=zzz", None, {}, 400, "cursor", None),
            ("bad limit", "GET", "/v1/sagas?limit=0", None, {}, 400, "limit", None),
            ("query without q", "GET", "/api/query", None, {}, 400, "q:", None),
            ("unknown action", "POST", "/v1/sagas/p1-01ARZ3NDEKTSV4RRFFQ69G5FAV:explode", None, {}, 404, "explode", None),
        ]
        for name, method, path, body, headers, expected, says, pointers in cases:
            with self.subTest(name):
                status, answered, problem = client.request(method, path, body, headers)
                self.assertEqual(status, expected, problem)
                self.assertEqual(answered["Content-Type"], "application/problem+json")
                self.assertEqual(problem["status"], expected)
                self.assertIn(says, problem["title"] + problem["detail"])
                if pointers:
                    self.assertEqual([error["pointer"] for error in problem["errors"]], pointers)
        self.assertEqual(client.place({"idempotency_key": "after", "order": make_order("O-1")}).status, "COMPLETED")

    def test_a_key_with_another_payload_is_refused_and_with_the_same_in_other_words_is_not(self):
        client = self.client(self.start_service())
        order = make_order("O-1")
        first = client.place({"idempotency_key": "k", "order": order})
        status, _, problem = client.request("POST", "/v1/orders", {**order, "country": "DK"}, KEY)
        self.assertEqual(status, 422, problem)
        reordered = json.dumps(dict(reversed(order.items())), indent=3)
        status, _, saga = client.request("POST", "/v1/orders", reordered, KEY)
        self.assertEqual((status, saga["id"]), (200, first.saga["id"]))

    def test_a_huge_body_is_refused(self):
        client = self.client(self.start_service("--max-body-bytes", "4096"))
        try:
            status = client.request("POST", "/v1/orders", "[" + "1," * 100_000 + "1]", KEY)[0]
        except OSError:
            status = 413  # the connection was closed while the body was still on its way
        self.assertEqual(status, 413)
        self.assertEqual(client.request("GET", "/api/health")[0], 200)

    def test_deep_nesting_does_no_harm(self):
        client = self.client(self.start_service())
        deep = '{"x":' * 20_000 + "1" + "}" * 20_000
        for body in ("[" * 100_000, deep, json.dumps(make_order("O-1", note="@")).replace('"@"', deep)):
            status, _, problem = client.request("POST", "/v1/orders", body, KEY)
            self.assertEqual((status, "nested deeper" in problem["detail"]), (400, True), problem)
        self.assertEqual(client.request("GET", "/api/health")[0], 200)

    def test_what_was_asked_for_is_escaped_in_the_answer(self):
        client = self.client(self.start_service())
        answer = client.request("GET", "/api/query?q=%22%7D%3Cscript%3E%0A")[2]
        self.assertEqual(answer["query"], '"}<script>\n')
