"""What the tests with a fleet of several partitions share."""

import asyncio
import contextlib
import logging
import sys
import unittest

import redis
import redis.asyncio.cluster
import redis.cluster
import support
from own_cluster import PartitionedFleet

import fairlock.aio
from fairlock import _routes

WHOLE_SECONDS_MAX = 30

# redis-py logs each redirection and each lost connection as an error.
logging.getLogger("redis.cluster").setLevel(logging.CRITICAL)


class ClusterCase(unittest.TestCase):
    """All tests of a class have one fleet."""

    if sys.version_info < (3, 11):
        @classmethod
        def enterClassContext(cls, context):
            """As later versions of Python have it."""
            value = context.__enter__()
            cls.addClassCleanup(context.__exit__, None, None, None)
            return value

    @classmethod
    def node_options(cls):
        return ()

    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(PartitionedFleet(partitions=2, nodes_each=2,
                                                           options=cls.node_options()))
        cls.ports = [node.port for node in cls.fleet.nodes]
        cls.ranges = cls.fleet.ranges()

    def setUp(self):
        self.fleet.await_whole(WHOLE_SECONDS_MAX)
        self.name = self.id().rpartition(".")[2]

    def client(self, **options):
        """A client of the kind that the tests of threads use."""
        nodes = [redis.cluster.ClusterNode("127.0.0.1", port) for port in self.ports]
        client = redis.RedisCluster(startup_nodes=nodes, **{"socket_timeout": 5, **options})
        self.addCleanup(client.disconnect_connection_pools)
        return client

    @contextlib.asynccontextmanager
    async def aio_client(self, **options):
        nodes = [redis.asyncio.cluster.ClusterNode("127.0.0.1", port) for port in self.ports]
        options = {"socket_timeout": 5, **options}
        async with redis.asyncio.RedisCluster(startup_nodes=nodes, **options) as client:
            yield client

    def partition_of(self, key):
        slot = redis.cluster.key_slot(key.encode())
        return next(partition for partition, (first, last) in enumerate(self.ranges)
                    if first <= slot <= last)

    def keys(self, count=1):
        """Returns some keys of each partition, one partition after the other."""
        keys = [[] for _ in self.ranges]
        number = 0
        while any(len(some) < count for some in keys):
            number += 1
            key = f"{self.name}:{number}"
            some = keys[self.partition_of(key)]
            if len(some) < count:
                some.append(key)
        return [key for some in keys for key in some]

    def leader(self, key):
        """Waits until a node leads the partition."""
        partition, found = self.partition_of(key), []

        def is_found():
            found[:] = filter(None, [self.fleet.leaders().get(partition)])
            return bool(found)

        support.wait_until(is_found)
        return found[0]

    def ask(self, command, key, *words):
        """Asks the leader of the key."""
        with self.leader(key).connect() as connection:
            return connection.ask(command, key, *words)

    def waiters(self, key):
        """The owners in the queue, or an error."""
        reply = self.ask("QUEUE", key)
        if isinstance(reply, str):
            return reply
        return [dict(zip(place[::2], place[1::2]))[b"owner"].decode() for place in reply]

    def assert_nothing_left(self, *keys):
        for key in keys:
            support.wait_until(lambda: (self.ask("LOCKED", key), self.waiters(key)) == (0, []))

    def channels(self, key):
        """The names that the leader of the key knows."""
        with self.leader(key).connect() as connection:
            return {name.decode() for name in connection.ask("PUBSUB", "CHANNELS")}

    def wrong_leader(self, key):
        """What a node would reply that mistakes a node of another partition for the leader."""
        slot = redis.cluster.key_slot(key.encode())
        other = next(node for node in self.fleet.nodes if node.port != self.leader(key).port)
        return redis.exceptions.MovedError(f"{slot} 127.0.0.1:{other.port}")

    def mislead(self, client, key):
        """Makes the library mistake another node for the leader of the key."""
        route = _routes.ClusterRoute(client, key)
        route.find()
        route.heed(self.wrong_leader(key))

    async def mislead_tasks(self, client, key):
        """The same for asyncio."""
        route = fairlock.aio._routes.ClusterRoute(client, key)
        await route.find()
        route.heed(await asyncio.to_thread(self.wrong_leader, key))

    def kill_leader(self, key):
        """Returns when another node leads."""
        leader = self.leader(key)
        leader.kill()
        self.leader(key)
        leader.start()

    in_thread = support.Case.in_thread
