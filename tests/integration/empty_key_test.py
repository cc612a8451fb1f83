"""The empty key: each command that Redis has too takes it as Redis does, also in MULTI and EVAL."""

import unittest

from own_redis import REDIS, Redis
from own_server import Server

# The arguments after the keys of each command. Commands that are not listed take none.
ARGUMENTS = {
    "set": ["v"], "setnx": ["v"], "setex": ["100", "v"], "psetex": ["100000", "v"],
    "getset": ["v"], "mset": ["v"], "msetnx": ["v"], "incrby": ["2"], "decrby": ["2"],
    "incrbyfloat": ["2.5"], "bitfield": ["INCRBY", "u8", "0", "1"],
    "bitfield_ro": ["GET", "u8", "0"], "getex": ["EX", "100"], "getrange": ["0", "-1"],
    "expire": ["100"], "pexpire": ["100000"], "expireat": ["9999999999"],
    "pexpireat": ["9999999999000"],
    "hset": ["f", "v"], "hmset": ["f", "v"], "hsetnx": ["g", "v"], "hincrby": ["n", "1"],
    "hincrbyfloat": ["n", "1.5"], "hget": ["f"], "hmget": ["f", "g"], "hexists": ["f"],
    "hdel": ["f"], "hscan": ["0"],
    "lpush": ["x"], "rpush": ["x"], "lpushx": ["x"], "rpushx": ["x"], "lrange": ["0", "-1"],
    "lindex": ["0"], "lset": ["0", "y"], "linsert": ["BEFORE", "x", "y"], "ltrim": ["0", "0"],
    "lrem": ["0", "x"], "lpos": ["x"], "lmove": ["LEFT", "RIGHT"],
    "blmove": ["LEFT", "RIGHT", "0.01"], "blpop": ["0.01"], "brpop": ["0.01"],
    "brpoplpush": ["0.01"],
    "sadd": ["m"], "srem": ["m"], "sismember": ["m"], "smismember": ["m", "n"], "sscan": ["0"],
    "zadd": ["1", "m"], "zincrby": ["1", "m"], "zrem": ["m"], "zscore": ["m"],
    "zmscore": ["m", "n"], "zrank": ["m"], "zrevrank": ["m"], "zcount": ["-inf", "+inf"],
    "zrange": ["0", "-1"], "zrevrange": ["0", "-1"], "zrangebyscore": ["-inf", "+inf"],
    "zrevrangebyscore": ["+inf", "-inf"], "zremrangebyscore": ["-inf", "+inf"],
    "zremrangebyrank": ["0", "-1"], "zscan": ["0"],
}
# What the key contains before the command.
STATES = {
    "none": [], "string": ["SET", "", "7"], "hash": ["HSET", "", "f", "1"],
    "list": ["RPUSH", "", "x", "z"], "set": ["SADD", "", "m"], "zset": ["ZADD", "", "1", "m"],
}
TIMES = {"ttl", "pttl", "expiretime", "pexpiretime"}
CALL = "return redis.call(unpack(ARGV))"
# The keys of these commands are where the row of the table says, but not at fixed positions.
WITH_COUNT = {"zinterstore": ["zinterstore", "", "2", "", ""],
              "zunionstore": ["zunionstore", "", "1", ""],
              "eval": ["eval", "return #KEYS[1]", "1", ""],
              "eval_ro": ["eval_ro", "return #KEYS[1]", "1", ""],
              "evalsha": ["evalsha", "0" * 40, "1", ""],
              "evalsha_ro": ["evalsha_ro", "0" * 40, "1", ""]}


def request_of(row):
    """The shortest request of that row of COMMAND in which all keys are empty."""
    name, first, last, step = row[0].decode(), *row[3:6]
    if name in WITH_COUNT:
        return WITH_COUNT[name]
    rest = ARGUMENTS.get(name, [])
    keys = (last - first) // step + 1 if last > 0 else 1
    request = [name] + ["?"] * (first - 1) + [""] * keys + rest
    arity = row[1]
    assert len(request) == arity or (arity < 0 and len(request) >= -arity), (
        f"give the arguments of {name} in ARGUMENTS")
    return request


def is_alike(name, ours, theirs):
    if name in TIMES and isinstance(theirs, int) and theirs > 0:
        return abs(ours - theirs) <= 5000
    return ours == theirs and type(ours) is type(theirs)


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class EmptyKey(unittest.TestCase):

    def setUp(self):
        self.redis = self.enterContext(Redis())
        self.server = self.enterContext(Server())
        self.their = self.enterContext(self.redis.connect())
        self.our = self.enterContext(self.server.connect())

    def ask_both(self, *request):
        return self.our.ask(*request), self.their.ask(*request)

    def shared_rows(self):
        """The rows of fairlock's table with keys, of commands that Redis has with keys too."""
        for row in self.our.ask("COMMAND"):
            name = row[0].decode()
            theirs = self.their.ask("COMMAND", "INFO", name)[0]
            has_keys = row[8] and "not_key" not in map(str, row[8][0][1])
            if has_keys and theirs is not None and (theirs[3] > 0 or name in WITH_COUNT):
                yield row

    def compare(self, name, state, *requests):
        for connection in (self.our, self.their):
            connection.ask("FLUSHALL")
            if STATES[state]:
                connection.ask(*STATES[state])
        for request in requests:
            ours, theirs = self.ask_both(*request)
            inner = (ours[0], theirs[0]) if request == ["EXEC"] and theirs else (ours, theirs)
            self.assertTrue(is_alike(name, *inner),
                            f"{state}: {requests}: {ours!r}, Redis {theirs!r}")
        for request in (["TYPE", ""], ["EXISTS", ""], ["DBSIZE"]):
            self.assertEqual(*self.ask_both(*request), f"{state}: {requests}, then {request}")

    def test_is_taken_as_by_redis(self):
        compared = 0
        for row in self.shared_rows():
            name = row[0].decode()
            request = request_of(row)
            may_be_called = not {"noscript"} & set(map(str, row[2])) and name not in WITH_COUNT
            may_be_called = may_be_called or name.startswith("z")
            for state in STATES:
                self.compare(name, state, request)
                if name != "watch":
                    self.compare(name, state, ["MULTI"], request, ["EXEC"])
                if may_be_called:
                    self.compare(name, state, ["EVAL", CALL, "0", *request])
                    self.compare(name, state, ["EVAL", CALL, "1", "", *request])
                compared += 1
        self.assertGreater(compared, 400)

    def test_its_locks_are_listed_and_ended(self):
        self.assertEqual(self.our.ask("SET", "", "me", "NX", "PX", 30_000), "OK")
        self.assertEqual(self.our.ask("SET", "", "you", "NX"), None)
        self.assertEqual(self.our.ask("KEYS", "*"), [b""])
        self.assertEqual(self.our.ask("LOCKS", 0)[1][0][0], b"")
        self.assertEqual(self.our.ask("UNLINK", "a", ""), 1)
        self.assertEqual(self.our.ask("EXISTS", ""), 0)

    def test_commands_of_fairlock_refuse_it(self):
        for request in (("LOCK", "", "me"), ("UNLOCK", "", "me"), ("MLOCK", 1, "", "me"),
                        ("LOCKED", ""), ("LOCKINFO", ""), ("QUEUE", ""), ("BREAK", "")):
            self.assertEqual(str(self.our.ask(*request)),
                             "ERR key must have 1 to 1024 bytes, got 0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
