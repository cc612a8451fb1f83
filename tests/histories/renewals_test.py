"""Kills and stops a server while leases are renewed and snapshots are written. No lease may end
earlier than was acknowledged.

     KILLS=200 LOCKS=200000 FAIRLOCKD=build/release/bin/fairlockd \\
     /usr/bin/python3 tests/histories/renewals_test.py
"""

import os
import pathlib
import random
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

# pylint: disable=wrong-import-position
import resp
from kept_server import KeptServer

KILLS = int(os.environ.get("KILLS", "4"))
LOCKS = int(os.environ.get("LOCKS", "20000"))  # other locks, which make a snapshot long
SEED = int(os.environ.get("SEED", "1"))
RENEWED = 50
# While long leases run, the server stores the time that is left of them.
LEASES_MS = (30_000, 120_000, 700_000, 1_500_000)
BATCH = 500
META = "m" * 4000


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Writer(threading.Thread):
    """Takes and releases locks with a large META, so that snapshots begin."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.client = server.connect_unix()

    def run(self):
        lock = b"".join(resp.request("LOCK", f"tmp:{i}", "o", "PX", "540000", "META", META)
                        for i in range(BATCH))
        unlock = b"".join(resp.request("UNLOCK", f"tmp:{i}", "o") for i in range(BATCH))
        try:
            while True:
                for requests in (lock, unlock):
                    self.client.send(requests)
                    for _ in range(BATCH):
                        self.client.reply()
        except (OSError, resp.Ended):
            pass


class Renewer(threading.Thread):
    """Renews leases, and notes until when each one must last."""

    def __init__(self, server, ends, seed):
        super().__init__(daemon=True)
        self.client = server.connect_unix()
        self.ends = ends
        self.chance = random.Random(seed)
        self.renewed = 0

    def run(self):
        try:
            while True:
                key = self.chance.randrange(RENEWED)
                lease_ms = self.chance.choice(LEASES_MS)
                end = now() + lease_ms / 1000
                before = self.ends[key]
                # Until the reply, either may be true.
                self.ends[key] = min(before, end)
                if self.client.ask("RENEW", f"x:{key}", "me", "PX", str(lease_ms)) != 1:
                    self.ends[key] = float("inf")  # is found when the leases are compared
                    return
                self.ends[key] = end
                self.renewed += 1
        except (OSError, resp.Ended):
            pass


class Renewals(unittest.TestCase):

    def test_no_lease_ends_earlier_than_was_acknowledged(self):
        chance = random.Random(SEED)
        server = self.enterContext(KeptServer("--log-level", "error"))
        ends = self.fill(server)
        kills = stops = in_snapshot = renewed = 0
        while kills < KILLS:
            writer = Writer(server)
            renewer = Renewer(server, ends, chance.random())
            writer.start()
            renewer.start()
            with server.connect_unix() as watcher:
                in_snapshot += self.await_moment(watcher, chance)
            if chance.random() < 0.7:
                kills += 1
                server.kill()
            else:
                stops += 1
                self.assertEqual(server.stop(), 0, server.output())
            writer.join(20)
            renewer.join(20)
            renewed += renewer.renewed
            server.start_again()
            self.compare(server, ends)
        print(f"{kills} kills and {stops} clean stops, {in_snapshot} of them during a snapshot, "
              f"{renewed} renewals, no lease ended early")
        self.assertGreater(renewed, 10 * KILLS)

    @staticmethod
    def fill(server):
        ends = []
        with server.connect_unix() as client:
            for begin in range(0, LOCKS, BATCH):
                count = min(BATCH, LOCKS - begin)
                keys = (f"fill:{begin + i}" for i in range(count))
                client.send(b"".join(resp.request("LOCK", key, "o", "PX", "86400000")
                                     for key in keys))
                for _ in range(count):
                    client.reply()
            for key in range(RENEWED):
                ends.append(now() + 60)
                client.ask("LOCK", f"x:{key}", "me", "PX", "60000")
        return ends

    @staticmethod
    def await_moment(watcher, chance):
        """Waits for the moment of the end. Returns whether it is during a snapshot."""
        time.sleep(chance.uniform(0.05, 0.5))
        if chance.random() < 0.5:
            return False
        give_up = now() + 3
        while now() < give_up:
            if b"rdb_bgsave_in_progress:1" in watcher.ask("INFO", "persistence"):
                time.sleep(chance.uniform(0, 0.05))
                return True
        return False

    def compare(self, server, ends):
        with server.connect_unix() as client:
            for key, end in enumerate(ends):
                left_ms = client.ask("PTTL", f"x:{key}")
                self.assertGreaterEqual(left_ms / 1000, end - now() - 0.01, f"x:{key}")


if __name__ == "__main__":
    unittest.main()
