"""What the three participants share: an HTTP server, and the inbox that makes every command happen exactly once.

Key, effect and reply are one SQLite transaction. A repeated key is answered from the stored reply; an undo that comes before its
do leaves its key behind, and the late do is refused. Standard library only."""
import argparse
import http.server
import json
import pathlib
import sqlite3
import sys
import threading
import time
import urllib.parse

SCHEMA = """
CREATE TABLE inbox (key TEXT PRIMARY KEY, outcome TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE effects (sequence INTEGER PRIMARY KEY AUTOINCREMENT, effect_id TEXT NOT NULL, what TEXT NOT NULL, at INTEGER NOT NULL);
CREATE TABLE accepted (key TEXT PRIMARY KEY, command TEXT NOT NULL, ready_at REAL NOT NULL);"""


class Refused(Exception):
    """A business refusal: definite, nothing was done."""


class Inbox:
    def __init__(self, file, create, do, undo):
        self.do, self.undo, self.lock = do, undo, threading.Lock()
        self.db = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=10)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")  # a reply that was sent survives a power failure
        if not self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'inbox'").fetchone():
            self.db.execute("BEGIN IMMEDIATE")
            for statement in filter(str.strip, SCHEMA.split(";")):
                self.db.execute(statement)
            create(self.db)
            self.db.execute("COMMIT")

    def transaction(self, work, *arguments):
        with self.lock:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                result = work(*arguments)
                self.db.execute("COMMIT")
                return result
            except BaseException:
                self.db.execute("ROLLBACK")
                raise

    def stored(self, key):
        return self.db.execute("SELECT status, body FROM inbox WHERE key = ?", (key,)).fetchone()

    def process(self, key, command):
        """(status, JSON text) of the reply. Within a transaction."""
        if reply := self.stored(key):
            return reply
        step, _, direction = key.rpartition("/")
        outcome, status, body = "SUCCESS", 200, {}
        if direction == "do" and self.stored(f"{step}/undo"):
            outcome, status, body = "REFUSED", 409, {"title": "Refused", "detail": "its undo came first"}
        elif direction == "undo" and not self.db.execute("SELECT 1 FROM inbox WHERE key = ? AND outcome = 'SUCCESS'", (f"{step}/do",)).fetchone():
            outcome = "TOMBSTONE"
        else:
            self.db.execute("SAVEPOINT work")
            try:
                body = (self.do if direction == "do" else self.undo)(self.db, command["saga_id"], command["input"])
                self.db.execute("INSERT INTO effects (effect_id, what, at) VALUES (?, ?, ?)", (key, command["command"], int(time.time() * 1000)))
            except Refused as refusal:
                self.db.execute("ROLLBACK TO work")
                outcome, status, body = "FAILED", 409, {"title": "Refused", "detail": str(refusal)}
        self.db.execute("INSERT INTO inbox VALUES (?, ?, ?, ?)", (key, outcome, status, json.dumps(body)))
        return status, json.dumps(body)

    def accept(self, key, command, takes):
        """Remembers a command that takes its time; None while it is not done. Within a transaction."""
        self.db.execute("INSERT OR IGNORE INTO accepted VALUES (?, ?, ?)", (key, json.dumps(command), time.time() + takes))
        return self.result(key)

    def result(self, key):
        found = self.db.execute("SELECT command, ready_at FROM accepted WHERE key = ?", (key,)).fetchone()
        if found is None:
            return 404, json.dumps({"title": "Not found"})
        return self.process(key, json.loads(found[0])) if time.time() >= found[1] else self.stored(key)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    inbox, takes = None, 0.0

    def do_POST(self):
        command = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        if self.takes:
            self.answer(key, self.inbox.transaction(self.inbox.accept, key, command, self.takes))
        else:
            self.answer(key, self.inbox.transaction(self.inbox.process, key, command))

    def do_GET(self):
        key = urllib.parse.unquote(self.path.removeprefix("/accepted/"))
        self.answer(key, self.inbox.transaction(self.inbox.result, key))

    def answer(self, key, reply):
        status, body = reply or (202, "{}")
        self.send_response(status)
        if status == 202:
            self.send_header("Location", "/accepted/" + urllib.parse.quote(key, safe=""))
            self.send_header("Retry-After", str(round(self.takes)))
        self.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
        content = body.encode()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # a client that has gone will come again
            super().handle_error(request, client_address)


def serve(name, create, do, undo):
    parser = argparse.ArgumentParser(description=f"The {name} participant of the order saga, called by HTTP.")
    parser.add_argument("--port", type=int, required=True, help="0: any free one, see --port-file")
    parser.add_argument("--data-dir", type=pathlib.Path, required=True, help=f"where {name}.sqlite is, or will be")
    parser.add_argument("--takes", type=float, default=0, metavar="SECONDS", help="answer 202 at first, and be done so much later")
    parser.add_argument("--port-file", type=pathlib.Path, help="where to write the port once it is bound")
    options = parser.parse_args()
    options.data_dir.mkdir(parents=True, exist_ok=True)
    Handler.inbox, Handler.takes = Inbox(options.data_dir / f"{name}.sqlite", create, do, undo), options.takes
    with Server(("127.0.0.1", options.port), Handler) as server:
        if options.port_file:
            unfinished = options.port_file.with_suffix(".new")
            unfinished.write_text(str(server.server_address[1]))
            unfinished.rename(options.port_file)
        server.serve_forever()
