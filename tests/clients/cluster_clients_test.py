"""The cluster modes of client libraries, with a fleet of four partitions on a real etcd."""

import functools
import pathlib
import sys
import threading
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "integration"), str(FOLDER / "fail_overs"),
                str(FOLDER / "cluster")]

# pylint: disable=wrong-import-position
import cluster_through_fail_overs
import players
from own_cluster import PartitionedFleet

RELEASE = ("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
           "else return 0 end")
OTHER_SLOT = "(?i)CROSSSLOT|same key slot"


def with_each(ability=None):
    """Runs the test once for each player that has the ability."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for player in self.players:
                if ability is None or ability in players.ABILITIES[player.name]:
                    with self.subTest(player.name):
                        test(self, player)
        return run
    return decorate


class Clients(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(PartitionedFleet())
        cls.players = []
        cls.addClassCleanup(lambda: [player.stop() for player in cls.players])
        for stack in players.ALL.values():
            cls.players.append(players.Player(stack, stack.prepare(cls.fleet.directory),
                                              cls.fleet.nodes[:3],
                                              cls.fleet.directory / f"{stack.name}.err"))
        keys = cluster_through_fail_overs.keys_by_partition(cls.fleet)
        cls.keys = [some[0] for some in keys.values()]

    def test_every_library_is_installed(self):
        for stack in players.ALL.values():
            self.assertIsNotNone(stack.found_version(), stack.name)

    @with_each()
    def test_locks_of_every_partition(self, player):
        for key in self.keys:
            token = player.call("LOCK", key, "a", "PX", 30_000)
            self.assertIsInstance(token, int)
            self.assertEqual(player.call("LOCK", key, "a", "PX", 30_000), token)
            self.assertIsNone(player.call("LOCK", key, "b"))
            self.assertEqual(player.call("CHECK", key, token), 1)
            self.assertEqual(player.call("RENEW", key, "a", "PX", 60_000, "TOKEN", token), 1)
            self.assertEqual(player.call("UNLOCK", key, "b"), 0)
            self.assertEqual(player.call("UNLOCK", key, "a"), 1)
            self.assertEqual(player.call("CHECK", key, token), 0)

    @with_each()
    def test_a_waiter_is_handed_the_lock(self, player):
        # The holder uses another library.
        holder = self.players[self.players.index(player) - 1]
        for key in self.keys:
            token = holder.call("LOCK", key, "a", "PX", 30_000)
            granted = []
            waiter = threading.Thread(target=lambda: granted.append(
                player.call("LOCK", key, "b", "WAIT", "2500ms")))
            waiter.start()
            for _ in range(500):
                if holder.call("POSITION", key, "b") == 1:
                    break
            self.assertEqual(holder.call("UNLOCK", key, "a"), 1)
            waiter.join()
            self.assertGreater(granted[0], token)
            self.assertEqual(player.call("UNLOCK", key, "b"), 1)

    @with_each()
    def test_a_multi_lock_has_one_slot(self, player):
        for key in self.keys:
            one, other = f"{{{key}}}:1", f"{{{key}}}:2"
            token = player.call("MLOCK", 2, one, other, "a", "PX", 30_000)
            self.assertIsInstance(token, int)
            self.assertEqual(player.call("CHECK", other, token), 1)
            self.assertEqual(player.call("MRENEW", 2, one, other, "a", "PX", 60_000), 1)
            self.assertEqual(player.call("MUNLOCK", 2, one, other, "a"), 2)
        with self.assertRaisesRegex(players.Refused, OTHER_SLOT):
            player.call("MLOCK", 2, self.keys[0], self.keys[1], "a")

    @with_each()
    def test_set_and_the_release_script(self, player):
        for key in self.keys:
            self.assertEqual(player.call("SET", key, "a", "NX", "PX", 30_000), "OK")
            self.assertIsNone(player.call("SET", key, "b", "NX", "PX", 30_000))
            self.assertEqual(player.call("EVAL", RELEASE, 1, key, "b"), 0)
            self.assertEqual(player.call("EVAL", RELEASE, 1, key, "a"), 1)

    @with_each()
    def test_errors_of_the_server_arrive(self, player):
        with self.assertRaisesRegex(players.Refused, "PX must be a whole number"):
            player.call("LOCK", self.keys[0], "a", "PX", "abc")

    @with_each("pipeline")
    def test_a_pipeline(self, player):
        for key in self.keys:
            keys = [f"{{{key}}}:{number}" for number in range(5)]
            tokens = player.ask("pipeline", [["LOCK", one, "a"] for one in keys])
            self.assertEqual(len(set(tokens)), len(keys))
            self.assertEqual(player.ask("pipeline", [["UNLOCK", one, "a"] for one in keys]),
                             [1] * len(keys))

    @with_each("transaction")
    def test_a_transaction(self, player):
        for key in self.keys:
            one, other = f"{{{key}}}:1", f"{{{key}}}:2"
            replies = player.ask("transaction", [
                ["LOCK", one, "a"], ["SET", other, "x", "NX", "PX", "30000"],
                ["UNLOCK", one, "a"], ["DEL", other]])
            self.assertIsInstance(replies.pop(0), int)
            self.assertEqual(replies, ["OK", 1, 1])

    # The last test by its name: redis-cli can only listen afterwards, on one connection.
    @with_each("subscribe")
    def test_z_shard_channels(self, player):
        publisher = next(player for player in self.players if player.name == "ioredis")
        name = player.name.replace(" ", "-")
        channels = [f"{name}:{{{key}}}" for key in self.keys]
        if player.name == "redis-cli":
            channels = channels[:1]
        for channel in channels:
            player.ask("subscribe", channel)
        for channel in channels:
            self.assertEqual(publisher.call("SPUBLISH", channel, "hello"), 1)
            self.assertEqual(player.ask("message", None), [channel, "hello"])


class ThroughFailOvers(unittest.TestCase):

    FAIL_OVERS = 2

    def test_every_client_goes_on(self):
        arguments = cluster_through_fail_overs.parsed(["--fail-overs", str(self.FAIL_OVERS)])
        run = cluster_through_fail_overs.ClusterFailOvers(arguments)
        run.run()
        run.report()
        self.assertEqual(run.findings, [])
        self.assertEqual(run.missing, {})
        self.assertEqual([row["client"] for row in run.rows()], list(players.ALL))
        for row in run.rows():
            self.assertEqual(row["fail_overs"], self.FAIL_OVERS, row)
            self.assertGreater(row["operations"], 50, row)


if __name__ == "__main__":
    unittest.main(verbosity=2)
