"""Small values are in the log of a fleet: the next leader continues with them."""

import time
import unittest

from own_fleet import Fleet
import resp


class FleetValues(unittest.TestCase):

    def ask(self, fleet, *words, seconds=20):
        """Asks whichever node leads until one answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            leader = fleet.leader()
            if leader is None:
                continue
            try:
                with leader.connect() as client:
                    reply = client.ask(*words)
            except (OSError, resp.Ended):
                continue
            if not isinstance(reply, resp.ErrorReply):
                return reply
        raise AssertionError(f"no answer to {words}")

    def test_a_killed_leader_is_followed_by_one_with_all_its_values(self):
        with Fleet(nodes=2) as fleet:
            self.ask(fleet, "HSET", "hash", "b", "1", "a", "2")
            self.ask(fleet, "EXPIRE", "hash", "1000")
            self.ask(fleet, "RPUSH", "list", "x", "y")
            self.ask(fleet, "LPOP", "list")
            self.ask(fleet, "ZADD", "zset", "1.5", "m")
            self.ask(fleet, "SADD", "gone", "m")
            self.ask(fleet, "DEL", "gone")
            fleet.leader().kill()
            self.assertEqual(self.ask(fleet, "HGETALL", "hash"), [b"b", b"1", b"a", b"2"])
            self.assertGreater(self.ask(fleet, "TTL", "hash"), 900)
            self.assertEqual(self.ask(fleet, "LRANGE", "list", "0", "-1"), [b"y"])
            self.assertEqual(self.ask(fleet, "ZSCORE", "zset", "m"), b"1.5")
            self.assertEqual(self.ask(fleet, "DBSIZE"), 3)

    def test_what_redisson_asks_after_each_lock(self):
        """Redisson gives up a lock if INFO shows replicas, and none of them has it."""
        with Fleet(nodes=2) as fleet, fleet.leader().connect() as client:
            end = time.monotonic() + 10
            while b"connected_slaves:1\r\n" not in client.ask("INFO", "replication"):
                self.assertLess(time.monotonic(), end, "the leader sees no standby")
                time.sleep(0.05)
            self.assertEqual(client.ask("HSET", "lock", "thread", "1"), 1)
            self.assertEqual(client.ask("WAIT", "1", "1000"), 1)
            self.assertEqual(client.ask("WAITAOF", "1", "1", "1000"), [1, 1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
