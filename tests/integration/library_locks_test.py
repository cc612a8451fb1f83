"""LOCKS shows the locks of libraries that are small values, and BREAK ends them."""

import tempfile
import time
import unittest

from fairlockctl import Fairlockctl
from http_server import HttpServer
from own_server import Server

UUIDS = ("b983c153-7421-469a-addb-44fb92259a1b", "0c6b1f5e-8f5a-4b0e-9a5d-b1b5a4f2f7d3")
THREADS = [f"{uuid}:{number}" for number, uuid in enumerate(UUIDS, 1)]
TOKENS = ["a" * 43 + "=", "b" * 43 + "="]
LEASE_MS = 30_000


def as_map(words):
    return dict(zip(words[::2], words[1::2]))


def unix_ms():
    return int(time.time() * 1000)


class LibraryLocks(unittest.TestCase):

    def start(self):
        return HttpServer()

    def setUp(self):
        self.server = self.enterContext(self.start())
        self.own = self.enterContext(self.server.connect())

    def make_redisson(self, key, *fields, waiting=()):
        self.own.ask("HSET", key, *fields)
        self.own.ask("PEXPIRE", key, LEASE_MS)
        for thread in waiting:
            self.own.ask("RPUSH", f"redisson_lock_queue:{{{key}}}", thread)
            self.own.ask("ZADD", f"redisson_lock_timeout:{{{key}}}", unix_ms() + LEASE_MS, thread)

    def make_symfony(self, key, *tokens):
        for token in tokens:
            self.own.ask("ZADD", key, unix_ms() + LEASE_MS, token)
        self.own.ask("PEXPIRE", key, LEASE_MS)

    def make_semaphore(self, key, *holders):
        for holder in holders:
            self.own.ask("ZADD", key, unix_ms(), holder)
        self.own.ask("PEXPIRE", key, LEASE_MS)

    def make_unique_jobs(self, digest, *jobs, waiting=()):
        self.own.ask("SET", digest, jobs[0])
        for job in jobs:
            self.own.ask("HSET", f"{digest}:LOCKED", job, f"{time.time() - 60:.3f}")
        for job in waiting:
            self.own.ask("LPUSH", f"{digest}:QUEUED", job)
        self.own.ask("ZADD", "uniquejobs:digests", time.time(), digest)

    def rows(self, *options):
        """Returns the rows of all pages by key."""
        rows, cursor = {}, b"0"
        while True:
            cursor, page = self.own.ask("LOCKS", cursor, *options)
            rows.update({row[0].decode(): row[1:] for row in page})
            if cursor == b"0":
                return rows


class Listing(LibraryLocks):

    def test_each_shape_is_shown(self):
        self.make_redisson("job", THREADS[0], 2)
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1], "x"])
        self.make_redisson("pages", "mode", "read", THREADS[0], 1, THREADS[1], 1)
        self.make_symfony("report", TOKENS[0], "__write__")
        self.make_semaphore("semaphore:seats", "x", "y")
        self.make_unique_jobs("uniquejobs:d", "j1", waiting=["j2"])
        self.own.ask("LOCK", "own", "me")
        rows = self.rows()
        held_ms = rows["uniquejobs:d:LOCKED"][3]
        self.assertTrue(59_000 <= held_ms < 90_000, held_ms)
        lefts = {key: row.pop() for key, row in rows.items() if len(row) == 10}
        self.assertIsNone(lefts.pop("uniquejobs:d:LOCKED"))
        for left in lefts.values():
            self.assertTrue(0 < left <= LEASE_MS, left)
        first, token = THREADS[0].encode(), TOKENS[0].encode()
        self.assertEqual(rows.pop("own")[:2], [1, 0])
        self.assertEqual(len(rows.pop("uniquejobs:d")), 8)
        self.assertEqual(rows, {
            "job": [1, 0, 0, 0, b"", 1, first, 0, b"redisson"],
            "fair": [1, 2, 0, 0, b"", 1, first, 0, b"redisson"],
            "pages": [2, 0, 0, 0, b"", 1, first, 0, b"redisson"],
            "report": [1, 0, 0, 0, b"", 1, token, 0, b"symfony"],
            "semaphore:seats": [2, 0, 0, 0, b"", 1, b"x", 0, b"redis-semaphore"],
            "uniquejobs:d:LOCKED": [1, 1, 0, held_ms, b"", 1, b"j1", 0, b"unique-jobs"],
        })

    def test_other_values_are_not_shown(self):
        self.own.ask("HSET", "hash", "a", 1)
        self.own.ask("RPUSH", "list", "a")
        self.own.ask("SADD", "set", "a")
        self.own.ask("ZADD", "zset", 1, "a")
        self.assertEqual(self.rows(), {})

    def test_a_hold_that_has_ended_is_not_shown(self):
        self.own.ask("ZADD", "report", unix_ms() - 1, TOKENS[0], unix_ms() + LEASE_MS, TOKENS[1])
        self.assertEqual(self.rows()["report"][6], TOKENS[1].encode())
        self.make_redisson("job", THREADS[0], 1)
        self.own.ask("PEXPIRE", "job", 1)
        time.sleep(0.02)
        self.assertEqual(set(self.rows()), {"report"})

    def test_filters_apply(self):
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        self.make_unique_jobs("d", "j1")
        self.own.ask("DEL", "d")
        self.own.ask("SELECT", 2)
        self.make_symfony("report", TOKENS[0])
        for options, keys in ((("DB", 0), {"fair", "d:LOCKED"}), ((), {"report"}),
                              (("DB", "*"), {"fair", "d:LOCKED", "report"}),
                              (("DB", "*", "MATCH", "*r*"), {"fair", "report"}),
                              (("DB", "*", "LABEL", "x"), set()),
                              (("DB", "*", "OWNER", THREADS[0]), {"fair"}),
                              (("DB", "*", "OWNER", THREADS[1]), {"fair"}),
                              (("DB", "*", "OWNER", THREADS[1] + "0"), set()),
                              (("DB", "*", "WAITING"), {"fair"}),
                              (("DB", "*", "WAITING", "1ms"), set()),
                              (("DB", "*", "HELD", "50s"), {"d:LOCKED"}),
                              (("DB", "*", "HELD", "500s"), set()),
                              (("DB", "*", "NOEXPIRY"), {"d:LOCKED"})):
            self.assertEqual(set(self.rows(*options)), keys, options)

    def test_a_lock_is_described(self):
        self.make_redisson("pages", "mode", "read", THREADS[0], 1, THREADS[1], 1)
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        self.make_unique_jobs("d", "j1")
        pages, fair, jobs = (self.own.ask_map("LOCKINFO", key)
                             for key in ("pages", "fair", "d:LOCKED"))
        self.assertEqual([pages[b"mode"], len(pages[b"holders"]), pages[b"library"]],
                         [b"shared", 2, b"redisson"])
        self.assertEqual([fair[b"mode"], fair[b"waiters"]], [b"exclusive", 1])
        holder = as_map(fair[b"holders"][0])
        self.assertEqual(holder[b"owner"], THREADS[0].encode())
        self.assertTrue(0 < holder[b"ttl_ms"] <= LEASE_MS, holder)
        holder = as_map(jobs[b"holders"][0])
        self.assertIsNone(holder[b"ttl_ms"])
        self.assertTrue(59_000 <= holder[b"held_ms"] < 90_000, holder)
        self.assertNotIn(b"library", self.own.ask_map("LOCKINFO", "free"))

    def test_pages_show_every_lock(self):
        count = 300
        for number in range(count):
            self.make_symfony(f"report{number}", TOKENS[0])
            self.own.ask("LOCK", f"own{number}", "me")
        expected = {f"{name}{number}" for name in ("report", "own") for number in range(count)}
        for size in (1, 10, 250):
            self.assertEqual(set(self.rows("COUNT", size)), expected)


class Breaking(LibraryLocks):

    def keys(self):
        return set(self.own.ask("KEYS", "*"))

    def test_what_the_library_would_delete_is_deleted(self):
        self.make_symfony("report", TOKENS[0], "__write__")
        self.make_semaphore("semaphore:seats", "x", "y")
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        self.make_unique_jobs("uniquejobs:d", "j1", "j2", waiting=["j3"])
        self.own.ask("ZADD", "uniquejobs:digests", 1, "other")
        for key in ("report", "semaphore:seats", "fair", "uniquejobs:d:LOCKED"):
            self.assertEqual(self.own.ask("BREAK", key), 1, key)
            self.assertEqual(self.own.ask("BREAK", key), 0, key)
        self.assertEqual(self.keys(), {b"redisson_lock_queue:{fair}",
                                       b"redisson_lock_timeout:{fair}", b"uniquejobs:digests"})
        self.assertEqual(self.own.ask("ZRANGE", "uniquejobs:digests", 0, -1), [b"other"])

    def test_one_holder_is_removed(self):
        self.make_semaphore("semaphore:seats", "x", "y")
        self.assertEqual(self.own.ask("BREAK", "semaphore:seats", "z"), 0)
        self.assertEqual(self.own.ask("BREAK", "semaphore:seats", "x", "REASON", "stuck"), 1)
        self.assertEqual(self.own.ask("ZRANGE", "semaphore:seats", 0, -1), [b"y"])
        self.assertEqual(self.own.ask("BREAK", "semaphore:seats", "y"), 1)
        self.assertEqual(self.keys(), set())

    def test_another_value_is_not_deleted(self):
        self.own.ask("HSET", "hash", "a", 1)
        self.assertEqual(self.own.ask("BREAK", "hash"), 0)
        self.assertEqual(self.keys(), {b"hash"})

    def test_waiters_of_redisson_are_told(self):
        self.make_redisson("job", THREADS[0], 1)
        self.make_redisson("rw", "mode", "read", THREADS[0], 1)
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        waiter = self.enterContext(self.server.connect())
        channels = ("redisson_lock__channel:{job}", "redisson_rwlock:{rw}",
                    "redisson_lock__channel:{fair}:" + THREADS[1])
        for channel in channels:
            waiter.ask("SUBSCRIBE", channel)
        for key, channel in zip(("job", "rw", "fair"), channels):
            self.assertEqual(self.own.ask("BREAK", key), 1)
            self.assertEqual(waiter.reply(), [b"message", channel.encode(), b"0"])

    def test_over_http(self):
        self.make_redisson("job", THREADS[0], 1)
        self.own.ask("LOCK", "own", "me")
        locks = {row["key"]: row for row in self.server.get("/api/v1/locks?sort=key")[1]["locks"]}
        self.assertEqual(locks["job"]["library"], "redisson")
        self.assertTrue(0 < locks["job"]["ttl_ms"] <= LEASE_MS, locks)
        self.assertNotIn("library", locks["own"])
        lock = self.server.get("/api/v1/locks/0/job")[1]
        self.assertEqual((lock["library"], lock["holders"][0]["owner"]), ("redisson", THREADS[0]))
        for is_dry in (True, False):
            body = {"db": 0, "match": "j*", "dry_run": is_dry}
            answer = self.server.post("/api/v1/break-matching", body)[1]
            self.assertEqual((answer["locks"], answer["broken"]), (1, 1))
        self.assertEqual(self.own.ask("EXISTS", "job"), 0)

    def test_with_fairlockctl(self):
        self.make_redisson("job", THREADS[0], 1)
        self.make_unique_jobs("d", "j1")
        ctl = Fairlockctl(self.server)
        rows = {row["key"]: row for row in ctl.json("locks")["locks"]}
        self.assertEqual((rows["job"]["library"], rows["d:LOCKED"]["library"]),
                         ("redisson", "unique-jobs"))
        self.assertIsNone(rows["d:LOCKED"]["ttl_ms"])
        self.assertNotIn("library", rows["d"])
        text = ctl.text("locks", "job")
        self.assertRegex(text, r"job +0 +1 +0 +- +- +\(redisson\) +" + THREADS[0][:8])
        self.assertEqual(ctl.json("show", "job")["holders"][0]["owner"], THREADS[0])
        # Nothing tells its token, since when it is held, or by which connection.
        self.assertRegex(ctl.text("show", "job"), THREADS[0] + r" +- +exclusive +- +\S+ +- +-")
        ctl.text("break", "job", "--yes")
        self.assertEqual(self.own.ask("EXISTS", "job"), 0)


class WithUsers(LibraryLocks):

    def start(self):
        file = self.enterContext(tempfile.NamedTemporaryFile("w", suffix=".acl"))
        file.write("user root on >root ~* +@all\n"
                   "user one on >one ~fair ~*:LOCKED +@all\n")
        file.flush()
        return Server("--acl-file", file.name)

    def log_in(self, name):
        self.assertEqual(self.own.ask("AUTH", name, name), "OK")

    def test_only_keys_that_the_user_may_read_are_shown(self):
        self.log_in("root")
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        self.make_symfony("secret", TOKENS[0])
        self.assertEqual({key: row[1] for key, row in self.rows().items()},
                         {"fair": 1, "secret": 0})
        self.log_in("one")
        self.assertEqual({key: row[1] for key, row in self.rows().items()}, {"fair": 0})

    def test_only_keys_that_the_user_may_write_are_deleted(self):
        self.log_in("root")
        self.make_unique_jobs("d", "j1")
        self.log_in("one")
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED"),
                         "NOPERM BREAK also deletes 'd:QUEUED', which this user may not write")
        self.assertEqual(self.own.ask("HLEN", "d:LOCKED"), 1)
        self.log_in("root")
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
