"""LOCKS shows the locks that libraries take, and after BREAK the next one gets the lock at once."""

import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1] / "integration"))

# pylint: disable=wrong-import-position
from python_redis_lock import Lock
from redisson import FAIR_LOCK, GIVE_PERMIT_BACK, READ_LOCK, TAKE_PERMIT, WRITE_LOCK
from unique_jobs import Digest
from with_server import WithServer

PHP = os.environ.get("PHP", "php")
NODE = os.environ.get("NODE", "node")
PACKAGES = FOLDER.parent / "node"
SECONDS_MAX = 60
THREADS = [f"b983c153-7421-469a-addb-44fb92259a1b:{number}" for number in (1, 2, 3)]


class Breaking(WithServer):

    def rows(self):
        """Returns the holders, the waiters and the library of each lock."""
        rows, cursor = {}, "0"
        while True:
            cursor, page = self.ask("LOCKS", cursor)
            rows.update({row[0]: (row[1], row[2], *row[9:10]) for row in page})
            if cursor == "0":
                return rows

    def granted_after_break(self, key, wait):
        """Lets `wait` wait for the lock, and returns how long it waits after BREAK."""
        granted = []
        waiter = threading.Thread(target=lambda: granted.append(wait()))
        waiter.start()
        end = time.monotonic() + 10
        while not self.redis.info("clients")["blocked_clients"] and time.monotonic() < end:
            time.sleep(0.01)
        began = time.monotonic()
        self.assertEqual(self.ask("BREAK", key), 1)
        waiter.join()
        return granted[0], time.monotonic() - began

    def test_python_redis_lock(self):
        self.assertTrue(Lock(self.redis, "job", "a").acquire())
        self.assertEqual(self.rows(), {"lock:job": (1, 0)})
        is_granted, seconds = self.granted_after_break(
            "lock:job", lambda: Lock(self.client(), "job", "b").acquire(20))
        self.assertTrue(is_granted)
        self.assertLess(seconds, 5)
        self.assertEqual(self.redis.get("lock:job"), "b")

    def test_unique_jobs(self):
        one = Digest(self.redis, "uniquejobs:d")
        self.assertEqual(one.lock("j1", time.time()), "j1")
        self.assertEqual(self.rows()["uniquejobs:d:LOCKED"], (1, 0, "unique-jobs"))
        self.assertEqual(set(self.rows()), {"uniquejobs:d", "uniquejobs:d:LOCKED"})
        queued, primed = one.keys[1:3]
        mark, seconds = self.granted_after_break(
            "uniquejobs:d:LOCKED", lambda: self.client().brpoplpush(queued, primed, 20))
        self.assertEqual(mark, "1")
        self.assertLess(seconds, 5)
        self.assertEqual(self.redis.exists(*one.keys), 1, "the mark, in the list of the waiter")
        self.redis.delete(primed)
        self.assertEqual(one.lock("j2", time.time()), "j2")

    def test_fair_lock_of_redisson(self):
        keys = ["fair", "redisson_lock_queue:{fair}", "redisson_lock_timeout:{fair}"]

        def ask(thread):
            return self.run_script(FAIR_LOCK, keys, 30_000, thread, int(time.time() * 1000), 60_000)
        self.assertEqual([ask(thread) is None for thread in THREADS], [True, False, False])
        self.assertEqual(self.rows(), {"fair": (1, 2, "redisson")})
        channel = f"redisson_lock__channel:{{fair}}:{THREADS[1]}"
        heard = self.redis.pubsub(ignore_subscribe_messages=True)
        heard.subscribe(channel)
        heard.get_message(timeout=2)
        self.assertEqual(self.ask("BREAK", "fair"), 1)
        self.assertEqual(heard.get_message(timeout=5)["data"], "0")
        # Until that thread asks again, nobody holds the lock, and both wait.
        self.assertEqual(self.rows(), {"fair": (0, 2, "redisson")})
        self.assertIsNotNone(ask(THREADS[2]))
        self.assertIsNone(ask(THREADS[1]))
        self.assertEqual(self.rows(), {"fair": (1, 1, "redisson")})

    def test_read_write_lock_of_redisson(self):
        def read(thread):
            return self.run_script(READ_LOCK, ["rw", f"{{rw}}:{thread}:rwlock_timeout"], 30_000,
                                   thread)
        self.assertEqual([read(thread) for thread in THREADS[:2]], [None, None])
        self.assertEqual(self.rows(), {"rw": (2, 0, "redisson")})
        self.assertEqual(self.ask("BREAK", "rw", THREADS[0]), 1)
        self.assertGreater(self.run_script(WRITE_LOCK, ["rw"], 30_000, THREADS[2]), 0)
        self.assertEqual(self.ask("BREAK", "rw"), 1)
        self.assertEqual(self.redis.keys(), [])
        self.assertIsNone(self.run_script(WRITE_LOCK, ["rw"], 30_000, THREADS[2]))
        self.assertEqual(self.rows(), {"rw": (1, 0, "redisson")})

    def test_permits_of_redisson(self):
        keys = ["seats", "{seats}:timeout"]
        permits = [letter * 16 for letter in "abc"]

        def take(permit):
            now = int(time.time() * 1000)
            return self.run_script(TAKE_PERMIT, keys, permit, now + 30_000, now)
        self.redis.set("seats", 2)
        self.assertEqual([take(permit) for permit in permits[:2]], permits[:2])
        self.assertNotEqual(take(permits[2]), permits[2])
        self.assertEqual(self.rows(), {"seats": (1, 0), "{seats}:timeout": (2, 0, "redisson")})
        self.assertEqual(self.ask("BREAK", "{seats}:timeout", permits[0].encode().hex()), 1)
        self.assertEqual(take(permits[2]), permits[2])
        # The program whose permit was taken away gives nothing back.
        self.assertEqual(self.run_script(GIVE_PERMIT_BACK, keys, permits[0]), 0)
        self.assertEqual(self.ask("BREAK", "{seats}:timeout"), 2)
        self.assertEqual((self.redis.get("seats"), self.redis.keys()), ("2", ["seats"]))

    def played(self, *words):
        return subprocess.run(
            list(map(str, words)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=SECONDS_MAX, check=False).stdout.splitlines()

    def test_symfony(self):
        self.assertEqual(self.played(PHP, FOLDER / "symfony_break.php", self.server.port), [
            'shown [1,"symfony"]', "broken 1", "still acquired false", "acquire of another true",
            'readers shown [2,"symfony"]', "one reader broken 1", "readers left [false,true]",
            "all broken 1", "keys left 0"])

    def test_redis_semaphore(self):
        self.assertEqual(
            self.played(NODE, FOLDER / "redis_semaphore_break.mjs", self.server.port, PACKAGES), [
                'semaphore shown [2,"redis-semaphore"]', "one broken 1", "acquire of another true",
                'multi-semaphore shown [3,"redis-semaphore"]', "all broken 3", "keys left 0",
                'mutex shown [1,null]', "mutex broken 1", "mutex of another true"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
