#!/usr/bin/env python3
"""Invoicing: issues the invoice, within the customer's credit limit."""
from participant import Refused, serve

DEFAULT_LIMIT_CENTS = 20_000_000
LIMITS_CENTS = {**{f"C-{number}": 500_000_000 for number in range(1001, 1007)}, "C-9001": 5_000, "C-9002": 0}


def create(db):
    db.execute("CREATE TABLE customers (id TEXT PRIMARY KEY, limit_cents INTEGER NOT NULL)")
    db.execute("CREATE TABLE invoices (saga_id TEXT PRIMARY KEY, order_id TEXT, customer_id TEXT, amount_cents INTEGER, status TEXT)")
    db.executemany("INSERT INTO customers VALUES (?, ?)", LIMITS_CENTS.items())


def issue(db, saga, order):
    customer, amount = order["customer_id"], sum(line["quantity"] * line["unit_price_cents"] for line in order["lines"])
    limit = db.execute("SELECT limit_cents FROM customers WHERE id = ?", (customer,)).fetchone() or (DEFAULT_LIMIT_CENTS,)
    unpaid = db.execute("SELECT coalesce(sum(amount_cents), 0) FROM invoices WHERE customer_id = ? AND status = 'ISSUED'", (customer,)).fetchone()
    if amount > limit[0] - unpaid[0]:
        raise Refused(f"credit limit of {customer} exceeded: order {amount} + open invoices {unpaid[0]} > limit {limit[0]} cents")
    db.execute("INSERT INTO invoices VALUES (?, ?, ?, ?, 'ISSUED')", (saga, order["order_id"], customer, amount))
    return {"invoice_id": saga, "amount_cents": amount}


def void(db, saga, _):
    db.execute("UPDATE invoices SET status = 'VOID' WHERE saga_id = ?", (saga,))
    return {}


if __name__ == "__main__":
    serve("invoicing", create, issue, void)
