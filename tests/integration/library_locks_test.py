"""LOCKS, LOCKINFO, LOCKED, QUEUE and POSITION show the locks of libraries that are small values."""

import tempfile
import time
import unittest

from fairlockctl import Fairlockctl
from library_lock_shapes import (LEASE_MS, NO_END, THREADS, TOKENS, LibraryLocks, as_map, permit,
                                 unix_ms)
from own_server import Server


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

    def test_permits_are_holders(self):
        now = unix_ms()
        self.make_permits("seats", 3, now + LEASE_MS, NO_END, now - 5)
        rows = self.rows()
        first, endless = permit(0).hex().encode(), permit(1).hex().encode()
        # An owner for each permit in use; the one that is over counts as free.
        self.assertEqual(rows.pop("{seats}:timeout"),
                         [2, 0, 0, 0, b"", 6, first, 0, b"redisson", None])
        # The number of free permits is a string, and like any other the owner of a lock.
        self.assertEqual([rows["seats"][0], rows["seats"][6]], [1, b"3"])
        self.assertEqual(set(self.rows("NOEXPIRY")), {"seats", "{seats}:timeout"})
        self.own.ask("ZREM", "{seats}:timeout", permit(1))
        self.assertEqual(set(self.rows("NOEXPIRY")), {"seats"})
        self.assertEqual(set(self.rows("OWNER", first)), {"{seats}:timeout"})
        self.own.ask("ZADD", "{seats}:timeout", NO_END, permit(1))
        info = self.own.ask_map("LOCKINFO", "{seats}:timeout")
        self.assertEqual((info[b"mode"], info[b"limit"]), (b"semaphore", 6))
        holders = {as_map(holder)[b"owner"]: as_map(holder)[b"ttl_ms"]
                   for holder in info[b"holders"]}
        self.assertIsNone(holders.pop(endless))
        self.assertTrue(0 < holders.pop(first) <= LEASE_MS)
        self.assertEqual(holders, {})
        self.assertEqual(self.own.ask("LOCKED", "{seats}:timeout"), 2)

    def test_the_free_permits_may_have_a_name_with_braces(self):
        self.make_permits("seats", 3, NO_END)
        self.own.ask("DEL", "seats")
        self.own.ask("SET", "{seats}", 5)
        self.assertEqual(self.rows()["{seats}:timeout"][5], 6)
        self.own.ask("DEL", "{seats}")
        self.assertEqual(self.rows()["{seats}:timeout"][5], 1)

    def test_a_fair_lock_that_is_free_shows_its_waiters(self):
        end = unix_ms() + LEASE_MS
        gone = THREADS[1] + "9"
        self.make_fair_queue("fair", (THREADS[1], end), (gone, 1), (THREADS[0], end + 5000))
        self.assertEqual(self.rows(), {
            "fair": [0, 2, 0, 0, b"", 1, b"", 0, b"redisson", None]})
        self.assertEqual(self.rows("MATCH", "fair", "WAITING", "COUNT", 1), self.rows())
        self.assertEqual(set(self.rows("OWNER", THREADS[0])), {"fair"})
        for options in (("MATCH", "redisson*"), ("OWNER", gone), ("HELD", "1ms"), ("HELD", "0"),
                        ("NOEXPIRY",), ("DB", 1)):
            self.assertEqual(self.rows(*options), {}, options)
        info = self.own.ask_map("LOCKINFO", "fair")
        self.assertEqual((info[b"mode"], info[b"holders"], info[b"waiters"], info[b"library"]),
                         (b"free", [], 2, b"redisson"))
        places = [as_map(place) for place in self.own.ask("QUEUE", "fair")]
        self.assertEqual([(place[b"position"], place[b"owner"].decode(), place[b"state"])
                          for place in places],
                         [(1, THREADS[1], b"waiting"), (2, THREADS[0], b"waiting")])
        self.assertTrue(0 < places[0][b"wait_left_ms"] <= LEASE_MS, places)
        self.assertEqual(self.own.ask("LOCKED", "fair"), 0)
        self.assertEqual([self.own.ask("POSITION", "fair", thread)
                          for thread in (*THREADS[::-1], gone)], [1, 2, None])
        # All waiters have gone: it is no lock any more, although the list is still there.
        self.own.ask("ZADD", "redisson_lock_timeout:{fair}", 1, THREADS[0], 1, THREADS[1])
        self.assertEqual(self.rows(), {})
        self.assertNotIn(b"library", self.own.ask_map("LOCKINFO", "fair"))

    def test_a_fair_lock_has_one_row(self):
        end = unix_ms() + LEASE_MS
        self.make_redisson("fair", THREADS[0], 1, waiting=[THREADS[1]])
        self.assertEqual({key: row[:2] for key, row in self.rows().items()}, {"fair": [1, 1]})
        self.assertEqual([self.own.ask("POSITION", "fair", thread) for thread in THREADS], [0, 1])
        self.own.ask("DEL", "fair")
        self.own.ask("LOCK", "fair", "me")
        self.assertEqual({key: row[:2] for key, row in self.rows().items()}, {"fair": [1, 0]})
        self.make_fair_queue("other", (THREADS[0], end))
        self.assertEqual({key: row[:2] for key, row in self.rows("COUNT", 1).items()},
                         {"fair": [1, 0], "other": [0, 1]})

    def test_what_redisson_stores_beside_a_lock_is_no_lock(self):
        self.make_readers("pages", (THREADS[0], 2), (THREADS[1], 1))
        self.make_redisson("job", THREADS[0], 1)
        self.own.ask("SET", "redisson_lock_token:{job}", 17)
        self.own.ask("SET", "redisson_unlock_latch:{job}:5f", 1, "PX", LEASE_MS)
        self.own.ask("LOCK", "redisson_lock_token:{own}", "me")
        self.assertEqual(set(self.rows()), {"pages", "job", "redisson_lock_token:{own}"})
        self.assertEqual([self.rows()["pages"][0], self.own.ask_map("LOCKINFO", "pages")[b"mode"]],
                         [2, b"shared"])
        # The token of RFencedLock is that of its holder.
        holder = as_map(self.own.ask_map("LOCKINFO", "job")[b"holders"][0])
        self.assertEqual(holder[b"token"], 17)
        holder = as_map(self.own.ask_map("LOCKINFO", "pages")[b"holders"][0])
        self.assertEqual(holder[b"token"], 0)

    def test_strings_are_locks_of_fairlock(self):
        for key in ("lock:report", "mutex:report"):
            self.own.ask("SET", key, "id", "NX", "PX", LEASE_MS)
        self.assertEqual({key: (len(row), row[6]) for key, row in self.rows().items()},
                         {"lock:report": (8, b"id"), "mutex:report": (8, b"id")})

    def test_jobs_wait_in_order(self):
        self.make_unique_jobs("d", "j1", waiting=["j2", "j3", "1"])
        self.own.ask("LPUSH", "d:PRIMED", "j0")
        self.assertEqual(self.rows()["d:LOCKED"][:2], [1, 3])
        self.assertEqual([as_map(place)[b"owner"] for place in self.own.ask("QUEUE", "d:LOCKED")],
                         [b"j0", b"j2", b"j3"])
        self.assertEqual([as_map(place)[b"owner"] for place in
                          self.own.ask("QUEUE", "d:LOCKED", "START", 1, "COUNT", 1)], [b"j2"])
        self.assertEqual(self.own.ask("POSITION", "d:LOCKED", "j2"), 2)

    def test_holders_are_counted(self):
        self.make_symfony("report", *TOKENS)
        self.assertEqual([self.own.ask("LOCKED", *words) for words in
                          (["report"], ["report", TOKENS[1]], ["report", "x"])], [2, 1, 0])

    def test_jobs_of_version_9_are_holders(self):
        self.make_unique_jobs_9("d", "j1", "j2")
        row = self.rows()["d:LOCKED"]
        self.assertEqual((row[:2], row[6], row[8]), ([2, 0], b"j1", b"unique-jobs"))
        self.assertTrue(60_000 <= row[3] < 90_000, row)
        self.assertEqual(set(self.rows()), {"d:LOCKED"})
        info = self.own.ask_map("LOCKINFO", "d:LOCKED")
        self.assertEqual([as_map(holder)[b"owner"] for holder in info[b"holders"]], [b"j1", b"j2"])
        self.assertEqual((info[b"type"], info[b"library"]), (b"hash", b"unique-jobs"))
        self.assertEqual([self.own.ask("LOCKED", "d:LOCKED", job) for job in ("j2", "j3")], [1, 0])
        self.assertEqual(self.own.ask("QUEUE", "d:LOCKED"), [])
        self.assertIn("held by j1 with unique-jobs since",
                      Fairlockctl(self.server).text("why", "d:LOCKED"))

    def test_another_value_is_never_called_free(self):
        """A key with a value is not free, whatever the type of the value, even if it is no lock of
        a library that fairlock knows."""
        for key, command, *words in (("hash", "HSET", "f", "v"), ("list", "RPUSH", "x"),
                                     ("set", "SADD", "m"), ("zset", "ZADD", 1, "m")):
            self.own.ask(command, key, *words)
            self.assertRegex(str(self.own.ask("LOCKED", key)),
                             f"^WRONGTYPE the key is not free: it has a {key}, ")
            self.assertRegex(str(self.own.ask("WAIT", key, "TIMEOUT", "1s")), "^WRONGTYPE ")
            info = self.own.ask_map("LOCKINFO", key)
            self.assertEqual((info[b"mode"], info[b"holders"], info[b"type"]),
                             (b"value", [], key.encode()))
            ctl = Fairlockctl(self.server)
            self.assertIn(f"it has a {key}, which is no lock", ctl.text("why", key))
            self.assertIn(f"database 0: a {key}, no lock of a library", ctl.text("show", key))
            lock = self.server.get(f"/api/v1/locks/0/{key}")[1]
            self.assertEqual((lock["mode"], lock["type"]), ("value", key))

    def test_with_fairlockctl(self):
        self.make_fair_queue("fair", (THREADS[1], unix_ms() + LEASE_MS))
        self.make_permits("seats", 1, unix_ms() + LEASE_MS)
        ctl = Fairlockctl(self.server)
        text = ctl.text("locks")
        self.assertRegex(text, r"fair +0 +0 +1 +- +- +\(redisson\) +-")
        self.assertRegex(text, r"\{seats\}:timeout +0 +1/2 +0 +- +- +\(redisson\) +" + "00" * 4)
        text = ctl.text("show", "fair")
        self.assertIn("fair, database 0: held by nobody, 1 waiting", text)
        self.assertRegex(text, r"1 +" + THREADS[1] + r" +exclusive +- +\S+ +waiting +-")
        self.assertRegex(ctl.text("show", "{seats}:timeout"),
                         "00" * 16 + r" +- +semaphore of 2 +- +\S+ +- +-")

    def test_over_http(self):
        self.make_fair_queue("fair", (THREADS[1], unix_ms() + LEASE_MS))
        row = self.server.get("/api/v1/locks?match=fair")[1]["locks"][0]
        self.assertEqual((row["holders"], row["waiters"], row["library"], row["ttl_ms"]),
                         (0, 1, "redisson", None))
        lock = self.server.get("/api/v1/locks/0/fair")[1]
        self.assertEqual((lock["holder_count"], lock["waiters"], lock["line"][0]["owner"]),
                         (0, 1, THREADS[1]))

    def test_pages_show_every_lock(self):
        count = 300
        for number in range(count):
            self.make_symfony(f"report{number}", TOKENS[0])
            self.make_fair_queue(f"fair{number}", (THREADS[0], unix_ms() + LEASE_MS))
            self.own.ask("LOCK", f"own{number}", "me")
        expected = {f"{name}{number}" for name in ("report", "fair", "own")
                    for number in range(count)}
        for size in (1, 10, 250):
            self.assertEqual(set(self.rows("COUNT", size)), expected)


class WithUsers(LibraryLocks):

    def start(self):
        file = self.enterContext(tempfile.NamedTemporaryFile("w", suffix=".acl"))
        file.write("user root on >root ~* +@all\n"
                   "user one on >one ~fair +@all\n")
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
        self.assertEqual(self.own.ask("QUEUE", "fair"), [])

    def test_a_free_lock_is_shown_to_those_who_may_read_its_queue(self):
        self.log_in("root")
        self.make_fair_queue("fair", (THREADS[0], unix_ms() + LEASE_MS))
        self.assertEqual(set(self.rows()), {"fair"})
        self.log_in("one")
        self.assertEqual(self.rows(), {})
        self.assertNotIn(b"library", self.own.ask_map("LOCKINFO", "fair"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
