#!/usr/bin/env python3
"""check_effects.py FOLDER: proves from the participants' databases alone that every effect happened exactly once.

Reads inventory.sqlite, logistics.sqlite and invoicing.sqlite in FOLDER (a service's data folder has them in participants/) and checks:
no effect twice; every undo has its do before it; what the tables hold is what the effects add up to; every effect has its inbox row.
Exit status 0: all holds; 1: it does not; 2: wrong usage. As a module: check(folder, finished) also compares with how sagas ended."""
import collections
import pathlib
import sqlite3
import sys

# name: (table, the status while the effect stands, the status after its undo)
PARTICIPANTS = {"inventory": ("reservations", "RESERVED", "RELEASED"), "logistics": ("shipments", "SCHEDULED", "CANCELLED"), "invoicing": ("invoices", "ISSUED", "VOID")}


class Ledger:
    """The effects of one participant: saga -> [(sequence, direction)]."""

    def __init__(self, name, database):
        self.name, self.table = name, PARTICIPANTS[name]
        self.by_saga = collections.defaultdict(list)
        self.count = 0
        for sequence, effect_id in database.execute("SELECT sequence, effect_id FROM effects ORDER BY sequence"):
            saga, _, direction = effect_id.rsplit("/", 2)
            self.by_saga[saga].append((sequence, direction))
            self.count += 1

    def stands(self, saga):
        return [direction for _, direction in self.by_saga.get(saga, [])] == ["do"]

    def problems(self):
        for saga, effects in self.by_saga.items():
            if [direction for _, direction in effects] not in (["do"], ["do", "undo"]):
                yield f"{self.name}: {saga} had the effects {[direction for _, direction in effects]}: expected one do, then at most one undo"


def table_problems(ledger, database):
    table, standing, undone = ledger.table
    rows = collections.defaultdict(set)
    for saga, status in database.execute(f"SELECT saga_id, status FROM {table}"):
        rows[saga].add(status)
    for saga in rows.keys() | ledger.by_saga.keys():
        expected = {standing} if ledger.stands(saga) else {undone} if saga in ledger.by_saga else set()
        if rows.get(saga, set()) != expected:
            yield f"{ledger.name}: {saga} has rows in {table} with status {sorted(rows.get(saga, []))}, its effects say {sorted(expected)}"
    for (effect_id,) in database.execute(
            "SELECT effect_id FROM effects WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE key = effect_id AND outcome = 'SUCCESS')"):
        yield f"{ledger.name}: the effect {effect_id} has no SUCCESS in the inbox"
    if ledger.name == "inventory":
        for sku, initial, on_hand, reserved in database.execute(
                "SELECT sku, initial, on_hand, (SELECT coalesce(sum(quantity), 0) FROM reservations r WHERE r.sku = stock.sku AND status = 'RESERVED') FROM stock"):
            if initial != on_hand + reserved:
                yield f"inventory: of {sku} there were {initial}, now {on_hand} and {reserved} reserved: {initial - on_hand - reserved} are missing"


def saga_problems(ledgers, finished):
    for saga, status in finished.items():
        standing = [ledger.name for ledger in ledgers if ledger.stands(saga)]
        if status == "COMPLETED" and len(standing) != len(ledgers):
            yield f"{saga} COMPLETED, but has its effect only in {standing}"
        if status == "COMPENSATED" and standing:
            yield f"{saga} COMPENSATED, but its effect stands in {standing}"


def sagas(folder):
    """The ids of all sagas that had an effect in any of the databases."""
    found = set()
    for name in PARTICIPANTS:
        database = sqlite3.connect(f"file:{pathlib.Path(folder) / name}.sqlite?mode=ro", uri=True, timeout=10)
        found |= set(Ledger(name, database).by_saga)
        database.close()
    return found


def check(folder, finished=None):
    """(number of effects, problems). `finished`: saga id -> COMPLETED or COMPENSATED, as clients were told."""
    problems, ledgers = [], []
    for name in PARTICIPANTS:
        file = pathlib.Path(folder) / f"{name}.sqlite"
        if not file.exists():
            return 0, [f"there is no {file}"]
        database = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)
        try:
            ledger = Ledger(name, database)
            ledgers.append(ledger)
            problems += [*ledger.problems(), *table_problems(ledger, database)]
        finally:
            database.close()
    problems += saga_problems(ledgers, finished or {})
    return sum(ledger.count for ledger in ledgers), problems


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr if sys.argv[1:] not in (["-h"], ["--help"]) else sys.stdout)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    count, problems = check(sys.argv[1])
    print("\n".join(problems) if problems else f"{count} effects, every one exactly once")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
