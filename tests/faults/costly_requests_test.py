"""How long requests that cost more than their bytes show delay another client, and how much memory
they take: transactions with long replies or much work, long searches for deadlocks, FLUSHALL, and
values and waits that end.

    BUSY_MS_MAX=50 ATTACKERS=10 FAIRLOCKD=build/release/bin/fairlockd \\
    python3 tests/faults/costly_requests_test.py

prints, for each attack, the most processor time that the loop used between a RENEW of the other
client and its reply, and the growth of its peak memory.
"""

import contextlib
import os
import pathlib
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import resp  # noqa: E402
from longest_ping import Repeated  # noqa: E402
from measured import peak_bytes  # noqa: E402
from own_server import IS_MEASURED, Server  # noqa: E402

# Unoptimised builds need more.
BUSY_MS_MAX = float(os.environ.get("BUSY_MS_MAX", "400"))
ATTACKERS = int(os.environ.get("ATTACKERS", "2"))
MEMORY_MAX = 300 << 20
TIMES = 9999
BATCH = 500
CHAIN = int(os.environ.get("CHAIN", "2000"))
KEYS = int(os.environ.get("KEYS", "20000"))


class Renewals(Repeated):
    """`busy_ms` is the most processor time of the loop from a RENEW to its reply."""

    def __init__(self, server):
        super().__init__(self._renew)
        self.connection = server.connect()
        self.connection.socket.settimeout(120)
        assert isinstance(self.connection.ask("LOCK", "own", "owner", "PX", 600_000), int)
        self.path = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/schedstat")
        self.count = 0
        self.busy_ms = 0.0

    def __exit__(self, *failure):
        try:
            super().__exit__(*failure)
        finally:
            self.connection.close()

    def _now_ms(self):
        return int(self.path.read_text().split()[0]) / 1e6

    def _renew(self):
        begin = self._now_ms()
        assert self.connection.ask("RENEW", "own", "owner", "PX", 600_000) == 1
        self.count += 1
        self.busy_ms = max(self.busy_ms, self._now_ms() - begin)


def send_all(connection, requests):
    """Sends requests, many at a time, and returns the last reply."""
    reply = None
    for begin in range(0, len(requests), BATCH):
        part = requests[begin:begin + BATCH]
        connection.send(b"".join(resp.request(*words) for words in part))
        for _ in part:
            reply = connection.reply()
    return reply


def read_until(connection, end):
    """Discards what arrives, up to these bytes."""
    last = b""
    while not last.endswith(end):
        received = connection.socket.recv(1 << 20)
        assert received, "closed"
        last = (last + received)[-100:]


class CostlyRequests(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(
            Server("--max-memory", str(MEMORY_MAX), "--max-clients", "12000"))
        self.operator = self.connect()

    def connect(self):
        connection = self.enterContext(self.server.connect())
        connection.socket.settimeout(120)
        return connection

    @contextlib.contextmanager
    def bounded(self, what):
        before = peak_bytes(self.server)
        with Renewals(self.server) as renewals:
            yield
            time.sleep(0.1)
        self.assertGreater(renewals.count, 0, what)
        peak = peak_bytes(self.server)
        print(f"{what}: {renewals.busy_ms:.1f} ms, {(peak - before) >> 20} MB more", flush=True)
        if IS_MEASURED:
            self.assertLess(renewals.busy_ms, BUSY_MS_MAX, what)
            self.assertLess(peak, MEMORY_MAX * 1.1, what)

    # Transactions --------------------------------------------------------------------------------

    def fill(self):
        ask = self.operator.ask
        ask("HSET", "h", *[text for i in range(900) for text in (f"f{i}", "v" * 40)])
        ask("RPUSH", "l", *["e" * 40 for i in range(900)])
        ask("SADD", "s", *[f"{i}" + "m" * 40 for i in range(900)])
        ask("ZADD", "z", *[text for i in range(900) for text in (i, f"{i}" + "m" * 40)])
        ask("SET", "g", "o" * 8000, "NX")
        ask("LOCK", "k", "holder", "SHARED", "PX", 3_600_000)
        send_all(self.operator, [("LOCK", "k", f"{i}" + "x" * 8100, "KEEP", "60s", "META",
                                  "m" * 4096) for i in range(50)])

    def transact(self, connections, words):
        requests = resp.request("MULTI") + resp.request(*words) * TIMES + resp.request("EXEC")
        end = resp.request("ECHO", "the end")
        for connection in connections:
            connection.send(requests)
            connection.send(end)
        for connection in connections:
            read_until(connection, b"$7\r\nthe end\r\n")

    def test_transactions(self):
        self.fill()
        connections = [self.connect() for _ in range(ATTACKERS)]
        for words in (
                ("QUEUE", "k", "COUNT", "1000"), ("HISTORY", "k", "COUNT", "1000"),
                ("LOCKINFO", "k"), ("COMMAND", "DOCS"), ("COMMAND",), ("COMMAND", "LIST"),
                ("INFO",), ("CLIENT", "LIST"), ("CONFIG", "GET", "*"), ("STATS",),
                ("LOCKS", "0", "COUNT", "250"), ("KEYS", "*"), ("SCAN", "0", "COUNT", "1000"),
                ("RANDOMKEY",), ("GET", "g"), ("MGET", *["g"] * 50), ("HGETALL", "h"),
                ("HGET", "h", "f899"), ("HSET", "h", "f899", "w" * 41), ("HSCAN", "h", "0"),
                ("EXPIRE", "h", "1000"), ("LRANGE", "l", "0", "-1"), ("LREM", "l", "0", "none"),
                ("LMOVE", "l", "l", "LEFT", "RIGHT"), ("SMEMBERS", "s"), ("SISMEMBER", "s", "x"),
                ("SADD", "s", "0" + "m" * 40), ("ZRANGE", "z", "0", "-1", "WITHSCORES"),
                ("ZADD", "z", "5", "0" + "m" * 40), ("LOCK", "new", "me", "PX", "1000"),
                ("UNLOCK", "new", "me"), ("EXISTS", "g"), ("TTL", "k"), ("PING",),
                ("PUBLISH", "news", "m"), ("SUBSCRIBE", "news")):
            with self.bounded("EXEC of " + " ".join(words)[:40]):
                self.transact(connections, words)

    # Searches for deadlocks ----------------------------------------------------------------------

    def test_searches_for_deadlocks(self):
        self.connect().ask("SUBSCRIBE", "news")
        send_all(self.operator, [("LOCK", f"k{i}", f"o{i}", "PX", 3_600_000)
                                 for i in range(CHAIN)])
        send_all(self.operator, [("LOCK", f"k{i}", f"o{i - 1}", "WAIT", "1h", "NOTIFY", "news")
                                 for i in range(1, CHAIN)])
        connections = [self.connect() for _ in range(ATTACKERS)]
        with self.bounded("searches for deadlocks"):
            for connection in connections:
                connection.send(resp.request("LOCK", "k0", f"o{CHAIN - 1}", "WAIT", "1h") * BATCH)
            for connection in connections:
                for _ in range(BATCH):
                    self.assertIn("DEADLOCK", connection.reply())

    # Many keys -----------------------------------------------------------------------------------

    def test_flushall(self):
        send_all(self.operator, [("SET", f"k{i}", "owner") for i in range(KEYS)])
        self.connect().ask("SUBSCRIBE", "news")
        send_all(self.operator, [("LOCK", f"k{i}", "w", "WAIT", "1h", "NOTIFY", "news")
                                 for i in range(0, KEYS, 4)])
        with self.bounded("FLUSHALL"):
            self.assertEqual(self.operator.ask("FLUSHALL"), "OK")

    def test_large_values(self):
        members = [f"{i}" + "m" * 40 for i in range(900)]
        count = 1500
        send_all(self.operator, [("SADD", f"s{i}", *members) for i in range(count)])
        with self.bounded("DEL of large values"):
            self.assertEqual(self.operator.ask("DEL", *[f"s{i}" for i in range(count)]), count)

    def test_waits_for_lists(self):
        connections = [self.connect() for _ in range(300)]
        with self.bounded("BLPOP of too many keys"):
            for connection in connections[:ATTACKERS]:
                reply = connection.ask("BLPOP", *[f"q{i}" for i in range(10_000)], "0")
                self.assertIn("takes 1 to 128 keys", reply)
        with self.bounded("BLPOP, and the end of its connections"):
            for number, connection in enumerate(connections):
                connection.send(resp.request("BLPOP", *[f"q{number}:{i}" for i in range(128)],
                                             "0"))
            self.operator.settle()
            for connection in connections:
                connection.close()
            self.operator.settle()


if __name__ == "__main__":
    unittest.main()
