"""What the worst globs of one client cost the others: how long the loop is busy before it serves a
PING from another connection. Covers every command that takes a glob. Notes the longest times."""

import json
import os
import pathlib
import time
import unittest
import urllib.parse

import resp
from http_server import HttpServer
from own_server import IS_MEASURED, note_figure

GLOB_BYTES_MAX = 1024
# Without bounds, most cases take 400 to 60,000 ms of processor time, and each kind of command at
# least one that takes longer than this on any machine; with bounds, they take less than 50.
BUSY_MS_MAX = 2000
LONG_KEYS = 5000
# Pages read in each walk; further pages would cost the same.
PAGES_MAX = 4
KEY_BYTES = 1000
TOO_LONG = "*[" + "b" * 20_000 + "]*"

# Each takes very long in a matcher that backtracks, or that parses sets again at each byte.
NASTY = [
    "*[" + "b" * 1000 + "]*",
    "*" + "a" * 500 + "b*",
    "*?" + "a" * 500 + "b*",
    "*" + "[ac]" * 250 + "b*",
    "*" + "a*" * 500 + "b",
    "*" + "?" * 500 + "b*",
]


def long_key(number):
    """Returns a string of letters that nearly match the globs, followed by a number."""
    return ("a" * KEY_BYTES)[:KEY_BYTES - 8] + f"{number:08}"


class Busy:
    """Measures the processor time that the loop has used."""

    def __init__(self, process):
        self.path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/schedstat")

    def ms(self):
        return int(self.path.read_text().split()[0]) / 1e6


class GlobCost(unittest.TestCase):

    longest_ms = 0.0

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(lambda: note_figure("delays.globs_busy_ms", cls.longest_ms))
        cls.server = HttpServer("--acl-file", str(cls.write_users()))
        cls.enterClassContext(cls.server)
        cls.busy = Busy(cls.server.process)
        cls.nasty = cls.enterClassContext(cls.server.connect())
        cls.other = cls.enterClassContext(cls.server.connect())
        # Long enough for a slow build, or for globs that are not bounded.
        cls.nasty.socket.settimeout(100)
        cls.other.socket.settimeout(100)
        for begin in range(0, LONG_KEYS, 500):
            keys = [long_key(number) for number in range(begin, begin + 500)]
            cls.nasty.send(b"".join(resp.request("SET", key, "owner", "NX") for key in keys))
            for _ in keys:
                cls.nasty.reply()

    @classmethod
    def write_users(cls):
        """Writes the users, one of whom has a costly pattern that is checked against each key of a
        walk."""
        path = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"glob-cost-{os.getpid()}.acl"
        path.write_text("user default on nopass ~* &* +@all\n"
                        f"user judged on nopass ~{NASTY[2]} ~a* +@all -@dangerous +keys\n")
        cls.addClassCleanup(path.unlink)
        return path

    def assertQuick(self, what, *requests, connection=None):
        """Sends all requests at once, and for each of them a PING on another connection."""
        client = connection or self.nasty
        self.other.settle()
        before = self.busy.ms()
        client.send(b"".join(resp.request(*words) for words in requests))
        time.sleep(0.002)
        pings = []
        answers = []
        # While the client's requests are executed, the other connection sends PINGs repeatedly. The
        # first PING may arrive after the first request is done, so everything that the loop has
        # done since then counts.
        for _ in requests:
            self.other.ask("PING")
            pings.append(self.busy.ms() - before)
            answers.append(client.reply())
            before = self.busy.ms()
        if IS_MEASURED:
            self.assertLess(max(pings), BUSY_MS_MAX, what)
        type(self).longest_ms = max(self.longest_ms, *pings)
        return answers

    def assertTooLong(self, reply, name, size):
        self.assertIsInstance(reply, resp.ErrorReply)
        self.assertIn(f"{name} pattern must have at most {GLOB_BYTES_MAX} bytes, got {size}", reply)

    def walk(self, name, *before, connection=None):
        """Runs a command that returns a cursor, for each glob, page by page."""
        for glob in NASTY:
            cursor = "0"
            for _ in range(PAGES_MAX):
                words = [name, cursor, "MATCH", glob, "COUNT", "1000", *before]
                cursor, _ = self.assertQuick(f"{name} {glob[:20]}", words, connection=connection)[0]

    def refused(self, name, *words):
        self.assertTooLong(self.assertQuick(name, words)[0], name, len(TOO_LONG))

    def limit_refused(self, *words):
        reply = self.assertQuick(" ".join(words[:2]), words)[0]
        self.assertEqual(reply, f"ERR pattern must have 1 to 1024 bytes, got {len(TOO_LONG)}")

    # The commands ------------------------------------------------------------------------------

    def try_history(self):
        for glob in NASTY:
            before = "0"
            for _ in range(PAGES_MAX):
                words = ["HISTORY", "*", "MATCH", glob, "BEFORE", before]
                reply = self.assertQuick(f"HISTORY {glob[:20]}", words)[0]
                before = str(dict(zip(reply[::2], reply[1::2]))[b"next_before"])
                if before == "None":
                    break
        reply = self.assertQuick("HISTORY", ("HISTORY", "*", "MATCH", TOO_LONG))[0]
        self.assertTooLong(reply, "MATCH", len(TOO_LONG))

    def try_keys(self):
        for glob in NASTY:
            self.assertQuick("KEYS " + glob[:20], ("KEYS", glob))
            self.assertQuick("KEYS " + glob[:20], *[("KEYS", glob)] * 5)
        self.refused("KEYS", "KEYS", TOO_LONG)

    def try_scan(self):
        self.walk("SCAN")
        self.assertTooLong(self.assertQuick("SCAN", ("SCAN", "0", "MATCH", TOO_LONG))[0], "MATCH",
                           len(TOO_LONG))

    def try_locks(self):
        self.walk("LOCKS")
        self.assertTooLong(self.assertQuick("LOCKS", ("LOCKS", "0", "MATCH", TOO_LONG))[0],
                           "MATCH", len(TOO_LONG))

    def try_limit_set(self):
        """Every request for a lock checks all overrides."""
        for number in range(20):
            for glob in NASTY:
                self.nasty.ask("LIMIT", "SET", f"{glob[:-4]}{number}*", "3")
        requests = [("LOCK", long_key(2 * LONG_KEYS + i), "o", "PX", "60000") for i in range(20)]
        self.assertQuick("LOCK under LIMIT SET", *requests)
        self.limit_refused("LIMIT", "SET", TOO_LONG, "3")
        for row in self.nasty.ask("LIMIT", "LIST"):
            self.nasty.ask("LIMIT", "DEL", row[1])

    def try_limit_del(self):
        self.limit_refused("LIMIT", "DEL", TOO_LONG)

    def try_psubscribe(self):
        """Every event of a lock is matched against all patterns."""
        with self.server.connect() as subscriber:
            subscriber.ask("HELLO", "3")
            count = 0
            while count < 300:
                glob = "__lock@0__:*?" + f"{count:03}" + "a" * 400 + "b*"
                if isinstance(subscriber.ask("PSUBSCRIBE", glob), resp.ErrorReply):
                    break
                count += 1
            self.assertLess(count, 300)
            keys = [long_key(LONG_KEYS + number) for number in range(300)]
            self.assertQuick("LOCK with patterns", *[("SET", key, "o", "NX") for key in keys[:50]])
            self.assertQuick("MSETNX with patterns",
                             ("MSETNX", *[word for key in keys[50:] for word in (key, "o")]))
            self.assertQuick("PEXPIRE with patterns", *[("PEXPIRE", key, 50) for key in keys[:50]])
            # Meanwhile, all of them expire at once.
            time.sleep(0.1)
            self.assertQuick("leases that end", ("PING",))
            self.assertQuick("DEL with patterns", ("DEL", *keys))
            self.assertQuick("PUBLISH with patterns", *[("PUBLISH", "a" * 4000, "x")] * 20)
            self.refused("PSUBSCRIBE", "PSUBSCRIBE", TOO_LONG)

    def try_punsubscribe(self):
        self.assertQuick("PUNSUBSCRIBE", ("PUNSUBSCRIBE", TOO_LONG))

    def try_pubsub_channels(self, subscribe="SUBSCRIBE", show="CHANNELS"):
        with self.server.connect() as subscriber:
            for begin in range(0, LONG_KEYS, 500):
                names = [long_key(number) for number in range(begin, begin + 500)]
                subscriber.send(resp.request(subscribe, *names))
                for _ in names:
                    subscriber.reply()
            for glob in NASTY:
                self.assertQuick(f"PUBSUB {show} {glob[:20]}", ("PUBSUB", show, glob))
            self.refused("PUBSUB " + show, "PUBSUB", show, TOO_LONG)

    def try_pubsub_shardchannels(self):
        self.try_pubsub_channels("SSUBSCRIBE", "SHARDCHANNELS")

    def try_config_get(self):
        self.assertQuick("CONFIG GET", ("CONFIG", "GET", *["*"] * 16_000))
        self.assertQuick("CONFIG GET", ("CONFIG", "GET", *NASTY))
        self.refused("CONFIG GET", "CONFIG", "GET", TOO_LONG)

    def try_command_list(self):
        for glob in NASTY:
            self.assertQuick("COMMAND LIST", ("COMMAND", "LIST", "FILTERBY", "PATTERN", glob))
        self.refused("COMMAND LIST", "COMMAND", "LIST", "FILTERBY", "PATTERN", TOO_LONG)

    def walk_elements(self, scan, add, before=(), after=()):
        key = f"elements of {scan}"
        for number in range(60):
            self.assertNotIsInstance(
                self.other.ask(add, key, *before, long_key(number)[:1000], *after),
                resp.ErrorReply)
        for glob in NASTY:
            self.assertQuick(f"{scan} {glob[:20]}", (scan, key, "0", "MATCH", glob))
        self.assertTooLong(self.assertQuick(scan, (scan, key, "0", "MATCH", TOO_LONG))[0], "MATCH",
                           len(TOO_LONG))

    def try_hscan(self):
        self.walk_elements("HSCAN", "HSET", after=("value",))

    def try_sscan(self):
        self.walk_elements("SSCAN", "SADD")

    def try_zscan(self):
        self.walk_elements("ZSCAN", "ZADD", before=("1",))

    CASES = {
        "hscan": try_hscan,
        "sscan": try_sscan,
        "zscan": try_zscan,
        "history": try_history,
        "keys": try_keys,
        "scan": try_scan,
        "locks": try_locks,
        "limit|set": try_limit_set,
        "limit|del": try_limit_del,
        "psubscribe": try_psubscribe,
        "punsubscribe": try_punsubscribe,
        "pubsub|channels": try_pubsub_channels,
        "pubsub|shardchannels": try_pubsub_shardchannels,
        "config|get": try_config_get,
        "command|list": try_command_list,
    }

    def test_keeps_nobody_waiting_whatever_the_command(self):
        for name, attempt in self.CASES.items():
            with self.subTest(name):
                attempt(self)

    def test_knows_every_command_that_takes_a_glob(self):
        self.assertEqual(set(commands_with_globs(self.other.ask("COMMAND", "DOCS"))),
                         set(self.CASES))

    # Other cases -------------------------------------------------------------------------------

    def test_walks_of_a_user_whose_own_patterns_are_costly(self):
        with self.server.connect() as judged:
            self.assertEqual(judged.ask("AUTH", "judged", "x"), "OK")
            self.walk("SCAN", connection=judged)
            self.walk("LOCKS", connection=judged)
            for glob in ("*", NASTY[0]):
                self.assertQuick("KEYS of a user", ("KEYS", glob), connection=judged)

    def test_a_transaction_of_walks(self):
        walks = [("KEYS", NASTY[2]), ("SCAN", "0", "MATCH", NASTY[2], "COUNT", "1000"),
                 ("LOCKS", "0", "MATCH", NASTY[2], "COUNT", "1000"), ("CONFIG", "GET", "*")] * 100
        reply = self.assertQuick("EXEC", ("MULTI",), *walks, ("EXEC",))[-1]
        self.assertIsInstance(reply, resp.ErrorReply)
        self.assertIn("EXECABORT", reply)

    def test_a_script_that_walks(self):
        for glob in NASTY:
            keys = "return #redis.pcall('KEYS', ARGV[1])"
            self.assertQuick("EVAL KEYS", ("EVAL", keys, 0, glob))
            scan = "return #redis.call('SCAN', 0, 'MATCH', ARGV[1], 'COUNT', 100000)[2]"
            self.assertQuick("EVAL SCAN", ("EVAL", scan, 0, glob))

    def test_http(self):
        routes = {
            "/api/v1/locks": "match",
            "/api/v1/break-matching": "match",
            "/api/v1/limits/set": "pattern",
            "/api/v1/limits/delete": "pattern",
            "/api/v1/events": "match",
            "/api/v1/history": "match",
        }
        _, description = self.server.get("/api/v1/openapi.json")
        self.assertEqual(routes, dict(routes_with_globs(description)))
        for glob in NASTY:
            before = self.busy.ms()
            query = urllib.parse.urlencode({"match": glob, "count": 100})
            for route in ("locks", "history"):
                self.assertEqual(self.server.get(f"/api/v1/{route}?{query}")[0], 200, route)
            busy_ms = self.busy.ms() - before
            note_figure("delays.http_globs_busy_ms", busy_ms)
            if IS_MEASURED:
                self.assertLess(busy_ms, 10 * BUSY_MS_MAX)
        status, answer = self.server.get("/api/v1/locks?match=" + "b" * 2000)
        self.assertEqual(status, 400)
        self.assertIn("MATCH pattern must have at most 1024 bytes, got 2000", json.dumps(answer))


def commands_with_globs(docs, container=None):
    """Returns the names of the commands for which COMMAND DOCS lists a pattern."""
    for name, doc in zip(docs[::2], docs[1::2]):
        fields = dict(zip(doc[::2], doc[1::2]))
        if has_pattern(fields.get(b"arguments", [])):
            yield name.decode()
        yield from commands_with_globs(fields.get(b"subcommands", []))


def has_pattern(arguments):
    for argument in arguments:
        fields = dict(zip(argument[::2], argument[1::2]))
        if fields[b"type"] == b"pattern" or has_pattern(fields.get(b"arguments", [])):
            return True
    return False


def routes_with_globs(description):
    """Returns the parameters and fields that are described as globs."""
    for path, verbs in description["paths"].items():
        for verb in verbs.values():
            for parameter in verb.get("parameters", []):
                if "glob" in parameter.get("description", "").lower():
                    yield path, parameter["name"]
            body = verb.get("requestBody", {}).get("content", {}).get("application/json", {})
            for name, field in body.get("schema", {}).get("properties", {}).items():
                if "glob" in field.get("description", "").lower():
                    yield path, name


if __name__ == "__main__":
    unittest.main()
