"""A short form of run.py: ends a server under a load of small values, and judges what is left."""

import os
import random
import unittest

import value_load  # imported first, because it finds the modules of other tests
import lost_power
from kept_server import KeptServer

SEED = int(os.environ.get("HISTORIES_SEED", "1"))
ENDS = ("SIGKILL", "SIGTERM", "SIGKILL", "SHUTDOWN", "SIGKILL")


class ValueHistories(unittest.TestCase):

    def run_load(self, durability, ends, is_traced=False):
        server = KeptServer("--durability", durability, "--log-level", "error")
        disk = lost_power.traced(server) if is_traced else None
        self.enterContext(server)
        load = value_load.Load(value_load.OneServer(server, disk, random.Random(SEED)), SEED)
        load.run_segment(ends, 0.3)
        self.assertEqual(load.findings, [], "\n".join(map(str, load.findings[:5])))
        self.assertGreater(load.counts["commands of owners"], 100)
        self.assertGreater(load.counts["popped"], 10)

    def test_async_loses_nothing_that_was_acknowledged(self):
        self.run_load("async", ENDS)

    def test_sync_loses_nothing_that_was_acknowledged(self):
        self.run_load("sync", ENDS)

    @unittest.skipIf("TRACED_DISK_LIBRARY" not in os.environ, "excluded by a sanitizer")
    def test_sync_loses_nothing_when_the_power_fails(self):
        self.run_load("sync", ["power"] * 3, is_traced=True)


if __name__ == "__main__":
    unittest.main()
