"""What the service answers is what its OpenAPI document says: every operation and every described success, against the schemas."""
import copy
import re

import jsonschema

from stack import StackTest, make_order

UNKNOWN_SAGA = "p1-01ARZ3NDEKTSV4RRFFQ69G5FAV"


def closed(document):
    """The document with every object schema refusing what it does not name: an answer's field that is not described fails the test."""
    document = copy.deepcopy(document)

    def close(schema):
        if isinstance(schema, dict):
            if "properties" in schema and schema.get("type") == "object":
                schema.setdefault("additionalProperties", False)
            for value in schema.values():
                close(value)
        elif isinstance(schema, list):
            for value in schema:
                close(value)

    close(document["components"]["schemas"])
    return document


class Description:
    def __init__(self, document):
        self.document = closed(document)
        self.seen = set()

    def operation(self, method, path):
        """(template, operation) of a request's path; the most literal template wins."""
        found = []
        for template, item in self.document["paths"].items():
            pattern = re.sub(r"\\{[^}]*\\}", "[^/:]+", re.escape(template))
            if method.lower() in item and re.fullmatch(pattern, path):
                found.append((template.count("{"), template, item[method.lower()]))
        return min(found, key=lambda each: each[0])[1:]

    def resolve(self, node):
        while "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def check(self, method, target, status, headers, body):
        template, operation = self.operation(method, target.split("?")[0])
        described = self.resolve(operation["responses"][str(status)])
        media = headers["Content-Type"].split(";")[0]
        schema = described["content"][media]["schema"]
        whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "components": self.document["components"]}
        jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker()).validate(body)
        for name, header in described.get("headers", {}).items():
            assert headers[name] is not None, f"{method} {target}: no header {name}"
        self.seen.add((method.lower(), template, str(status)))


class OpenApi(StackTest):
    def test_answers_are_as_described(self):
        client = self.client(self.start_service("--participant-latency", "20ms", "--max-body-bytes", "65536"))
        description = Description(client.request("GET", "/openapi.json")[2])

        def ask(method, target, body=None, headers=None, status=200):
            answer = client.request(method, target, body, headers)
            self.assertEqual(answer[0], status, (method, target, answer[2]))
            description.check(method, target, *answer)
            return answer[2]

        def key(name):
            return {"Idempotency-Key": name}

        ask("GET", "/openapi.json")
        ask("GET", "/api/health")
        order = ask("POST", "/v1/orders", make_order("O-1"), key("k1"), 202)
        ask("POST", "/v1/orders?wait=20s", make_order("O-1"), key("k1"))
        ask("POST", "/v1/orders?wait=20s", make_order("O-2", country="AQ"), key("k2"))
        ask("POST", "/v1/orders", make_order("O-3"), key("k1"), 422)
        ask("POST", "/v1/orders", make_order("O-3", country="nowhere"), key("k3"), 400)
        ask("POST", "/v1/orders", "a=b", {**key("k4"), "Content-Type": "text/plain"}, 415)
        ask("GET", "/v1/orders/O-1")
        ask("GET", f"/v1/orders/{order['id']}?wait=1s")
        ask("GET", "/v1/orders/O-none", status=404)
        ask("POST", "/v1/sagas/order-fulfilment?business_key=O-4", make_order("O-4"), key("k5"), 202)
        ask("POST", "/v1/sagas/order-fulfilment?business_key=O-4&wait=20s", make_order("O-4"), key("k5"))
        ask("POST", "/v1/sagas/none", {}, key("k6"), 404)
        ask("GET", f"/v1/sagas/{order['id']}")
        ask("GET", f"/v1/sagas/{order['id']}/events")
        ask("GET", f"/v1/sagas/{UNKNOWN_SAGA}/events", status=404)
        ask("GET", f"/v1/sagas/{UNKNOWN_SAGA}", status=404)
        ask("GET", "/v1/sagas/nonsense", status=400)
        ask("GET", "/v1/sagas?limit=1&newer_than=1h")
        ask("GET", "/v1/sagas?status=DONE", status=400)
        ask("GET", "/api/query?q=C-1001")
        ask("GET", "/api/query", status=400)
        for verb in (template.rpartition(":")[2] for template in description.document["paths"] if ":" in template):
            ask("POST", f"/v1/sagas/{order['id']}:{verb}", {"actor": "ana", "reason": "too late"}, status=409)
            ask("POST", f"/v1/sagas/{UNKNOWN_SAGA}:{verb}", status=404)
        self.assertEqual(self.successes(description) - description.seen, {("post", "/v1/sagas/{id}:" + verb, "200") for verb in self.verbs(description)})

    def test_an_operators_answer_is_as_described(self):
        client = self.client(self.start_service("--participant-failure-rate", "1"))
        description = Description(client.request("GET", "/openapi.json")[2])
        for verb in ("compensate", "abandon"):
            saga = client.request("POST", "/v1/orders", make_order(f"O-{verb}"), {"Idempotency-Key": verb})[2]
            target = f"/v1/sagas/{saga['id']}:{verb}"
            answer = client.request("POST", target, {"actor": "ana", "reason": "r"})
            self.assertEqual(answer[0], 200, answer[2])
            description.check("POST", target, *answer)

    def test_the_check_finds_what_is_not_described(self):
        client = self.client(self.start_service())
        description = Description(client.request("GET", "/openapi.json")[2])
        status, headers, body = client.request("GET", "/api/health")
        with self.assertRaises(jsonschema.ValidationError):
            description.check("GET", "/api/health", status, headers, {**body, "surprise": 1})
        with self.assertRaises(jsonschema.ValidationError):
            description.check("GET", "/api/health", status, headers, {})

    @staticmethod
    def verbs(description):
        return {template.rpartition(":")[2] for template in description.document["paths"] if ":" in template}

    @staticmethod
    def successes(description):
        return {(method, template, status) for template, item in description.document["paths"].items() for method, operation in item.items()
                for status in operation["responses"] if status.startswith("2")}
