"""While many clients wait for a sync that should be quick, the server polls for its completion, but
only for a bounded time."""

import os
import time
import unittest

import own_server
from kept_server import KeptServer
from resp import request

CLIENTS = 20
PINGS = 1000
# Polling in each turn would take twice this time.
SECONDS_OF_TURN = 150e-6


@unittest.skipUnless(own_server.IS_MEASURED, "a sanitizer is to be loaded first")
class QuickDisk(unittest.TestCase):

    def setUp(self):
        self.server = KeptServer("--durability", "sync")
        self.stopped = self.server.directory / "stopped"
        self.server.environment = {"LD_PRELOAD": os.environ["QUICK_SYNC"],
                                   "STOPPED_DISK": str(self.stopped)}
        self.enterContext(self.server)

    def client(self):
        return self.enterContext(self.server.connect())

    def cpu_seconds(self):
        with open(f"/proc/{self.server.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def await_locks(self, client, calls):
        give_up = time.monotonic() + own_server.START_SECONDS_MAX
        asked = f"cmdstat_lock:calls={calls},".encode()
        while asked not in client.ask("INFO", "commandstats"):
            self.assertLess(time.monotonic(), give_up)

    def test_a_disk_that_stops_all_of_a_sudden_costs_no_time(self):
        clients = [self.client() for _ in range(CLIENTS)]
        looker = self.client()
        for _ in range(3):
            for verb in ("LOCK", "UNLOCK"):
                for number, client in enumerate(clients):
                    client.send(request(verb, f"key {number}", "o"))
                for client in clients:
                    self.assertGreater(client.reply(), 0)
        cpu_before = self.cpu_seconds()
        self.stopped.touch()
        for number, client in enumerate(clients):
            client.send(request("LOCK", f"key {number}", "o"))
        # At first, the loop is idle; later, it has work to do in each turn.
        time.sleep(PINGS * SECONDS_OF_TURN * 2)
        self.await_locks(looker, 4 * CLIENTS)
        for _ in range(PINGS):
            self.assertEqual(looker.ask("PING"), "PONG")
            time.sleep(0.0005)
        self.assertLess(self.cpu_seconds() - cpu_before, PINGS * SECONDS_OF_TURN)
        self.stopped.unlink()
        for client in clients:
            self.assertGreater(client.reply(), 0)


if __name__ == "__main__":
    unittest.main()
