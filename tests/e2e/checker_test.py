"""The checker of effects sees what it must see: each way of breaking the databases is found."""
import sqlite3

import check_effects
from stack import StackTest, make_order


class Checker(StackTest):
    def setUp(self):
        super().setUp()
        service = self.start_service()
        client = self.client(service)
        self.done = client.place({"idempotency_key": "a", "order": make_order("O-1")}).saga["id"]
        self.undone = client.place({"idempotency_key": "b", "order": make_order("O-2", customer_id="C-9002")}).saga["id"]
        self.assertEqual(service.stop(), 0)
        self.finished = {self.done: "COMPLETED", self.undone: "COMPENSATED"}

    def problems_after(self, participant, sql):
        """Of a database that was changed behind the service's back; put back afterwards."""
        file = self.data / "participants" / f"{participant}.sqlite"
        before = file.read_bytes()
        database = sqlite3.connect(file)
        self.assertGreater(database.execute(sql).rowcount, 0, "nothing was changed")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        problems = check_effects.check(self.data / "participants", self.finished)[1]
        file.write_bytes(before)
        self.assertEqual(check_effects.check(self.data / "participants", self.finished)[1], [])
        return "\n".join(problems)

    def test_untouched_databases_pass(self):
        self.assertEqual(check_effects.check(self.data / "participants", self.finished), (7, []))

    def test_a_second_effect_is_found(self):
        found = self.problems_after("invoicing", f"INSERT INTO effects (effect_id, what, at) SELECT effect_id, what, at FROM effects WHERE effect_id LIKE '{self.done}%'")
        self.assertIn(self.done, found)
        self.assertIn("['do', 'do']", found)

    def test_a_lost_effect_is_found(self):
        self.assertIn(self.done, self.problems_after("logistics", f"DELETE FROM effects WHERE effect_id LIKE '{self.done}%'"))

    def test_an_undo_that_did_not_happen_is_found(self):
        found = self.problems_after("inventory", f"DELETE FROM effects WHERE effect_id LIKE '{self.undone}/%/undo'")
        self.assertIn("COMPENSATED, but its effect stands in ['inventory']", found)

    def test_stock_that_is_missing_is_found(self):
        self.assertIn("1 are missing", self.problems_after("inventory", "UPDATE stock SET on_hand = on_hand - 1 WHERE sku = 'PADDLE-OAK'"))

    def test_a_row_without_effect_is_found(self):
        self.assertIn("stray", self.problems_after("invoicing", "INSERT INTO invoices VALUES ('stray', 'O', 'C', 1, 'ISSUED')"))

    def test_an_effect_without_inbox_row_is_found(self):
        self.assertIn("has no SUCCESS in the inbox", self.problems_after("logistics", f"DELETE FROM inbox WHERE key LIKE '{self.done}%'"))

    def test_a_missing_database_is_no_pass(self):
        (self.data / "participants" / "invoicing.sqlite").unlink()
        self.assertTrue(check_effects.check(self.data / "participants")[1])
