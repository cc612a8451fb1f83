"""Redisson's locks and semaphores, unmodified, do on fairlock what they do on Redis.

    redisson_test.py [PERMITS]    how many the semaphore with expiring permits has; default: 10000

Exits with 77 if the jars are not installed; deploy/install-jars.sh installs them.
"""

import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "integration"))
from own_redis import Redis  # noqa: E402
from own_server import Server  # noqa: E402

JARS = HERE / "jars"
PERMITS = 10_000
SCENARIOS = 12
SECONDS_MAX = 500


def run(port):
    """The lines of one run."""
    command = ["java", "-cp", f"{JARS}/*", HERE / "RedissonLocks.java", f"127.0.0.1:{port}",
               str(PERMITS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


class Redisson(unittest.TestCase):

    maxDiff = None

    def test_locks_and_semaphores_do_what_they_do_on_redis(self):
        with Server() as server:
            ours = run(server.port)
        with Redis() as redis:
            theirs = run(redis.port)
        self.assertEqual(ours, theirs)
        self.assertEqual(len(ours), SCENARIOS)
        self.assertFalse([line for line in ours if "failed" in line])
        print("\n".join(ours))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        PERMITS = int(sys.argv.pop())
    if shutil.which("java") is None or not (JARS / "complete").exists():
        print("skipped: deploy/install-jars.sh has not installed Redisson")
        sys.exit(77)
    unittest.main(verbosity=2)
