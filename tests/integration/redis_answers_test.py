"""Compares Redis and fairlockd: the same requests give the same bytes."""

import re
import time
import unittest

from own_redis import REDIS, Redis
from own_server import Server
import resp

# Each line is sent to both servers; all lines of a paragraph use one connection.
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

CLUSTER
CLUSTER INFO
CLUSTER FOO
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
COMMAND GETKEYS EVAL "return 1" 0 a
COMMAND GETKEYS EVAL "return 1" 0
COMMAND GETKEYS EVAL "return 1" x a
COMMAND GETKEYS EVAL "return 1" 2 a
COMMAND GETKEYS EVALSHA x 0
COMMAND GETKEYS EVAL_RO x 1 a b
COMMAND GETKEYSANDFLAGS EVAL x 0 a
COMMAND GETKEYSANDFLAGS EVAL x 1 a
COMMAND GETKEYSANDFLAGS EVAL_RO x 1 a
COMMAND GETKEYSANDFLAGS SET k v
COMMAND GETKEYSANDFLAGS SET k v NX
COMMAND GETKEYSANDFLAGS SET k v GET
COMMAND GETKEYSANDFLAGS SET get v
COMMAND GETKEYSANDFLAGS SET k get
COMMAND GETKEYSANDFLAGS SET k v px 5 get
COMMAND GETKEYSANDFLAGS SETNX k v
COMMAND GETKEYSANDFLAGS SETEX k 1 v
COMMAND GETKEYSANDFLAGS PSETEX k 1 v
COMMAND GETKEYSANDFLAGS GETSET k v
COMMAND GETKEYSANDFLAGS MSETNX a 1 b 2
COMMAND GETKEYSANDFLAGS MSET a 1 b 2
COMMAND GETKEYSANDFLAGS GETEX k
COMMAND GETKEYSANDFLAGS BITFIELD k GET u8 0
COMMAND GETKEYSANDFLAGS BITFIELD k SET u8 0 1
COMMAND GETKEYSANDFLAGS BITFIELD_RO k GET u8 0
COMMAND GETKEYSANDFLAGS ZINTERSTORE d 2 a b
COMMAND GETKEYSANDFLAGS ZUNIONSTORE d 1 a WEIGHTS 2
COMMAND GETKEYS ZUNIONSTORE d 1 a WEIGHTS 2
COMMAND GETKEYSANDFLAGS SMISMEMBER k m
COMMAND GETKEYSANDFLAGS ZMSCORE k m
COMMAND GETKEYSANDFLAGS LTRIM k 0 1
COMMAND GETKEYSANDFLAGS LSET k 0 x
COMMAND GETKEYSANDFLAGS LINSERT k BEFORE a b
COMMAND GETKEYSANDFLAGS INCR k
COMMAND GETKEYSANDFLAGS INCRBY k 1
COMMAND GETKEYSANDFLAGS DECR k
COMMAND GETKEYSANDFLAGS DECRBY k 1
COMMAND GETKEYSANDFLAGS GET k
COMMAND GETKEYSANDFLAGS MGET k l
COMMAND GETKEYSANDFLAGS GETRANGE k 0 1
COMMAND GETKEYSANDFLAGS STRLEN k
COMMAND GETKEYSANDFLAGS GETDEL k
COMMAND GETKEYSANDFLAGS HSET k f v
COMMAND GETKEYSANDFLAGS LPOP k
COMMAND GETKEYSANDFLAGS LMOVE k l LEFT LEFT
COMMAND GETKEYSANDFLAGS BRPOPLPUSH k l 0
COMMAND GETKEYSANDFLAGS BLPOP k l 0
COMMAND GETKEYSANDFLAGS DEL k l
COMMAND GETKEYSANDFLAGS UNLINK k
COMMAND GETKEYSANDFLAGS EXISTS k l
COMMAND GETKEYSANDFLAGS TOUCH k
COMMAND GETKEYSANDFLAGS TYPE k
COMMAND GETKEYSANDFLAGS TTL k
COMMAND GETKEYSANDFLAGS PTTL k
COMMAND GETKEYSANDFLAGS EXPIRETIME k
COMMAND GETKEYSANDFLAGS PEXPIRETIME k
COMMAND GETKEYSANDFLAGS EXPIRE k 1
COMMAND GETKEYSANDFLAGS PEXPIRE k 1
COMMAND GETKEYSANDFLAGS EXPIREAT k 1
COMMAND GETKEYSANDFLAGS PEXPIREAT k 1
COMMAND GETKEYSANDFLAGS PERSIST k
COMMAND GETKEYSANDFLAGS WATCH k
COMMAND GETKEYSANDFLAGS nosuch k
COMMAND GETKEYSANDFLAGS ping k
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
CONFIG SET databases 16
CONFIG SET timeout 0
CONFIG SET TIMEOUT 0 save "" appendonly no
CONFIG SET timeout 0 databases 16
CONFIG SET timeout 0 timeout 0
CONFIG SET timeout 0 nosuch 1
CONFIG GET timeout
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

# Requests whose replies must differ from those of Redis.
DIFFERENT = {
    # Redis adds tips for proxies, and says that scripts may not call it.
    "COMMAND INFO ping echo time",
    # Without a password, the reply cannot be the same.
    "HELLO 3 AUTH default x SETNAME ab",
}


# These lines are sent to both servers; then their INFO is compared.
COUNTED = r"""
GET
nosuch
SET a b
INCR a
EVAL "return redis.error_reply('MYCODE x')" 0
EVAL "return redis.call('incr','a')" 0
EVAL "return redis.pcall('incr','a')" 0
EVAL "redis.pcall('incr','a') redis.pcall('get') redis.pcall('nosuch') return 1" 0
EVAL "redis.pcall('eval','return 1','0') return redis.call('get')" 0
EVAL "return {err='one'}" 0
EVAL "error('boom')" 0
EVAL "error({err='THREE x'})" 0
EVAL "return redis.call()" 0
EVAL "redis.pcall() return 1" 0
EVAL "return 1" -1
EVAL "return ("  0
EVAL_RO "return redis.call('set','a','c')" 0
EVALSHA 0000000000000000000000000000000000000000 0
MULTI
INCR a
GET a
EXEC
MULTI
GET
GET a
EXEC
MULTI
WATCH a
EXEC
EXEC
SUBSCRIBE
CONFIG FOO
CONFIG
CLIENT KILL 1:1
AUTH x y
SELECT 99
SET a
SETEX a 0 b
EXPIRE a x
DEL a
"""


def read_quietly(connection, end):
    """Returns all bytes up to `end`, or up to the end of the connection."""
    data = b""
    while not data.endswith(end):
        piece = connection.socket.recv(65536)
        if not piece:
            return data + b"(closed)"
        data += piece
    return data


def answers(server, paragraph):
    """Returns the bytes of the reply to each line."""
    with server.connect() as connection:
        for line in paragraph:
            # The reply to an ECHO sent after it shows where the reply ends.
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

    def statistics(self, server):
        """Returns the lines of INFO errorstats, and those of commandstats without times."""
        with server.connect() as connection:
            connection.ask("CONFIG", "RESETSTAT")
            for line in COUNTED.strip().split("\n"):
                connection.send(line.encode() + b"\r\n")
                connection.reply()
            errors = connection.ask("INFO", "errorstats").decode().split("\r\n")
            total = re.search(r"total_error_replies:\d+", connection.ask("INFO").decode())
            commands = connection.ask("INFO", "commandstats").decode().split("\r\n")
        fields = r"calls=\d+,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=\d+,failed_calls=\d+"
        for line in filter(lambda line: line.startswith("cmdstat_"), commands):
            self.assertRegex(line, rf"^cmdstat_[a-z_|]+:{fields}$")
        # For INFO and CONFIG RESETSTAT themselves, Redis counts only completed calls.
        kept = sorted(re.sub(r"usec=\d+,usec_per_call=[\d.]+,", "", line) for line in commands
                      if not line.startswith(("cmdstat_info", "cmdstat_config|resetstat")))
        return errors, total.group(), kept

    def test_statistics_as_redis_has_them(self):
        with Redis() as redis, Server() as server:
            for ours, theirs in zip(self.statistics(server), self.statistics(redis), strict=True):
                self.assertEqual(ours, theirs)

    def client_fields(self, server):
        """Returns what CLIENT INFO says about its own request, sent alone and before others."""
        found = []
        with server.connect() as connection:
            for behind in (0, 1, 100):
                connection.send(resp.request("CLIENT", "INFO")
                                + behind * resp.request("ECHO", "x" * 50))
                line = connection.reply().decode()
                for _ in range(behind):
                    connection.reply()
                found.append(re.findall(r"(?:qbuf|argv-mem)=\d+", line))
        return found

    def test_client_info_shows_what_came(self):
        with Redis() as redis, Server() as server:
            self.assertEqual(self.client_fields(server), self.client_fields(redis))

    def test_client_list_shows_what_others_have_sent(self):
        with Server() as server, server.connect() as own, server.connect() as other:
            other.ask("CLIENT", "SETNAME", "other")

            def field(name):
                line = next(line for line in own.ask("CLIENT", "LIST").decode().split("\n")
                            if " name=other " in line)
                return int(re.search(rf" {name}=(\d+)", line).group(1))

            def wait_until(qbuf):
                for _ in range(2000):
                    if field("qbuf") == qbuf:
                        return
                    time.sleep(0.001)
                self.assertEqual(field("qbuf"), qbuf)

            wait_until(0)
            part = resp.request("ECHO", "x" * 1000)
            other.send(part[:600])
            wait_until(600)
            self.assertGreaterEqual(field("qbuf") + field("qbuf-free"), 600)
            self.assertGreater(field("tot-mem"), 600)
            other.send(part[600:])
            wait_until(0)
            # Requests that follow one that waits.
            own.ask("LOCK", "k", "a")
            other.send(resp.request("LOCK", "k", "b", "WAIT", 60_000) + part)
            wait_until(len(part))


if __name__ == "__main__":
    unittest.main(verbosity=2)
