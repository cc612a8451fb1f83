"""The wall clock is stepped while the server runs and across a restart: no lease ends early, no
hold is lost, and tokens keep increasing."""

import os
import time
import unittest

import own_fleet
import own_server
from kept_server import KeptServer

HOUR = 3600
LEASE_MS = 3000


@unittest.skipUnless(own_server.IS_MEASURED, "a sanitizer is to be loaded first")
class WallClock(unittest.TestCase):

    def setUp(self):
        self.server = KeptServer("--durability", "sync")
        self.offset = self.server.directory / "offset"
        self.step(0)
        self.server.environment = {"LD_PRELOAD": os.environ["STEPPED_CLOCK"],
                                   "CLOCK_OFFSET": str(self.offset)}
        self.enterContext(self.server)

    def step(self, seconds):
        self.offset.write_text(str(seconds))

    def client(self):
        return self.enterContext(self.server.connect())

    def seconds_of_server(self, client):
        return int(client.ask("TIME")[0])

    def check_step(self, seconds):
        client = self.client()
        before = self.seconds_of_server(client)
        began = time.monotonic()
        token = client.ask("LOCK", "running", "a", "PX", LEASE_MS)
        client.ask("LOCK", "kept", "a", "EX", 600)
        self.step(seconds)
        self.assertAlmostEqual(self.seconds_of_server(client) - before, seconds, delta=60)
        while time.monotonic() - began < LEASE_MS / 1000 - 0.1:
            self.assertEqual(client.ask("LOCKED", "running"), 1)
            time.sleep(0.05)
        time.sleep(LEASE_MS / 1000 - (time.monotonic() - began) + 0.05)
        self.assertEqual(client.ask("LOCKED", "running"), 0)
        client.ask("LOCK", "over the restart", "a", "EX", 600)
        self.server.kill_and_start_again()
        client = self.client()
        for key in ("kept", "over the restart"):
            holder = client.ask_map("LOCKINFO", key)[b"holders"][0]
            left_ms = dict(zip(holder[::2], holder[1::2]))[b"ttl_ms"]
            self.assertGreater(left_ms, 590_000)
            self.assertLessEqual(left_ms, 600_000)
        self.assertGreater(client.ask("LOCK", "new", "b"), token)

    def test_an_hour_back(self):
        self.check_step(-HOUR)

    def test_a_day_forward(self):
        self.check_step(24 * HOUR)

    def test_a_step_back_between_stop_and_start(self):
        token = self.client().ask("LOCK", "kept", "a", "EX", 600)
        self.server.stop()
        self.step(-24 * HOUR)
        self.server.start_again()
        client = self.client()
        self.assertEqual(client.ask("CHECK", "kept", token), 1)
        self.assertGreater(client.ask("LOCK", "new", "b"), token)


@unittest.skipUnless(own_server.IS_MEASURED, "a sanitizer is to be loaded first")
class WallClocksOfAFleet(unittest.TestCase):

    def test_a_standby_whose_clock_was_set_back_takes_over(self):
        fleet = self.enterContext(own_fleet.Fleet(nodes=2, members=1))
        leader = fleet.leader()
        standby = next(node for node in fleet.nodes if node is not leader)
        standby.terminate()
        offset = fleet.directory / "offset"
        offset.write_text(str(24 * HOUR))
        standby.environment = {"LD_PRELOAD": os.environ["STEPPED_CLOCK"],
                               "CLOCK_OFFSET": str(offset)}
        standby.start()
        fleet.await_nodes(own_fleet.START_SECONDS_MAX)
        offset.write_text("0")
        with leader.connect() as client:
            token = client.ask("LOCK", "kept", "a", "EX", 600)
        leader.kill()
        self.assertIs(fleet.await_leader(), standby)
        with standby.connect() as client:
            self.assertEqual(client.ask("CHECK", "kept", token), 1)
            self.assertGreater(client.ask("LOCK", "new", "b"), token)


if __name__ == "__main__":
    unittest.main()
