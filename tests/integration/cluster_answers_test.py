"""Compares a Redis Cluster and a fleet of several partitions: slots, redirections, and the replies
from which clients learn how a cluster looks."""

import random
import re
import unittest

from own_cluster import PartitionedFleet
from own_fleet import Fleet
from own_redis import REDIS, RedisCluster
from own_server import Server
import resp

KEYS = 100_000
KEYS_AT_ONCE = 10_000
SEED = 1

# Each line is sent to one node of each side; all lines of a paragraph use one connection. The first
# partition serves b and f, the second one c, the third one a.
SAME = r"""
CLUSTER
CLUSTER FOO
CLUSTER KEYSLOT
CLUSTER KEYSLOT a b
CLUSTER KEYSLOT a
CLUSTER KEYSLOT ""
CLUSTER KEYSLOT {}a
CLUSTER KEYSLOT a{b}{c}
CLUSTER COUNTKEYSINSLOT
CLUSTER COUNTKEYSINSLOT x
CLUSTER COUNTKEYSINSLOT -1
CLUSTER COUNTKEYSINSLOT 16384
CLUSTER COUNTKEYSINSLOT 16383
CLUSTER COUNTKEYSINSLOT 99999999999999999999999
CLUSTER GETKEYSINSLOT
CLUSTER GETKEYSINSLOT 0
CLUSTER GETKEYSINSLOT x 0
CLUSTER GETKEYSINSLOT 0 x
CLUSTER GETKEYSINSLOT -1 x
CLUSTER GETKEYSINSLOT 0 -1
CLUSTER GETKEYSINSLOT -1 1
CLUSTER GETKEYSINSLOT 16384 1
CLUSTER GETKEYSINSLOT 0 10
CLUSTER GETKEYSINSLOT 0 10 1
CLUSTER MYID x
CLUSTER INFO x
CLUSTER NODES x
CLUSTER SLOTS x
CLUSTER SHARDS x
CLUSTER LINKS x
CLUSTER REPLICAS
CLUSTER REPLICAS nosuch
CLUSTER SLAVES nosuch
CLUSTER COUNT-FAILURE-REPORTS
CLUSTER COUNT-FAILURE-REPORTS nosuch
CLUSTER ADDSLOTS
CLUSTER ADDSLOTSRANGE 0
CLUSTER BUMPEPOCH x
CLUSTER FLUSHSLOTS x
CLUSTER FORGET
CLUSTER MEET a
CLUSTER REPLICATE
CLUSTER SAVECONFIG x
CLUSTER SETSLOT 0
CLUSTER SET-CONFIG-EPOCH
READONLY
READONLY x
READWRITE
READWRITE x
ASKING
ASKING x

SET b 1
CLUSTER COUNTKEYSINSLOT 3300
CLUSTER GETKEYSINSLOT 3300 10
CLUSTER GETKEYSINSLOT 3300 0
DEL b
CLUSTER COUNTKEYSINSLOT 3300

GET a
GET b
GET a x
MGET b{x} {x}
WATCH a
ASKING
GET a
READONLY
GET a
EVAL "return 1" 1 a
EVAL "return 1" 0
EVAL "return 1" 3 a b
EVAL "return 1" x a b
EVAL "return redis.call('set', '{b}c', 1)" 1 b
EVAL "return redis.call('del', '{b}c')" 1 b
EVAL "return redis.call('cluster', 'keyslot', 'a')" 0
EVALSHA nosuch 1 a
TYPE a
WAIT 0 0
WAIT 0 100

MULTI
GET b
GET c
EXEC
MULTI
GET a
GET b
EXEC
MULTI
SET b 1
SET {b}c 2
DEL b {b}c
EXEC
MULTI
MGET b c
EXEC
MULTI
GET f
GET b
EXEC
MULTI
WATCH a
EXEC
WATCH b
MULTI
GET f
EXEC
MULTI
EVAL "return 1" 1 b
PING
EXEC
MULTI
EVAL "return 1" 1 a
EXEC
MULTI
CLUSTER KEYSLOT a
CLUSTER INFO x
EXEC
MULTI
READONLY
ASKING
READWRITE
EXEC

SPUBLISH a x
SPUBLISH b x
SPUBLISH b
SSUBSCRIBE a
SSUBSCRIBE a {a}b
PUBLISH a x
PUBSUB SHARDCHANNELS
PUBSUB SHARDNUMSUB a
PUBSUB SHARDNUMSUB b c
SUNSUBSCRIBE a
SUNSUBSCRIBE
SSUBSCRIBE b
SUNSUBSCRIBE b

HELLO 3
SSUBSCRIBE b
PUBSUB SHARDNUMSUB b
SUNSUBSCRIBE b
GET a

COMMAND GETKEYS CLUSTER KEYSLOT a
COMMAND GETKEYS SSUBSCRIBE a b
COMMAND GETKEYS SPUBLISH a b
SELECT 0
SELECT x
SCAN 0
KEYS *
DBSIZE
RANDOMKEY
FLUSHALL
"""

# Requests that must be answered differently, with a part of fairlockd's answer.
DIFFERENT = {
    # A fleet has databases.
    "SELECT 1": b"OK",
    # Keys that a script does not declare are refused, even if this node serves them.
    """EVAL "return redis.call('get', 'a')" 1 b""": b"pass all keys in KEYS",
    """EVAL "return redis.call('get', 'f')" 1 b""": b"pass all keys in KEYS",
    """EVAL "return redis.call('get', 'b')" 0""": b"pass all keys in KEYS",
    "CLUSTER RESET": b"a fleet assigns nodes and slots by itself",
    "CLUSTER FORGET x": b"a fleet assigns nodes and slots by itself",
}

SHAPES = ["CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES", "CLUSTER INFO", "CLUSTER MYID",
          "CLUSTER KEYSLOT a", "CLUSTER COUNTKEYSINSLOT 1", "CLUSTER GETKEYSINSLOT 1 10"]


class TypedConnection(resp.Connection):
    """Shows replies with their types: (type, value)."""

    def typed(self):
        kind, rest = self._line()
        if kind in b"*~>":
            return kind, [self.typed() for _ in range(int(rest))]
        if kind == b"%":
            return kind, [(self.typed(), self.typed()) for _ in range(int(rest))]
        if kind in b"$=":
            return kind, None if rest == b"-1" else self._exactly(int(rest))
        return kind, rest

    def ask_typed(self, line):
        self.send(line.encode() + b"\r\n")
        return self.typed()


def shape(reply):
    """Returns the reply with placeholders for what differs between two clusters."""
    kind, value = reply
    if isinstance(value, list):
        parts = [tuple(map(shape, one)) if kind == b"%" else shape(one) for one in value]
        # The order of nodes and shards means nothing.
        return kind, sorted(parts, key=repr) if parts and parts[0][0] in (b"*", b"%") else parts
    if kind == b":":
        return kind, "number"
    return kind, text_shape(value.decode())


def text_shape(text):
    text = re.sub(r"^txt:", "txt:\n", text)
    text = re.sub(r"\b[0-9a-f]{40}\b", "ID", text)
    text = re.sub(r"(127\.0\.0\.1:)\d+@\d+", r"\1PORT@PORT", text)
    # The kinds of messages between the nodes of Redis.
    text = re.sub(r"cluster_stats_messages_\w+_(sent|received):\d+\r\n", "", text)
    text = re.sub(r"(epoch|sent|received|exceeded):\d+", r"\1:N", text)
    # When a node was pinged, when it answered, and its epoch.
    text = re.sub(r"- \d+ \d+ \d+ connected", "- N N N connected", text)
    return sorted(text.split("\n"))


def random_key(chance):
    alphabet = chance.choice((b"ab{}", b"{}", bytes(range(256)), b"abcdefgh:0123456789"))
    return bytes(chance.choices(alphabet, k=chance.randrange(0, 40)))


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class ClusterAnswers(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        fleet = cls.enterClassContext(PartitionedFleet(partitions=3, nodes_each=1))
        leaders = fleet.leaders()
        cls.ours = [leaders[partition] for partition in range(fleet.partitions)]
        cls.theirs = cls.enterClassContext(RedisCluster(fleet.ranges())).nodes

    def connect(self, node):
        connection = TypedConnection.to(("127.0.0.1", node.port))
        self.addCleanup(connection.close)
        return connection

    def both(self, partition=0):
        return self.connect(self.ours[partition]), self.connect(self.theirs[partition])

    def without_ports(self, reply):
        """Returns the reply as text, in which each node is named after its partition."""
        text = repr(reply)
        for nodes in (self.ours, self.theirs):
            for partition, node in enumerate(nodes):
                text = text.replace(f"127.0.0.1:{node.port}", f"node of partition {partition}")
        return text

    def test_slots_of_random_keys(self):
        chance = random.Random(SEED)
        ours, theirs = self.both()
        slots = set()
        for _ in range(KEYS // KEYS_AT_ONCE):
            keys = [random_key(chance) for _ in range(KEYS_AT_ONCE)]
            answers = []
            for connection in (ours, theirs):
                connection.send(b"".join(resp.request("CLUSTER", "KEYSLOT", key) for key in keys))
                answers.append([connection.reply() for _ in keys])
            for key, own, other in zip(keys, *answers, strict=True):
                self.assertEqual(own, other, key)
            slots.update(answers[0])
        self.assertGreater(len(slots), 10_000)

    def test_every_node_redirects_as_in_redis(self):
        chance = random.Random(SEED)
        keys = [random_key(chance) or b"x" for _ in range(1_000)]
        for partition in range(3):
            replies = []
            for connection in self.both(partition):
                connection.send(b"".join(resp.request("GET", key) for key in keys))
                replies.append([self.without_ports(connection.typed()) for _ in keys])
            self.assertEqual(*replies)
            self.assertIn("MOVED", "".join(replies[0]))

    def test_answers_as_in_redis(self):
        compared = 0
        for paragraph in SAME.strip().split("\n\n"):
            ours, theirs = self.both()
            for line in paragraph.split("\n"):
                with self.subTest(line):
                    own, other = ours.ask_typed(line), theirs.ask_typed(line)
                    if line != "HELLO 3":
                        self.assertEqual(self.without_ports(own), self.without_ports(other))
                compared += 1
        self.assertGreater(compared, 100)

    def test_what_is_different_on_purpose(self):
        ours, theirs = self.both()
        for line, part in DIFFERENT.items():
            with self.subTest(line):
                own = ours.ask_typed(line)
                self.assertIn(part, own[1])
                if "RESET" not in line:
                    self.assertNotEqual(own, theirs.ask_typed(line))

    def test_shapes(self):
        for version in (2, 3):
            ours, theirs = self.both()
            for connection in (ours, theirs):
                connection.ask_typed(f"HELLO {version}")
            for line in SHAPES:
                with self.subTest(line, version=version):
                    self.assertEqual(shape(ours.ask_typed(line)), shape(theirs.ask_typed(line)))
            # The nodes of a fleet have no links to each other.
            self.assertEqual(ours.ask_typed("CLUSTER LINKS"), (b"*", []))
            self.assertEqual(theirs.ask_typed("CLUSTER LINKS")[0], b"*")

    def test_greetings(self):
        for version in (2, 3):
            greetings = []
            for connection in self.both():
                connection.send(resp.request("HELLO", version))
                greetings.append(connection.map())
            own, other = greetings
            self.assertEqual(list(own), list(other))
            for field in (b"mode", b"role", b"proto"):
                self.assertEqual(own[field], other[field])

    def rows_of_commands(self):
        """Returns {name: row of COMMAND INFO} of both sides, for the commands that both have."""
        found = []
        for connection in self.both():
            rows = connection.ask("COMMAND")
            found.append({row[0].decode(): row for row in rows}
                         | {sub[0].decode(): sub for row in rows for sub in row[9]})
        common = set(found[0]) & set(found[1])
        # Redis waits for replicas; fairlockd waits for the end of a hold.
        common.discard("wait")
        return {name: (found[0][name], found[1][name]) for name in common}

    def test_clients_find_keys_as_in_redis(self):
        def keys_of(row):
            specs = [dict(zip(spec[::2], spec[1::2])) for spec in row[8]]
            for spec in specs:
                spec.pop(b"notes", None)
            return row[1], row[3:6], specs, "movablekeys" in row[2]

        rows = self.rows_of_commands()
        self.assertGreater(len(rows), 100)
        for name, (own, other) in sorted(rows.items()):
            with self.subTest(name):
                self.assertEqual(keys_of(own), keys_of(other))

    def test_every_command_with_several_keys_needs_one_slot(self):
        ours, theirs = self.both()
        tested = []
        for name, (row, _) in sorted(self.rows_of_commands().items()):
            first, last, step = row[3:6]
            if "movablekeys" in row[2]:
                words = [name, "x", "2", "b", "c"]
            elif first > 0 and last < 0:
                words = [name] + ["b", "x"][:step] + ["c", "x"][:step] + ["0"] * (-1 - last)
            elif name in ("ssubscribe", "sunsubscribe"):
                words = [name, "b", "c"]
            else:
                continue
            with self.subTest(name):
                line = " ".join(words)
                own = ours.ask_typed(line)
                self.assertEqual(own, theirs.ask_typed(line))
                self.assertTrue(own[1].startswith(b"CROSSSLOT"), own)
            tested.append(name)
        self.assertGreaterEqual(set(tested), {
            "del", "eval", "eval_ro", "evalsha", "exists", "mget", "msetnx", "touch", "unlink",
            "watch"})

    def test_lock_commands_with_several_keys_need_one_slot(self):
        ours = self.connect(self.ours[0])
        for line in ("MLOCK 2 b c a", "MRENEW 2 b c a", "MUNLOCK 2 b c a"):
            with self.subTest(line):
                self.assertTrue(ours.ask_typed(line)[1].startswith(b"CROSSSLOT"))

    def test_a_message_of_notify_reaches_the_subscriber_of_a_shard_channel(self):
        holder, waiter, listener = (self.connect(self.ours[0]) for _ in range(3))
        holder.ask("LOCK", "b", "holder", "EX", "60")
        self.assertRegex(waiter.ask("LOCK", "b", "waiter", "NOTIFY", "done"), "^CROSSSLOT NOTIFY")
        self.assertRegex(waiter.ask("LOCK", "b", "waiter", "NOTIFY", "{b}done"),
                         "has no subscriber; SSUBSCRIBE to it first")
        listener.ask("SSUBSCRIBE", "{b}done")
        self.assertIsNone(waiter.ask("LOCK", "b", "waiter", "NOTIFY", "{b}done"))
        holder.ask("UNLOCK", "b", "holder")
        kind, channel, message = listener.reply()
        self.assertEqual((kind, channel), (b"smessage", b"{b}done"))
        self.assertRegex(message, b'^{"event":"granted","db":0,"key":"b","owner":"waiter"')
        self.assertEqual(waiter.ask("UNLOCK", "b", "waiter"), 1)

    def test_a_node_that_cannot_read_its_fleet_is_a_cluster_without_leaders(self):
        fleet = Fleet(nodes=1, members=1, options=("--cluster-dialect", "cluster"))
        node = fleet.nodes[0]
        self.addCleanup(fleet.__exit__)
        node.start()  # etcd is not running
        fleet.await_nodes(10)
        with self.connect(node) as client:
            self.assertIn(b"cluster_enabled:1", client.ask("INFO", "cluster"))
            for line in (("CLUSTER", "SLOTS"), ("CLUSTER", "NODES"), ("LOCK", "a", "w")):
                self.assertRegex(client.ask(*line), "^CLUSTERDOWN ")

    def test_a_single_server_is_no_cluster(self):
        with Server() as server, self.connect(server) as client:
            self.assertEqual(client.ask("CLUSTER", "SLOTS"),
                             "ERR This instance has cluster support disabled")


if __name__ == "__main__":
    unittest.main(verbosity=2)
