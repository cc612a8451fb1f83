"""Redis beside fairlockd: the same requests, the same bytes back."""

import unittest

from own_redis import REDIS, Redis
from own_server import Server

# Each line is sent to both, on one connection after the other lines of its paragraph.
SAME = r"""
PING
PING a
ping "hello world"
PING a b
ECHO
ECHO x
ECHO x y

HELLO 1
HELLO 4
HELLO x
HELLO 3 FOO
HELLO 3 AUTH default
HELLO 3 AUTH nobody x
HELLO 3 SETNAME "a b"
HELLO 3 SETNAME
AUTH
AUTH x
AUTH default y
AUTH nobody y
AUTH a b c
RESET
RESET a

SELECT
SELECT 0
SELECT 15
SELECT 16
SELECT -1
SELECT a
SELECT 99999999999
SELECT 99999999999999999999999
SELECT 1 2
DBSIZE
DBSIZE x
TIME x
ROLE
ROLE x

CLIENT
CLIENT FOO
client foo bar
CLIENT ID x
CLIENT INFO x
CLIENT LIST TYPE foo
CLIENT LIST TYPE
CLIENT LIST TYPE normal ID 3
CLIENT LIST TYPE slave
CLIENT LIST TYPE pubsub
CLIENT LIST ID
CLIENT LIST ID a
CLIENT LIST ID 0
CLIENT LIST BAR 1
CLIENT SETNAME
CLIENT SETNAME "a b"
CLIENT SETNAME "\x01"
CLIENT SETNAME ab
CLIENT GETNAME
CLIENT SETNAME ""
CLIENT GETNAME
CLIENT GETNAME x
CLIENT KILL
CLIENT KILL 1.2.3.4:5
CLIENT KILL ID a
CLIENT KILL ID 0
CLIENT KILL ID 99999
CLIENT KILL ID 99999 ADDR
CLIENT KILL FOO 1
CLIENT KILL ADDR 1.2.3.4:5
CLIENT KILL LADDR 1.2.3.4:5
CLIENT KILL TYPE foo
CLIENT KILL TYPE pubsub
CLIENT KILL USER nobody
CLIENT KILL SKIPME foo
CLIENT UNBLOCK
CLIENT UNBLOCK a
CLIENT UNBLOCK 99999
CLIENT UNBLOCK 99999 FOO
CLIENT UNBLOCK 99999 ERROR
CLIENT NO-EVICT on
CLIENT NO-EVICT x

CLIENT KILL TYPE normal SKIPME no

COMMAND COUNT x
COMMAND INFO nosuch
COMMAND INFO ping echo time
COMMAND LIST x
COMMAND LIST FILTERBY
COMMAND LIST FILTERBY FOO x
COMMAND LIST FILTERBY ACLCAT nosuch
COMMAND LIST FILTERBY MODULE x
COMMAND LIST FILTERBY PATTERN a b
COMMAND LIST FILTERBY PATTERN nosuch*
COMMAND LIST FILTERBY PATTERN ECHO
COMMAND DOCS nosuch
COMMAND GETKEYS
COMMAND GETKEYS get
COMMAND GETKEYS nosuch a
COMMAND GETKEYS ping a
COMMAND GETKEYS client kill a
COMMAND FOO

CONFIG
CONFIG GET
CONFIG GET databases
CONFIG GET nosuch
CONFIG GET save
CONFIG SET
CONFIG SET a
CONFIG SET a b
CONFIG SET databases 3
CONFIG SET maxclients 100 maxclients 200
CONFIG SET maxclients 100 nosuch 200
CONFIG SET maxclients 100 a
CONFIG RESETSTAT x
CONFIG FOO
SHUTDOWN FOO
SHUTDOWN ABORT
SHUTDOWN SAVE NOSAVE
SHUTDOWN ABORT NOW
INFO nosuch
INFO keyspace
FOO
FOO a b c
WAIT 0 0

HELLO 3 AUTH default x SETNAME ab
CLIENT GETNAME
INFO keyspace
CONFIG GET databases
COMMAND INFO nosuch
COMMAND DOCS nosuch
CLIENT LIST ID 0
RESET
CLIENT GETNAME

QUIT

QUIT a b
"""

# What Redis has and a lock server has not, or has otherwise.
DIFFERENT = {
    # Its tips for proxies, and that no script may call it.
    "COMMAND INFO ping echo time",
    # It cannot be as it was without a password.
    "HELLO 3 AUTH default x SETNAME ab",
}


def read_quietly(connection, end):
    """All bytes up to `end`, or up to the end of the connection."""
    data = b""
    while not data.endswith(end):
        piece = connection.socket.recv(65536)
        if not piece:
            return data + b"(closed)"
        data += piece
    return data


def answers(server, paragraph):
    """The bytes that come back for each line."""
    with server.connect() as connection:
        for line in paragraph:
            # An ECHO behind it shows where the answer ends.
            connection.send(line.encode() + b"\r\nECHO behind:" + b"\r\n")
            end = b"$7\r\nbehind:\r\n"
            data = read_quietly(connection, end)
            yield line, data.removesuffix(end)
            if data.endswith(b"(closed)"):
                return


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class SameBytes(unittest.TestCase):

    def test_as_redis_answers(self):
        paragraphs = [text.split("\n") for text in SAME.strip().split("\n\n")]
        compared = 0
        with Redis() as redis, Server() as server:
            for paragraph in paragraphs:
                theirs = answers(redis, paragraph)
                ours = answers(server, paragraph)
                for (line, expected), (_, answer) in zip(theirs, ours, strict=True):
                    if line in DIFFERENT:
                        continue
                    with self.subTest(line):
                        self.assertEqual(answer, expected)
                    compared += 1
        print(f"{compared} requests answered as by Redis")
        self.assertGreater(compared, 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
