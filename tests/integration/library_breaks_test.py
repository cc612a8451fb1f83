"""BREAK ends the locks of libraries as the libraries do, and the history records it."""

import json
import tempfile
import unittest

from fairlockctl import Fairlockctl
from library_lock_shapes import (LEASE_MS, NO_END, THREADS, TOKENS, LibraryLocks, as_map, permit,
                                 unix_ms)
from own_server import Server
from resp import request


class Breaking(LibraryLocks):

    def keys(self):
        return {key.decode() for key in self.own.ask("KEYS", "*")}

    def listen(self, *channels):
        waiter = self.enterContext(self.server.connect())
        for channel in channels:
            waiter.ask("SUBSCRIBE", channel)
        return waiter

    def test_what_the_library_would_delete_is_deleted(self):
        self.make_symfony("report", TOKENS[0], "__write__")
        self.make_semaphore("semaphore:seats", "x", "y")
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        self.make_unique_jobs("uniquejobs:d", "j1", "j2")
        for part in ("INFO", "PRIMED"):
            self.own.ask("SADD", f"uniquejobs:d:{part}", "x")
        self.own.ask("ZADD", "uniquejobs:digests", 1, "other")
        for key, holds in (("report", 1), ("semaphore:seats", 2), ("fair", 1),
                           ("uniquejobs:d:LOCKED", 2)):
            self.assertEqual(self.own.ask("BREAK", key), holds, key)
            self.assertEqual(self.own.ask("BREAK", key), 0, key)
        self.assertEqual(self.keys(), {
            "redisson_lock_queue:{fair}", "redisson_lock_timeout:{fair}", "uniquejobs:digests",
            "uniquejobs:d:QUEUED"})
        self.assertEqual(self.own.ask("ZRANGE", "uniquejobs:digests", 0, -1), [b"other"])

    def test_one_holder_is_removed(self):
        self.make_semaphore("semaphore:seats", "x", "y")
        self.assertEqual(self.own.ask("BREAK", "semaphore:seats", "z"), 0)
        self.assertEqual(self.own.ask("BREAK", "semaphore:seats", "x", "REASON", "stuck"), 1)
        self.assertEqual(self.own.ask("ZRANGE", "semaphore:seats", 0, -1), [b"y"])
        self.assertEqual(self.own.ask("BREAK", "semaphore:seats", "y"), 1)
        self.assertEqual(self.keys(), set())

    def test_one_job_is_removed(self):
        self.make_unique_jobs("d", "j1", "j2")
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED", "j1"), 1)
        self.assertEqual(self.keys(), {"d:LOCKED", "d:QUEUED", "uniquejobs:digests"})
        self.assertEqual(self.own.ask("HKEYS", "d:LOCKED"), [b"j2"])

    def test_jobs_of_version_9_have_no_lists(self):
        self.make_unique_jobs_9("d", "j1", "j2")
        rest = {"uniquejobs:digests", "uniquejobs:metrics|261128|4:50"}
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED", "j1"), 1)
        self.assertEqual(self.keys(), {"d:LOCKED", *rest})
        self.own.ask("ZADD", "uniquejobs:digests", 1, "other")
        self.own.ask("SET", "d:INFO", "of an older version")
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED"), 1)
        self.assertEqual(self.keys(), rest)
        self.assertEqual(self.own.ask("ZRANGE", "uniquejobs:digests", 0, -1), [b"other"])

    def test_another_value_is_not_deleted(self):
        self.own.ask("HSET", "hash", "a", 1)
        self.assertEqual(self.own.ask("BREAK", "hash"), 0)
        self.assertEqual(self.keys(), {"hash"})

    def test_a_lock_lives_as_long_as_its_last_holder(self):
        now = unix_ms()
        self.own.ask("ZADD", "report", now + 5_000, TOKENS[0], now + LEASE_MS, TOKENS[1])
        self.own.ask("PEXPIRE", "report", LEASE_MS)
        self.assertEqual(self.own.ask("BREAK", "report", TOKENS[1]), 1)
        self.assertTrue(4_000 < self.own.ask("PTTL", "report") <= 5_000)
        self.make_readers("pages", (THREADS[0], 2), lease_ms=5_000)
        self.make_readers("pages", (THREADS[1], 1))
        self.assertEqual(self.own.ask("BREAK", "pages", THREADS[1]), 1)
        self.assertTrue(4_000 < self.own.ask("PTTL", "pages") <= 5_000)

    def test_the_readings_of_a_reader_are_deleted(self):
        self.make_readers("pages", (THREADS[0], 2), (THREADS[1], 1))
        self.assertEqual(self.own.ask("BREAK", "pages", THREADS[0]), 1)
        self.assertEqual(self.keys(), {"pages", f"{{pages}}:{THREADS[1]}:rwlock_timeout:1"})
        self.assertEqual(self.own.ask("BREAK", "pages"), 1)
        self.assertEqual(self.keys(), set())

    def test_a_writer_that_reads_remains_a_reader(self):
        self.make_readers("pages", (THREADS[0], 1))
        self.own.ask("HSET", "pages", "mode", "write", THREADS[0] + ":write", 1)
        self.assertEqual(self.own.ask_map("LOCKINFO", "pages")[b"mode"], b"exclusive")
        self.assertEqual(self.own.ask("BREAK", "pages", THREADS[0] + ":write"), 1)
        self.assertEqual(self.own.ask("HGETALL", "pages"),
                         [b"mode", b"read", THREADS[0].encode(), b"1"])

    def test_permits_are_free_again(self):
        heard = self.listen("redisson_sc:{seats}")
        now = unix_ms()
        self.make_permits("seats", 1, now + LEASE_MS, NO_END, now - 5)
        self.assertEqual(self.own.ask("BREAK", "{seats}:timeout", permit(1).hex()), 1)
        self.assertEqual(heard.reply(), [b"message", b"redisson_sc:{seats}", b"2"])
        self.assertEqual((self.own.ask("GET", "seats"), self.own.ask("ZCARD", "{seats}:timeout")),
                         (b"2", 2))
        self.assertEqual(self.own.ask("BREAK", "{seats}:timeout"), 1)
        self.assertEqual(heard.reply(), [b"message", b"redisson_sc:{seats}", b"4"])
        self.assertEqual(self.own.ask("GET", "seats"), b"4")
        self.assertEqual(self.keys(), {"seats"})

    def test_the_fencing_token_of_redisson_stays(self):
        self.make_redisson("job", THREADS[0], 1)
        self.own.ask("SET", "redisson_lock_token:{job}", 17)
        answer = self.server.post("/api/v1/break-matching", {"db": 0, "match": "*"})[1]
        self.assertEqual((answer["locks"], answer["broken"]), (1, 1))
        self.assertEqual(self.own.ask("GET", "redisson_lock_token:{job}"), b"17")

    def test_waiters_of_redisson_are_told(self):
        self.make_redisson("job", THREADS[0], 1)
        self.make_redisson("rw", "mode", "read", THREADS[0], 1)
        self.make_redisson("written", "mode", "write", THREADS[0] + ":write", 1)
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        told = {"job": ("redisson_lock__channel:{job}", b"0"),
                "rw": ("redisson_rwlock:{rw}", b"0"),
                "written": ("redisson_rwlock:{written}", b"1"),
                "fair": ("redisson_lock__channel:{fair}:" + THREADS[1], b"0")}
        waiter = self.listen(*(channel for channel, _ in told.values()))
        for key, (channel, message) in told.items():
            self.assertEqual(self.own.ask("BREAK", key), 1)
            self.assertEqual(waiter.reply(), [b"message", channel.encode(), message])

    def test_the_first_waiter_that_still_waits_is_told(self):
        gone = THREADS[1] + "9"
        self.make_redisson("fair", THREADS[0], 1)
        self.make_fair_queue("fair", (gone, 1), (THREADS[1], unix_ms() + LEASE_MS))
        channel = "redisson_lock__channel:{fair}:" + THREADS[1]
        waiter = self.listen(channel)
        self.assertEqual(self.own.ask("BREAK", "fair"), 1)
        self.assertEqual(waiter.reply(), [b"message", channel.encode(), b"0"])
        self.assertEqual(self.own.ask("LRANGE", "redisson_lock_queue:{fair}", 0, -1),
                         [THREADS[1].encode()])
        self.assertEqual(self.own.ask("ZCARD", "redisson_lock_timeout:{fair}"), 1)

    def waiting(self, *words):
        """Returns a connection that waits for an element."""
        waiter = self.enterContext(self.server.connect())
        waiter.send(request(*words))
        self.own.settle()
        self.assertIn(b"blocked_clients:1\r\n", self.own.ask("INFO", "clients"))
        return waiter

    def test_a_job_that_waits_is_woken(self):
        self.make_unique_jobs("d", "j1")
        waiter = self.waiting("BRPOPLPUSH", "d:QUEUED", "d:PRIMED", 20)
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED"), 1)
        self.assertEqual(waiter.reply(), b"1")
        self.assertEqual(self.keys(), {"d:PRIMED"})

    def test_the_mark_that_nobody_waits_for_ends_by_itself(self):
        self.make_unique_jobs("d", "j1", waiting=["j2"])
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED"), 1)
        self.assertEqual(self.own.ask("LRANGE", "d:QUEUED", 0, -1), [b"1", b"j2"])
        self.assertTrue(0 < self.own.ask("PTTL", "d:QUEUED") <= 5000)

    def test_a_waiter_of_python_redis_lock_is_woken(self):
        self.own.ask("SET", "lock:report", "id", "NX", "EX", 30)
        waiter = self.waiting("BLPOP", "lock-signal:report", 20)
        self.assertEqual(self.own.ask("BREAK", "lock:report", "other"), 0)
        self.assertEqual(self.own.ask("BREAK", "lock:report"), 1)
        self.assertEqual(waiter.reply(), [b"lock-signal:report", b"1"])
        self.assertEqual(self.keys(), set())
        # No signal stays behind if nobody waits for it.
        self.own.ask("SET", "lock:report", "id", "NX", "EX", 30)
        self.assertEqual(self.own.ask("BREAK", "lock:report"), 1)
        self.assertEqual(self.keys(), set())

    def test_within_a_transaction(self):
        self.make_redisson("job", THREADS[0], 1)
        self.own.ask("SET", "lock:report", "id", "NX", "EX", 30)
        heard = self.listen("redisson_lock__channel:{job}")
        waiter = self.waiting("BLPOP", "lock-signal:report", 20)
        self.own.ask("MULTI")
        self.own.ask("BREAK", "job")
        self.own.ask("BREAK", "lock:report")
        self.assertEqual(self.own.ask("EXEC"), [1, 1])
        self.assertEqual(heard.reply()[2], b"0")
        self.assertEqual(waiter.reply()[1], b"1")

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
        self.assertRegex(ctl.text("why", "job"),
                         f"It is held by {THREADS[0]} with redisson, lease left [^,]+s\\.\n")
        self.assertRegex(ctl.text("why", "d:LOCKED"), r"held by j1 with unique-jobs since .*\(1m")
        self.assertRegex(ctl.text("owner", THREADS[0]), r"job +0 +holds +- +\S+s")
        text = ctl.text("break", "*", "--dry-run")
        self.assertIn(f"held by {THREADS[0]} with redisson, lease left", text)
        text = ctl.text("locks", "job")
        self.assertRegex(text, r"job +0 +1 +0 +- +- +\(redisson\) +" + THREADS[0][:8])
        self.assertEqual(ctl.json("show", "job")["holders"][0]["owner"], THREADS[0])
        # Nothing shows its token, since when it is held, or by which connection.
        self.assertRegex(ctl.text("show", "job"), THREADS[0] + r" +- +exclusive +- +\S+ +- +-")
        ctl.text("break", "job", "--yes", "--reason", "stuck")
        self.assertEqual(self.own.ask("EXISTS", "job"), 0)
        self.assertIn("stuck", ctl.text("history", "job"))


class Recording(LibraryLocks):

    def past(self, key):
        return [as_map(event) for event in as_map(self.own.ask("HISTORY", key))[b"events"]]

    def test_the_history_has_each_hold_that_was_broken(self):
        self.make_symfony("report", *TOKENS)
        self.make_unique_jobs("d", "j1")
        self.own.ask("CLIENT", "SETNAME", "boss")
        self.assertEqual(self.own.ask("BREAK", "report", "REASON", "stuck since noon"), 2)
        events = self.past("report")
        self.assertEqual({event[b"owner"].decode() for event in events}, set(TOKENS))
        for event in events:
            self.assertEqual((event[b"event"], event[b"comment"], event[b"token"]),
                             (b"broken", b"stuck since noon", None))
            self.assertRegex(event[b"by"].decode(), r"addr=\S+ name=boss user=default")
        self.assertEqual(self.own.ask("BREAK", "d:LOCKED"), 1)
        event, = self.past("d:LOCKED")
        self.assertEqual((event[b"owner"], event[b"comment"]), (b"j1", None))
        self.assertTrue(59_000 <= event[b"held_ms"] < 90_000, event)

    def test_what_was_not_broken_is_not_recorded(self):
        self.make_redisson("job", THREADS[0], 1)
        self.own.ask("HSET", "hash", "a", 1)
        self.assertEqual(self.own.ask("BREAK", "job", "other"), 0)
        self.assertEqual(self.own.ask("BREAK", "hash"), 0)
        self.own.ask("DEL", "job")
        self.assertEqual(self.past("*"), [])

    def test_the_channel_of_the_lock_and_the_counters_have_it(self):
        self.make_redisson("job", THREADS[0], 1)
        self.make_semaphore("semaphore:seats", "x", "y")
        heard = self.enterContext(self.server.connect())
        heard.ask("PSUBSCRIBE", "__lock@0__:*")
        keys = self.enterContext(self.server.connect())
        keys.ask("PSUBSCRIBE", "__keyevent@0__:*")
        self.own.ask("BREAK", "job")
        message = json.loads(heard.reply()[3])
        self.assertEqual((message["event"], message["key"], message["owner"]),
                         ("broken", "job", THREADS[0]))
        # The key is deleted once.
        self.own.ask("BREAK", "semaphore:seats", "x")
        self.assertEqual([keys.reply()[2:] for _ in range(2)],
                         [[b"__keyevent@0__:del", b"job"],
                          [b"__keyevent@0__:zrem", b"semaphore:seats"]])
        self.own.ask("LOCK", "own", "me")
        self.own.ask("BREAK", "own")
        self.own.ask("CONFIG", "RESETSTAT")
        self.assertIn(b"broken:3\r\n", self.own.ask("INFO", "locks"))
        metrics = self.server.ask("GET", "/metrics")[2].decode()
        self.assertIn("\nfairlock_breaks_total 3\n", metrics)
        statistics = as_map(as_map(self.own.ask("STATS"))[b"labels"][0])
        self.assertEqual(statistics[b"broken"], 3)
        # Nothing shows how long the library's locks were held.
        self.assertIn('\nfairlock_hold_seconds_count{label=""} 1\n', metrics)


class WithUsers(LibraryLocks):

    def start(self):
        file = self.enterContext(tempfile.NamedTemporaryFile("w", suffix=".acl"))
        file.write("user root on >root ~* +@all\n"
                   "user one on >one ~*:LOCKED ~{seats}:timeout ~fair ~lock:* +@all\n")
        file.flush()
        return Server("--acl-file", file.name)

    def log_in(self, name):
        self.assertEqual(self.own.ask("AUTH", name, name), "OK")

    def test_only_keys_that_the_user_may_write_are_changed(self):
        self.log_in("root")
        self.make_unique_jobs("d", "j1")
        self.make_permits("seats", 1, NO_END)
        self.log_in("one")
        for key, other in (("d:LOCKED", "d"), ("{seats}:timeout", "seats")):
            self.assertEqual(self.own.ask("BREAK", key),
                             f"NOPERM BREAK also changes '{other}', which this user may not write")
        self.log_in("root")
        self.assertEqual(self.own.ask("HLEN", "d:LOCKED"), 1)
        for key in ("d:LOCKED", "{seats}:timeout"):
            self.assertEqual(self.own.ask("BREAK", key), 1)

    def test_a_queue_that_the_user_may_not_write_stays_as_it_is(self):
        self.log_in("root")
        self.make_redisson("fair", THREADS[0], 1)
        self.make_fair_queue("fair", (THREADS[1], 1))
        self.log_in("one")
        self.assertEqual(self.own.ask("BREAK", "fair"), 1)
        self.log_in("root")
        self.assertEqual(self.own.ask("LLEN", "redisson_lock_queue:{fair}"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
