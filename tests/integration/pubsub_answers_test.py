"""Compares channels in Redis and fairlockd: the same requests give all clients the same bytes."""

import random
import re
import unittest

from own_redis import REDIS, Redis
from own_server import Server
from resp import request

# Which connection sends what. After each line, all connections of the paragraph are read.
SAME = r"""
a: SUBSCRIBE
a: SUBSCRIBE c
a: SUBSCRIBE c c d
a: PSUBSCRIBE *
a: CONFIG GET x
a: client list
a: FOO
a: PING
a: PING hi
a: PING a b
a: HELLO 3
a: SELECT 1
a: ECHO x
a: PUBLISH c m
a: COMMAND COUNT
b: PUBLISH c m
b: PUBLISH x m
b: PUBLISH x
b: PUBLISH x y z
b: PUBSUB NUMSUB
b: PUBSUB NUMSUB c d e c
b: PUBSUB NUMPAT
b: PUBSUB NUMPAT a
b: PUBSUB CHANNELS d*
b: PUBSUB CHANNELS a b
b: PUBSUB
b: PUBSUB FOO
b: PUBSUB HELP a
a: UNSUBSCRIBE d x
a: UNSUBSCRIBE
a: UNSUBSCRIBE
a: UNSUBSCRIBE zz
a: PUNSUBSCRIBE zz
a: PUNSUBSCRIBE
a: PUNSUBSCRIBE
a: PING
a: ECHO x
b: PUBLISH c m

a: UNSUBSCRIBE
a: PUNSUBSCRIBE
a: PUNSUBSCRIBE x y
a: PING

a: HELLO 3
a: UNSUBSCRIBE
a: PUNSUBSCRIBE x
a: SUBSCRIBE c
a: PING
a: PING hi
a: PUBLISH c self
a: PSUBSCRIBE c*
a: PUBLISH c self
b: PUBLISH c other
b: SUBSCRIBE c
a: PUBLISH c both
a: PUBSUB NUMSUB c
a: UNSUBSCRIBE
a: PUNSUBSCRIBE a c*
a: SUBSCRIBE c
a: CLIENT GETNAME
a: HELLO 2
a: ECHO x
a: PUBSUB NUMPAT
a: RESET
a: ECHO x
b: RESET
b: PUBLISH c m

a: SUBSCRIBE c
a: PSUBSCRIBE p
a: RESET
b: PUBLISH c m
b: PUBLISH p m
a: SUBSCRIBE c
a: QUIT
b: PUBSUB NUMSUB c

a: PSUBSCRIBE a?c
b: PUBLISH abc ""
b: PUBLISH ac x
a: PUNSUBSCRIBE
a: PSUBSCRIBE [ab]x
b: PUBLISH ax 1
b: PUBLISH cx 1
a: PUNSUBSCRIBE
a: PSUBSCRIBE \\*
b: PUBLISH * "\x00\r\n"
b: PUBLISH x 1
a: PUNSUBSCRIBE
a: PSUBSCRIBE ""
b: PUBLISH "" 1
a: SUBSCRIBE ""
b: PUBLISH "" 1
b: PUBSUB CHANNELS
b: PUBSUB CHANNELS ""

a: SSUBSCRIBE
a: SSUBSCRIBE c c d
a: SUBSCRIBE c
a: PSUBSCRIBE *
a: SSUBSCRIBE e
a: PING
a: SPUBLISH c m
a: GET x
b: SPUBLISH c m
b: PUBLISH c m
b: SPUBLISH c
b: SPUBLISH c m m
b: SPUBLISH f m
b: PUBSUB SHARDCHANNELS e*
b: PUBSUB SHARDCHANNELS a b
b: PUBSUB SHARDNUMSUB
b: PUBSUB SHARDNUMSUB c d f c
b: PUBSUB NUMSUB c d
b: PUBSUB CHANNELS
b: PUBSUB NUMPAT
b: EVAL "return redis.call('SPUBLISH','c','script')" 0
b: COMMAND GETKEYS SPUBLISH a b
b: COMMAND GETKEYS SSUBSCRIBE a b
a: SUNSUBSCRIBE x e
a: SUNSUBSCRIBE d
a: UNSUBSCRIBE
a: PUNSUBSCRIBE
a: PING
a: SUNSUBSCRIBE
a: SUNSUBSCRIBE
a: PING
a: SUNSUBSCRIBE x y
a: HELLO 3
a: SSUBSCRIBE c
a: SPUBLISH c self
a: GET x
a: SUNSUBSCRIBE x
a: RESET
b: PUBSUB SHARDNUMSUB c
b: SSUBSCRIBE ""
a: SPUBLISH "" x
a: SPUBLISH __lock@0__:k x

a: PSUBSCRIBE *
c: PSUBSCRIBE __*
b: CONFIG SET notify-keyspace-events ""
b: SET k v NX PX 10000
b: PEXPIRE k 20000
b: DEL k
b: CONFIG SET notify-keyspace-events KEA
b: SET k v NX
b: DEL k

a: CONFIG SET notify-keyspace-events ""
a: CONFIG GET notify-keyspace-events
a: CONFIG SET notify-keyspace-events KEA
a: CONFIG GET notify-keyspace-events
a: CONFIG SET notify-keyspace-events q
a: CONFIG SET notify-keyspace-events KEq
a: CONFIG SET notify-keyspace-events "K E"
a: CONFIG GET notify-keyspace-events
"""

TIME_AND_ADDRESS = re.compile(rb"^\+\d{10}\.\d{6} \[(\d+) 127\.0\.0\.1:\d+\]")

# These identify the server, so the replies differ.
DIFFERENT = {"HELLO 3", "HELLO 2"}

# Requests that another connection sends while a monitor watches; what the monitor sees of them is
# compared.
SEEN = r"""
PING "a\"b\\\n\r\t\a\b\x00\xff'" \xc3
ping
Echo 5
ECHO -12345678901234567890
FOO x
ECHO
AUTH default x
AUTH x
HELLO 2 AUTH default x SETNAME n
HELLO 2 setname AUTH auth nobody y
HELLO 3 FOO
SELECT 3
SELECT 99
CONFIG GET port
CLIENT ID
CLIENT LIST ID 99
CLIENT SETNAME z
INFO nosuch
COMMAND INFO x
DBSIZE
RESET
SUBSCRIBE c
PING
ECHO x
UNSUBSCRIBE
PUBLISH c x
PUBSUB NUMPAT
SHUTDOWN ABORT
MONITOR x
MULTI
ECHO in
PING
EXEC
MULTI
ECHO forgotten
DISCARD
MULTI
FOO
ECHO refused
EXEC
WATCH w
MULTI
UNWATCH
MULTI
RESET
ECHO ""
"""

LETTERS = "Ag$lshzxeKEtmdn"


def settle(connection, replies):
    """Reads all bytes up to the reply to a PING, whose form shows whether the connection is
    subscribed."""
    end = b"$6\r\nsettle\r\n"
    connection.send(b"PING settle\r\n")
    data = b""
    while not data.endswith(end):
        try:
            piece = connection.socket.recv(65536)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return replies.append(data + b"(closed)")
        data += piece
    replies.append(data.removesuffix(end))


def play(server, paragraph):
    """Yields what each connection received after each line."""
    connections = {}
    closed = set()
    for line in paragraph:
        who, words = line.split(": ", 1)
        if who not in connections:
            connections[who] = server.connect()
        connections[who].send(words.encode() + b"\r\n")
        came = []
        others = sorted(name for name in connections if name != who)
        for name in [who, *others]:
            if name not in closed:
                settle(connections[name], came)
                if came[-1].endswith(b"(closed)"):
                    closed.add(name)
        yield words, came
    for connection in connections.values():
        connection.close()


def monitored(server):
    """Returns what a monitor sees, without times and addresses."""
    with server.connect() as monitor, server.connect() as other:
        assert monitor.ask("MONITOR") == "OK"
        other.send(SEEN.strip().replace("\n", "\r\n").encode() + b"\r\nECHO end\r\n")
        data = b""
        while not data.endswith(b'"ECHO" "end"\r\n'):
            piece = monitor.socket.recv(65536)
            assert piece
            data += piece
        return [TIME_AND_ADDRESS.sub(rb"+T [\1 A]", line) for line in data.split(b"\r\n")]


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class SameBytes(unittest.TestCase):

    def setUp(self):
        self.redis = self.enterContext(Redis())
        self.server = self.enterContext(Server())

    def test_as_redis_tells_everybody(self):
        compared = 0
        for text in SAME.strip().split("\n\n"):
            paragraph = text.split("\n")
            theirs = play(self.redis, paragraph)
            ours = play(self.server, paragraph)
            for (words, expected), (_, came) in zip(theirs, ours, strict=True):
                if words in DIFFERENT:
                    continue
                with self.subTest(words):
                    self.assertEqual(came, expected)
                compared += 1
        print(f"{compared} requests answered as by Redis")
        self.assertGreater(compared, 90)

    def test_a_monitor_sees_the_same(self):
        ours = monitored(self.server)
        self.assertEqual(ours, monitored(self.redis))
        self.assertGreater(len(ours), 20)

    def test_the_letters_of_notify_keyspace_events(self):
        chance = random.Random(1)
        texts = ["".join(chance.choices(LETTERS, k=chance.randint(0, 16))) for _ in range(300)]
        # These texts are so long that nearly all of them include every letter that A stands for.
        texts += ["".join(chance.sample(LETTERS[1:], chance.randint(8, 14))) for _ in range(300)]
        setting = "notify-keyspace-events"
        with self.redis.connect() as theirs, self.server.connect() as ours:
            for text in [*texts, *LETTERS, "a", "KEx?", "\n"]:
                for words in [("CONFIG", "SET", setting, text), ("CONFIG", "GET", setting)]:
                    theirs.send(request(*words))
                    ours.send(request(*words))
                    self.assertEqual(ours.reply(), theirs.reply(), text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
