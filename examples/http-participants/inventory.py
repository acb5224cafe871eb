#!/usr/bin/env python3
"""Inventory: reserves what an order wants, all of it or nothing."""
import collections

from participant import Refused, serve

STOCK = {"CANOE-CEDAR": 4000, "CANOE-FIBRE": 4000, "OUTRIGGER-SINGLE": 4000, "OUTRIGGER-DOUBLE": 4000, "PADDLE-OAK": 20000, "PADDLE-CARBON": 20000,
         "ROPE-HEMP": 50000, "DRYBAG-20L": 50000, "SAIL-CRAB-CLAW": 4000, "MAST-SPRUCE": 0, "LANTERN-BRASS": 3}


def create(db):
    db.execute("CREATE TABLE stock (sku TEXT PRIMARY KEY, initial INTEGER NOT NULL, on_hand INTEGER NOT NULL CHECK (on_hand >= 0))")
    db.execute("CREATE TABLE reservations (saga_id TEXT, sku TEXT, quantity INTEGER, status TEXT, PRIMARY KEY (saga_id, sku))")
    db.executemany("INSERT INTO stock VALUES (?1, ?2, ?2)", STOCK.items())


def reserve(db, saga, order):
    wanted = collections.Counter()
    for line in order["lines"]:
        wanted[line["sku"]] += line["quantity"]
    for sku, quantity in sorted(wanted.items()):
        found = db.execute("SELECT on_hand FROM stock WHERE sku = ?", (sku,)).fetchone()
        if found is None:
            raise Refused(f"unknown SKU {sku}")
        if found[0] < quantity:
            raise Refused(f"not enough stock of {sku}: {quantity} ordered, {found[0]} left")
        db.execute("UPDATE stock SET on_hand = on_hand - ? WHERE sku = ?", (quantity, sku))
        db.execute("INSERT INTO reservations VALUES (?, ?, ?, 'RESERVED')", (saga, sku, quantity))
    return {"reservation_id": saga, "reserved": wanted}


def release(db, saga, _):
    for sku, quantity in db.execute("SELECT sku, quantity FROM reservations WHERE saga_id = ?", (saga,)).fetchall():
        db.execute("UPDATE stock SET on_hand = on_hand + ? WHERE sku = ?", (quantity, sku))
    db.execute("UPDATE reservations SET status = 'RELEASED' WHERE saga_id = ?", (saga,))
    return {}


if __name__ == "__main__":
    serve("inventory", create, reserve, release)
