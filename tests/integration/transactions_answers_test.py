"""Compares MULTI and EXEC in Redis and fairlockd: the same requests give the same bytes."""

import unittest

from own_redis import REDIS, Redis
from own_server import Server
import resp

# Each paragraph is sent at once, on its own connection.
SAME = r"""
MULTI
MULTI
WATCH a
EXEC
EXEC
DISCARD

MULTI
PING
ECHO "a\x00\r\nb"
EXEC
PING

MULTI
FOO a
PING
EXEC
EXEC
MULTI
PING
EXEC

MULTI
ECHO
DISCARD
MULTI
CLIENT FOO
PING
EXEC
MULTI
CLIENT
EXEC

WATCH
WATCH a b a
UNWATCH
MULTI x
DISCARD x
UNWATCH x
MULTI
UNWATCH
PING
EXEC

MULTI
EXEC
WATCH a
MULTI
EXEC
HELLO 2 AUTH a b
MULTI
HELLO 9
SELECT 99
SELECT 2
ECHO x
CLIENT SETNAME "a b"
CLIENT SETNAME ab
CLIENT GETNAME
EXEC
CLIENT GETNAME

MULTI
SUBSCRIBE c d
PING
PING x
UNSUBSCRIBE c
PUNSUBSCRIBE
UNSUBSCRIBE
PING
EXEC
PING

MULTI
PSUBSCRIBE p*
SSUBSCRIBE s
SPUBLISH s in
SUNSUBSCRIBE s
EXEC
ECHO x
PING
UNSUBSCRIBE
PUNSUBSCRIBE
ECHO x

MULTI
PUBLISH c x
PUBSUB NUMSUB c
PUBSUB CHANNELS
CONFIG GET nosuch
DBSIZE
WAIT 0 0
EXEC

MULTI
MONITOR
SHUTDOWN
EXEC
MULTI
MONITOR
EXEC
MULTI
SHUTDOWN ABORT
PING
EXEC

MULTI
PING
RESET
EXEC
PING
MULTI
PING
DISCARD
PING

multi
ping
exec
Multi
eXec

MULTI
PING
QUIT
EXEC
"""

# Redis 7.0 changes to RESP3 in mid-transaction; its HELLO shows another version and number.
SAME_RESP3 = r"""
MULTI
SUBSCRIBE c
PING
UNSUBSCRIBE
EXEC
PING

WATCH a
MULTI
UNWATCH
CONFIG GET nosuch
PUBSUB NUMSUB c
EXEC
EXEC
"""


def answers(server, lines, version):
    """Returns all bytes that are received, up to the end of the connection."""
    with server.connect() as connection:
        if version == 3:
            connection.send(b"HELLO 3\r\n")
            connection.map()
            assert connection.buffer == b""
        connection.send("\r\n".join([*lines, "QUIT", ""]).encode())
        return connection.rest()


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class SameBytes(unittest.TestCase):

    def setUp(self):
        self.redis = self.enterContext(Redis())
        self.server = self.enterContext(Server())

    def compare(self, paragraphs, version):
        for paragraph in paragraphs.strip().split("\n\n"):
            lines = paragraph.split("\n")
            with self.subTest(paragraph):
                self.assertEqual(answers(self.server, lines, version),
                                 answers(self.redis, lines, version))

    def test_resp2(self):
        self.compare(SAME, 2)

    def test_resp3(self):
        self.compare(SAME_RESP3, 3)

    def beginnings(self, server, steps):
        """Returns the reply to each step, with errors up to the colon or full stop: the rest of the
        text is fairlock's own. A step "memory N" is another connection's CONFIG SET maxmemory."""
        found = []
        with server.connect() as connection, server.connect() as operator:
            connection.ask("FLUSHALL")
            for step in steps.strip().split("\n"):
                if step.startswith("memory "):
                    self.assertEqual(operator.ask("CONFIG", "SET", "maxmemory", step[7:]), "OK")
                    continue
                reply = connection.ask(*step.split())
                if isinstance(reply, resp.ErrorReply):
                    word, _, text = reply.partition(" ")
                    reply = word if word == "OOM" else f"{word} {text.partition(' OOM ')[0]}"
                found.append((step, reply))
        return found

    def test_memory_short(self):
        """Commands that may take memory are refused when queued, and nothing is executed."""
        for steps in (
                "SET a b\nmemory 1\nMULTI\nSET x y\nmemory 0\nDEL a\nEXEC\nGET a",
                "SET a b\nMULTI\nDEL a\nSET x y\nmemory 1\nEXEC\nmemory 0\nGET a\nEXEC",
                "SET a b\nMULTI\nDEL a\nGET a\nmemory 1\nEXEC\nmemory 0\nGET a",
                "memory 1\nMULTI\nINCR x\nDISCARD\nEXEC\nmemory 0",
                "memory 1\nMULTI\nSETNX x y\nMSETNX x y\nEXEC\nmemory 0\nGET x"):
            with self.subTest(steps):
                self.assertEqual(self.beginnings(self.server, steps),
                                 self.beginnings(self.redis, steps))


if __name__ == "__main__":
    unittest.main(verbosity=2)
