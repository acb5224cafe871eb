#!/usr/bin/env python3
"""Logistics: finds a carrier for the order's country and schedules the shipment."""
from participant import Refused, serve

CARRIERS = {"Harbour Freight": ["DE", "DK", "NL", "SE", "NO", "FI"], "Alpine Post": ["AT", "CH", "IT", "FR"],
            "Atlantic Lines": ["US", "CA", "GB", "IE", "PT", "ES"]}


def create(db):
    db.execute("CREATE TABLE carriers (country TEXT PRIMARY KEY, carrier TEXT NOT NULL)")
    db.execute("CREATE TABLE shipments (saga_id TEXT PRIMARY KEY, order_id TEXT, country TEXT, carrier TEXT, status TEXT)")
    db.executemany("INSERT INTO carriers VALUES (?, ?)", [(country, carrier) for carrier, countries in CARRIERS.items() for country in countries])


def schedule(db, saga, order):
    found = db.execute("SELECT carrier FROM carriers WHERE country = ?", (order["country"],)).fetchone()
    if found is None:
        raise Refused(f"no carrier delivers to {order['country']}")
    db.execute("INSERT INTO shipments VALUES (?, ?, ?, ?, 'SCHEDULED')", (saga, order["order_id"], order["country"], found[0]))
    return {"shipment_id": saga, "carrier": found[0]}


def cancel(db, saga, _):
    db.execute("UPDATE shipments SET status = 'CANCELLED' WHERE saga_id = ?", (saga,))
    return {}


if __name__ == "__main__":
    serve("logistics", create, schedule, cancel)
