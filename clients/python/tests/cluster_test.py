"""Locks of threads in a fleet of several partitions."""

import gc
import pathlib
import tempfile
import time
import unittest
import weakref
from unittest import mock

import readme_test
import redis
import redis.cluster
import support
from cluster_case import ClusterCase
from own_server import hash_of
from redis.exceptions import MovedError

import fairlock
from fairlock import _routes, _table

# The permissions of an application: those of every client library, and those that RedisCluster
# needs.
PERMISSIONS = ("~* owner:* resetchannels &fairlock:* +@lock +@connection +subscribe +unsubscribe "
               "+info +cluster|slots +command")


class Threads(ClusterCase):

    def test_locks_of_every_partition(self):
        client = self.client()
        for key in self.keys(3):
            with fairlock.lock(client, key, wait=10) as hold:
                self.assertEqual(self.ask("CHECK", key, hold.token), 1)
                self.assertIsNone(fairlock.lock(client, key).try_acquire())
                with self.assertRaisesRegex(fairlock.Denied, "held by"):
                    fairlock.lock(client, key, wait=0.1, owner="other").acquire()
                hold.renew(lease=60)
                hold.transfer("another")
            with fairlock.lock(client, key, owner="another"):
                pass
            self.assert_nothing_left(key)

    def test_kinds_of_locks(self):
        client = self.client()
        for key in self.keys():
            with fairlock.lock(client, key, limit=2), fairlock.lock(client, key, limit=2):
                self.assertIsNone(fairlock.lock(client, key, limit=2).try_acquire())
            with fairlock.lock(client, key, shared=True), fairlock.lock(client, key, shared=True):
                pass
            with fairlock.lock(client, key, min_hold=0.1):
                pass
            with fairlock.lock(client, f"{{{key}}}:1", f"{{{key}}}:2") as hold:
                self.assertEqual(self.ask("CHECK", f"{{{key}}}:2", hold.token), 1)

    def test_keys_of_different_slots_are_refused_at_once(self):
        client = self.client()
        with fairlock.Channel(client) as channel:
            for options in ({}, {"channel": channel}):
                began = time.monotonic()
                with self.assertRaisesRegex(redis.exceptions.ClusterCrossSlotError, "same slot"):
                    fairlock.lock(client, *self.keys(), wait=60, **options).acquire()
                self.assertLess(time.monotonic() - began, 5)
        self.assert_nothing_left(*self.keys())

    def test_waiters_are_granted_in_order(self):
        client = self.client()
        for key in self.keys():
            tokens, results = [], []
            with fairlock.lock(client, key):
                for number in range(3):
                    def work(number=number):
                        with fairlock.lock(client, key, wait=30) as hold:
                            tokens.append((hold.token, number))

                    results.append(self.in_thread(work))
                    support.wait_until(lambda: len(self.waiters(key)) == number + 1)
            for result in results:
                result()
            self.assertEqual(tokens, sorted(tokens))
            self.assertEqual([number for _, number in tokens], [0, 1, 2])

    def test_other_clients_are_told_to_use_this_one(self):
        for key in self.keys():
            client = redis.Redis("127.0.0.1", self.ports[0])
            self.addCleanup(client.close)
            if self.leader(key).port == self.ports[0]:
                fairlock.lock(client, key).acquire().release()
                continue
            with self.assertRaisesRegex(fairlock.FairlockError, "needs a RedisCluster.*MOVED"):
                fairlock.lock(client, key, wait=60).acquire()

    def test_redirections_are_followed_at_once(self):
        client = self.client()
        for key in self.keys():
            self.mislead(client, key)
            with fairlock.lock(client, key, wait=0):
                pass
            address = _routes.ClusterRoute(client, key).address
            self.assertEqual(address, ("127.0.0.1", self.leader(key).port))

    def test_nodes_that_redirect_to_each_other(self):
        """A request that is sent to and fro must end."""
        client, count = self.client(), []
        (key, *_) = self.keys()
        self.mislead(client, key)
        wrong, heed = self.wrong_leader(key), _table.Table.heed

        def to_the_wrong_node(table, error, asked):
            count.append(error)
            return heed(table, wrong if isinstance(error, MovedError) else error, asked)

        with mock.patch.object(_table.Table, "heed", to_the_wrong_node):
            with self.assertRaises(MovedError):
                fairlock.lock(client, key, wait=0).acquire()
        self.assertLess(len(count), 20)

    def test_the_client_is_free_once_its_locks_are_gone(self):
        def outlives(use):
            client = self.client()
            use(client)
            gone = weakref.ref(client)
            self.doCleanups()
            del client
            gc.collect()
            return gone() is not None

        def lock(client):
            for key in self.keys():
                fairlock.lock(client, key).acquire().release()

        # Some versions of redis-py keep it themselves.
        self.assertEqual(outlives(lock), outlives(lambda client: None))

    def test_a_channel_over_all_partitions(self):
        client, other = self.client(), self.client()
        keys = self.keys(4)
        with fairlock.Channel(client) as channel:
            holds = {key: fairlock.lock(other, key).acquire() for key in keys}
            results = {key: self.in_thread(fairlock.lock(client, key, wait=30,
                                                         channel=channel).acquire)
                       for key in keys}
            for key in keys:
                support.wait_until(lambda: len(self.waiters(key)) == 1)
                self.assertIn(f"{channel.name}:{{{key}}}", self.channels(key))
            for key in reversed(keys):
                holds[key].release()
                hold = results[key]()
                self.assertEqual(self.ask("CHECK", key, hold.token), 1)
                hold.release()
            for key in keys:
                support.wait_until(lambda: len(self.channels(key)) == 1)
        for key in keys:
            support.wait_until(lambda: not self.channels(key))

    def test_one_name_after_another(self):
        client = self.client()
        with fairlock.Channel(client) as channel:
            for key in self.keys(20):
                with fairlock.lock(client, key, wait=30, channel=channel):
                    pass
            for key in self.keys():
                support.wait_until(lambda: len(self.channels(key)) == 1)

    def test_many_slots_at_once(self):
        """All waits of a partition share its connections."""
        client, other, keys = self.client(client_name="many"), self.client(), self.keys(100)
        with fairlock.Channel(client) as channel:
            held = {key: fairlock.lock(other, key).acquire() for key in keys}
            locks = {key: fairlock.lock(client, key, wait=60, channel=channel) for key in keys}
            results = [self.in_thread(lock.acquire) for lock in locks.values()]
            for key in keys:
                support.wait_until(lambda: self.waiters(key))
            for node in self.fleet.leaders().values():
                with node.connect() as connection:
                    clients = connection.ask("CLIENT", "LIST").decode()
                self.assertLessEqual(clients.count("name=many"), 3)
            for hold in held.values():
                hold.release()
            for result in results:
                result().release()

    def test_a_channel_reports_a_loss_at_once(self):
        client, lost = self.client(), []
        with fairlock.Channel(client) as channel:
            holds = [fairlock.lock(client, key, lease=60, wait=30, channel=channel,
                                   on_lost=lost.append).acquire() for key in self.keys()]
            for number, key in enumerate(self.keys()):
                self.ask("BREAK", key)
                support.wait_until(lambda: lost == holds[:number + 1], seconds=5)

    def test_a_subscription_at_a_standby_is_renewed(self):
        """The table names the wrong node for the slot, and nothing is published there."""
        client, other = self.client(), self.client()
        for key in self.keys():
            self.mislead(client, key)
            with fairlock.Channel(client) as channel:
                with fairlock.lock(other, key):
                    result = self.in_thread(fairlock.lock(client, key, wait=30,
                                                          channel=channel).acquire)
                    support.wait_until(lambda: self.waiters(key))
                result().release()

    def test_a_lock_and_its_channel_have_clients_of_one_kind(self):
        single = redis.Redis("127.0.0.1", self.ports[0])
        self.addCleanup(single.close)
        with fairlock.Channel(single) as channel, self.assertRaisesRegex(TypeError, "same kind"):
            fairlock.lock(self.client(), "k", channel=channel).acquire()


    def test_the_example_of_the_readme(self):
        (example,) = [text for text in readme_test.blocks() if "Cluster" in text]
        nodes = {f'"lock{number}", 3247': f'"127.0.0.1", {port}'
                 for number, port in enumerate(self.ports[:3], 1)}
        self.assertEqual(len(readme_test.run_block(example, nodes)), 2)


class Users(ClusterCase):

    @classmethod
    def node_options(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        users = pathlib.Path(folder) / "users.acl"
        users.write_text("user default on nopass ~* owner:* &* +@all\n"
                         f"user app on {hash_of('secret')} {PERMISSIONS}\n")
        return ["--acl-file", str(users)]

    def test_a_user_with_few_permissions(self):
        client = self.client(username="app", password="secret")
        with fairlock.Channel(client) as channel:
            for key in self.keys():
                with fairlock.lock(client, key, wait=10, channel=channel):
                    pass
            self.kill_leader(key)
            with fairlock.lock(client, key, wait=10, channel=channel):
                pass


class FailOver(ClusterCase):

    def test_a_leader_dies_while_locks_are_held_and_waited_for(self):
        client, lost = self.client(), []
        with fairlock.Channel(client) as channel:
            keys = self.keys(3)
            holds = {key: fairlock.lock(client, key, lease=20, wait=10, on_lost=lost.append,
                                        channel=channel).acquire() for key in keys}
            ways = {"direct": None, "channel": channel}
            results = {(key, way): self.in_thread(
                fairlock.lock(client, key, owner=way, wait=60, keep=30, channel=option).acquire)
                for key in keys for way, option in ways.items()}
            for key in keys:
                support.wait_until(lambda: len(self.waiters(key)) == 2)
            self.kill_leader(keys[0])
            for key in keys:
                support.wait_until(lambda: len(self.waiters(key)) == 2)
                order = self.waiters(key)
                holds[key].renew()
                self.assertTrue(holds[key].release())
                for way in order:
                    hold = results[key, way]()
                    self.assertEqual(self.ask("CHECK", key, hold.token), 1)
                    self.assertTrue(hold.release())
            self.assertEqual(lost, [])
        self.assert_nothing_left(*keys)

    def test_a_channel_reports_losses_after_a_fail_over(self):
        client, lost = self.client(), []
        (key, *_) = self.keys()
        with fairlock.Channel(client) as channel:
            hold = fairlock.lock(client, key, lease=120, wait=10, channel=channel,
                                 on_lost=lost.append).acquire()
            self.kill_leader(key)
            support.wait_until(lambda: self.channels(key))
            self.ask("BREAK", key)
            support.wait_until(lambda: lost == [hold], seconds=5)

    def test_locks_of_a_lost_leader_are_tried(self):
        """An attempt without a wait may fail once, but the next one asks the new leader."""
        client = self.client()
        for key in self.keys():
            fairlock.lock(client, key).acquire().release()
            self.kill_leader(key)
            self.fleet.await_whole(30)
            for attempt in range(3):
                try:
                    fairlock.lock(client, key, wait=0).acquire().release()
                    break
                except (redis.ConnectionError, redis.TimeoutError):
                    self.assertLess(attempt, 2)


if __name__ == "__main__":
    unittest.main()
