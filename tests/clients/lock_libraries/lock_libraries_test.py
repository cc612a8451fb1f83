"""Lock libraries that are made of hashes, lists and sorted sets, on Redis and on fairlock: the same
calls have the same outcome."""

import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1] / "integration"))

# pylint: disable=wrong-import-position
from own_redis import Redis
from own_server import Server

SECONDS_MAX = 60
PHP = os.environ.get("PHP", "php")
NODE = os.environ.get("NODE", "node")
PACKAGES = FOLDER.parent / "node"


def outcome(words):
    """Returns the lines that the player prints, and how it ended."""
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=SECONDS_MAX)
    return done.stdout.splitlines() + (done.stderr.splitlines() if done.returncode else [])


class SameOutcome(unittest.TestCase):

    def compare(self, *words, lines_min):
        with Redis() as redis, Server() as server:
            expected, own = ([*words[:2], peer.port, *words[2:]] for peer in (redis, server))
            expected, own = outcome(expected), outcome(own)
        self.assertEqual(own, expected)
        self.assertGreaterEqual(len(expected), lines_min, expected)

    def test_symfony_with_predis(self):
        self.compare(PHP, FOLDER / "symfony_lock.php", "predis", lines_min=21)

    def test_symfony_with_phpredis(self):
        self.compare(PHP, FOLDER / "symfony_lock.php", "phpredis", lines_min=21)

    def test_redis_semaphore(self):
        self.compare(NODE, FOLDER / "redis_semaphore.mjs", PACKAGES, lines_min=24)

    def test_python_redis_lock(self):
        self.compare(sys.executable, FOLDER / "python_redis_lock.py", lines_min=12)

    def test_redisson(self):
        self.compare(sys.executable, FOLDER / "redisson.py", lines_min=30)

    def test_unique_jobs(self):
        self.compare(sys.executable, FOLDER / "unique_jobs.py", lines_min=13)

    def test_unique_jobs_9(self):
        self.compare(sys.executable, FOLDER / "unique_jobs_9.py", lines_min=10)

    def test_redislock(self):
        self.compare(sys.executable, FOLDER / "redislock.py", lines_min=14)

    def test_symfony_semaphore(self):
        self.compare(sys.executable, FOLDER / "symfony_semaphore.py", lines_min=13)


if __name__ == "__main__":
    unittest.main(verbosity=2)
