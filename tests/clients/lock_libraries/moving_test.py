"""Programs that still use another lock library, and programs that use LOCK, on the same keys: what
docs/recipes/lock-libraries.md says about the move."""

import contextlib
import json
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
import redis

from own_redis import Redis
from python_redis_lock import RESET, Lock
from redisson import FAIR_LOCK, LOCK, RENEW
from with_server import WithServer

PHP = os.environ.get("PHP", "php")
PHP_LIBRARY = FOLDER.parents[2] / "clients" / "php" / "src" / "autoload.php"
KEY = "order:42"
SECONDS_MAX = 60


class Moving(WithServer):

    def play(self, program, *words):
        """The lines that a PHP program prints."""
        return subprocess.run(
            [PHP, str(FOLDER / program), str(self.server.port), *words], text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=SECONDS_MAX).stdout.splitlines()

    def refused(self, error):
        return self.assertRaisesRegex(redis.ResponseError, error)


class FromRedisson(Moving):

    def test_neither_gets_the_key_that_the_other_holds(self):
        self.assertIsNone(self.run_script(LOCK, [KEY], 30_000, "u1:1"))
        with self.refused("WRONGTYPE"):
            self.ask("LOCK", KEY, "me", "EX", 30, "WAIT", "5s")
        self.redis.delete(KEY)
        token = self.ask("LOCK", KEY, "me", "EX", 30)
        for script in (LOCK, RENEW):
            with self.refused("WRONGTYPE"):
                self.run_script(script, [KEY], 30_000, "u1:1")
        self.assertEqual(self.redis.delete(KEY), 0, "what forceUnlock sends")
        self.assertEqual(self.ask("CHECK", KEY, token), 1)

    def test_a_fair_lock_has_as_many_waiters_as_a_value_has_elements(self):
        self.redis.config_set("value_elements_max", 3)
        keys = [KEY, f"redisson_lock_queue:{{{KEY}}}", f"redisson_lock_timeout:{{{KEY}}}"]

        def ask(owner):
            return self.run_script(FAIR_LOCK, keys, 30_000, owner, 1_000_000, 300_000)
        self.assertIsNone(ask("u1:1"))
        for number in range(3):
            self.assertGreater(ask(f"u2:{number}"), 0)
        with self.refused("FULL .*value_elements_max"):
            ask("u2:3")
        self.assertEqual(self.redis.llen(keys[1]), 3)


class FromSymfony(Moving):

    def test_neither_gets_the_key_that_the_other_holds(self):
        self.assertEqual(self.play("symfony_beside_lock.php"), [
            "acquire beside LOCK false", "the release of another ends nothing true",
            "acquire after UNLOCK true", "LOCK beside acquire WRONGTYPE", "LOCK after release true",
        ])

    def test_the_stores_deny_each_other_a_key_of_a_client_with_a_prefix(self):
        self.assertEqual(self.play("symfony_beside_store.php", str(PHP_LIBRARY)),
                         ["[true,false,false]"] * 2)

    def test_the_store_of_the_recipe_has_the_outcomes_of_redis_store(self):
        """The store differs in a key's type, and does not promote the lock of a reader."""
        differences = ["type", "promotion of the last reader", "a reader beside the writer",
                       "demotion"]
        program = (FOLDER / "symfony_lock.php").read_text()
        head, body = program.split("\n[, $port", 1)
        store = "new Fairlock\\Symfony\\FairlockStore(Fairlock\\Client::from($redis)"
        body = body.replace("new RedisStore($redis", store)
        file = self.server.directory / "store.php"
        file.write_text(f"{head}require {str(PHP_LIBRARY)!r};\n[, $port{body}")
        with Redis() as other:
            expected, own = (
                subprocess.run([PHP, str(path), str(port), "phpredis"], text=True, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=SECONDS_MAX).stdout.splitlines()
                for path, port in ((FOLDER / "symfony_lock.php", other.port),
                                   (file, self.server.port)))
        self.assertEqual(len(own), len(expected), own)
        for wanted, line in zip(expected, own):
            if not wanted.startswith(tuple(differences)):
                self.assertEqual(line, wanted)
        self.assertIn("promotion of the last reader false", own)


class KeyPrefixes(Moving):
    """What docs/recipes/moving-from-redis.md says about raw commands."""

    def test_a_raw_command_needs_the_prefix(self):
        for client in ("predis", "phpredis"):
            with self.subTest(client):
                self.assertEqual(self.play("key_prefix.php", client), [
                    "set true", "LOCK of the same key true",
                    "LOCK of the key with the prefix false", "after del true",
                    "set beside LOCK false"])


class FromUniqueJobs(Moving):

    def test_the_history_of_the_gem_fits(self):
        entry = {"digest": "uniquejobs:" + "a" * 32, "job_id": "b" * 24, "script": "lock.lua",
                 "message": "Locked", "time": time.time()}
        for number in range(1000):
            entry["time"] += number
            self.redis.zadd("uniquejobs:changelog", {json.dumps(entry): entry["time"]})
        self.assertEqual(self.redis.zcard("uniquejobs:changelog"), 1000)


class FromPythonRedisLock(Moving):

    def setUp(self):
        super().setUp()
        self.old = Lock(self.redis, KEY, "old")
        self.key, self.signal = self.old.keys

    def test_lock_waits_for_the_release_of_the_old_library(self):
        self.assertTrue(self.old.acquire())
        self.assertEqual(self.ask("LOCKINFO", self.key)[5][0][1], "old")
        granted = []
        waiter = threading.Thread(target=lambda: granted.append(
            self.client().execute_command("LOCK", self.key, "new", "EX", 30, "WAIT", "10s")))
        waiter.start()
        end = time.monotonic() + 10
        while not self.ask("QUEUE", self.key) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(Lock(self.redis, KEY, "late").acquire())
        self.assertEqual(self.old.release(), 0)
        waiter.join()
        self.assertEqual(self.ask("CHECK", self.key, granted[0]), 1)

    def test_the_old_library_cannot_end_a_hold_of_lock(self):
        token = self.ask("LOCK", self.key, "new", "EX", 30)
        self.assertFalse(self.old.acquire())
        self.assertEqual(self.old.release(), 1, "NotAcquired")
        self.run_script(RESET, self.old.keys, 1000)
        self.assertEqual(self.ask("CHECK", self.key, token), 1)

    def waited(self, signals):
        """Returns how long a waiter of the old library waits after an UNLOCK."""
        token = self.ask("LOCK", self.key, "new", "EX", 30)
        acquired = []

        def wait():
            # The library waits for its signal, then tries once more, even if the wait has ended.
            lock = Lock(self.client(), KEY, "old")
            acquired.append(lock.acquire(3) or lock.acquire())
        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.3)
        began = time.monotonic()
        self.ask("UNLOCK", self.key, "new", "TOKEN", token)
        if signals:
            self.redis.lpush(self.signal, 1)
            self.redis.pexpire(self.signal, 1000)
        waiter.join()
        self.assertEqual(acquired, [True])
        return time.monotonic() - began

    def test_only_a_signal_wakes_a_waiter_of_the_old_library_early(self):
        self.assertGreater(self.waited(signals=False), 1.5)
        with contextlib.suppress(redis.ResponseError):
            self.redis.delete(self.key, self.signal)
        self.assertLess(self.waited(signals=True), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
