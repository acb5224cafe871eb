#!/usr/bin/env python3
"""generate_orders.py [--check]: writes examples/orders.jsonl, always the same 200 orders.

Their outcome does not depend on the order or the concurrency of processing: stock and credit of orders that complete never run
short (examples/catalogue.yaml), and what must fail fails by itself. --check writes nothing and fails where the file differs."""
import json
import pathlib
import sys

TARGET = pathlib.Path(__file__).resolve().parent.parent / "examples" / "orders.jsonl"
PRODUCTS = [("CANOE-CEDAR", 189900), ("CANOE-FIBRE", 124900), ("OUTRIGGER-SINGLE", 64900), ("OUTRIGGER-DOUBLE", 99900), ("PADDLE-OAK", 8990),
            ("PADDLE-CARBON", 21900), ("ROPE-HEMP", 1490), ("DRYBAG-20L", 2490), ("SAIL-CRAB-CLAW", 45900)]
COUNTRIES = ["DE", "DK", "NL", "SE", "NO", "FI", "AT", "CH", "IT", "FR", "US", "CA", "GB", "IE", "PT", "ES"]
# How every 25 orders are mixed; "repeat" sends an earlier line again, with the same key.
MIX = (["complete"] * 3 + ["out of stock"] + ["complete"] * 3 + ["no carrier"] + ["complete"] * 2 + ["credit limit exceeded"] + ["repeat"]
       + ["complete"] * 3 + ["unknown SKU"] + ["complete"] * 2 + ["out of stock"] + ["complete"] * 2 + ["credit limit exceeded"] + ["no carrier"]
       + ["repeat"] + ["complete"])


def line(sku, quantity, price):
    return {"sku": sku, "quantity": quantity, "unit_price_cents": price}


def regular_lines(n):
    return [line(*PRODUCTS[(n + 4 * i) % len(PRODUCTS)][:1], 1 + (n + i) % 3, PRODUCTS[(n + 4 * i) % len(PRODUCTS)][1]) for i in range(1 + n % 3)]


def make(n, kind):
    order = {"order_id": f"O-{n:04}", "customer_id": f"C-{1001 + n % 6}", "country": COUNTRIES[n % len(COUNTRIES)], "lines": regular_lines(n)}
    if kind == "out of stock":
        order["lines"].append(line("MAST-SPRUCE", 1, 35900) if n % 2 else line("LANTERN-BRASS", 4 + n % 5, 5990))
    elif kind == "unknown SKU":
        order["lines"].append(line(f"KEEL-{n:04}", 1, 1000))
    elif kind == "no carrier":
        order["country"] = ["AQ", "BV", "HM"][n % 3]
    elif kind == "credit limit exceeded":
        order["customer_id"] = f"C-{9001 + n % 2}"
        order["lines"] = [line("PADDLE-OAK", 1 + n % 2, 8990)]
    return {"idempotency_key": f"order-{n:04}", "order": order, "expect": "COMPLETED" if kind == "complete" else "COMPENSATED", "because": kind}


def orders():
    made = []
    for n in range(1, 201):
        kind = MIX[(n - 1) % len(MIX)]
        if kind == "repeat":
            # Near and far repeats, of orders that complete and of orders that do not.
            earlier = [one for one in made if one["because"] != "repeated key"]
            made.append({**earlier[(n * 7) % len(earlier)], "because": "repeated key"})
        else:
            made.append(make(n, kind))
    return made


def main():
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in orders())
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text() != text:
            sys.exit(f"{TARGET} is not what this script writes: run tools/generate_orders.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    TARGET.write_text(text)


main()
