"""Makes random requests of the commands for values."""

import random

KEYS = ["a", "b", "c", "d", ""]
FIELDS = ["f", "g", "h", "1", "20", "-3"]
ELEMENTS = ["x", "y", "z", "10", "007", "9", "-1", "", "with blank", "l" * 60]
NUMBERS = ["0", "1", "-1", "2", "-2", "5", "100", "-100", "9223372036854775807",
           "-9223372036854775808"]
NO_NUMBERS = ["x", "1.5", "", "+5", "-0", "01", " 5", "5 ", "0x10", "9223372036854775808",
              "-9223372036854775809"]
SCORES = ["0", "1", "2", "-1", "1.5", "-0", "3e2", "inf", "-inf", "0.1", "1e300", "17179869184.25",
          "4.9e-324", "0x10", "1.", ".5", "+5"]
NO_SCORES = ["nan", "x", "", " 5", "5 ", "1e400", "-1e400", "1e-400", ".", "1e", "1,5", b"1\0"]
BOUNDS = ["0", "1", "(1", "2", "-inf", "+inf", "(0.5", "(inf", "300", "1e400", "0x10"]
ODD_BOUNDS = ["x", "nan", "", "(", "((1", " 5", "5 ", "( 1", "(nan", "[1", b"1\0"]
WORDS = ["[a", "(b", "[x", "(y", "-", "+", "[", "q", "[with blank", "", "(", "-a", "++"]
CURSORS = ["0", "0", "0", "0", "7", "x", "", "-0", "+5", " 5", "5 ", "-1", "18446744073709551616"]
TIMEOUTS = ["0", "0.1", "1", "1e-400", "0x1p3", "1e400", "-1", "x", "", "nan", "inf", " 1"]
SECONDS = ["100", "1000", "-1", "0", "x"]
MILLISECONDS = ["100000", "1000000", "-1", "0", "x"]
ENDS = ["LEFT", "RIGHT", "left", "UP"]
FLOATS = ["0.1", "1", "-2.5", "1e10", "3.0e3", "0x10", "-0", "5e-18", "1e40", "-1e40"]
NO_FLOATS = ["inf", "-inf", "nan", "x", "", " 1", "1 ", "1e5000", "1e-5000", "1,5"]
BIT_TYPES = ["u1", "u8", "i8", "i5", "u16", "i16", "u63", "i64", "i1"]
NO_BIT_TYPES = ["u64", "i65", "i0", "x", "u", "", "8", "U8"]
BIT_OFFSETS = ["0", "1", "7", "#0", "#1", "#3", "63", "500"]
NO_BIT_OFFSETS = ["-1", "x", "", "#-1", "#", "01", "99999999999999999999", "4294967296000"]
GLOBS = ["*", "f*", "?", "[xyz]", "1*"]
TYPES = ["hash", "list", "set", "zset", "string", "nosuch"]

# The replies to these commands are in no order.
UNORDERED = {"SMEMBERS", "SSCAN", "SPOP", "SRANDMEMBER", "KEYS", "SCAN"}
# Neither are these, if the value is large, and pages of a scan have other sizes.
UNORDERED_IF_LARGE = {"HGETALL", "HKEYS", "HVALS"}
SCANS = {"HSCAN", "SSCAN", "ZSCAN"}
# Tolerances for replies that depend on time, which may have advanced further on one server.
TIMES = {"TTL": 1, "PTTL": 5000, "EXPIRETIME": 2, "PEXPIRETIME": 5000}


# Malformed or extreme arguments that Redis 7 and later versions of it, or Valkey, judge
# differently. fairlockd judges them as Redis 7 does.
JUDGED_DIFFERENTLY = {"0x10", "0x1p3", " 5", "5 ", "( 1", " 1", "1 ", "4.9e-324", "5e-18",
                      "-9223372036854775808", "9223372036854775807", "1e400", "inf", "nosuch"}
CURSORS_JUDGED_DIFFERENTLY = {"", "-1", "+5", "-0", "x", "18446744073709551616"}


def is_judged_alike(request):
    """Whether all versions of Redis from 7 on give the same reply."""
    command = request[3] if request[0] == "EVAL" else request[0]
    if JUDGED_DIFFERENTLY.intersection(str(word) for word in request):
        return False
    if command == "GETEX" and {"0", "-1", "x"}.intersection(request[2:]):
        return False
    return not command.endswith("SCAN") or not CURSORS_JUDGED_DIFFERENTLY.intersection(request[2:])


class Requests:

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.families = self._hashes() + self._lists() + self._sorted_sets() + self._sets()
        self.families += self._keys() + self._strings()

    def pick(self, choices):
        return self.random.choice(choices)

    def some(self, choices):
        return [self.pick(choices) for _ in self._few()]

    def _few(self):
        return range(self.random.randint(1, self.pick([3, 3, 3, 9])))

    def key(self):
        return self.pick(KEYS)

    def _hashes(self):
        key, pick = self.key, self.pick
        return [
            (6, lambda: ["HSET", key(), *self._pairs(FIELDS, ELEMENTS)]),
            (1, lambda: ["HMSET", key(), *self._pairs(FIELDS, ELEMENTS)]),
            (1, lambda: [pick(["HSET", "HMSET"]), key(), *self.some(FIELDS)]),
            (2, lambda: ["HSETNX", key(), pick(FIELDS), pick(ELEMENTS)]),
            (2, lambda: ["HGET", key(), pick(FIELDS)]),
            (2, lambda: ["HMGET", key(), *self.some(FIELDS)]),
            (3, lambda: ["HGETALL", key()]),
            (3, lambda: ["HDEL", key(), *self.some(FIELDS)]),
            (1, lambda: ["HEXISTS", key(), pick(FIELDS)]),
            (3, lambda: ["HINCRBY", key(), pick(FIELDS), self._number()]),
            (2, lambda: ["HINCRBYFLOAT", key(), pick(FIELDS), self._float()]),
            (2, lambda: [pick(["HKEYS", "HVALS", "HLEN"]), key()]),
            (1, lambda: ["HSCAN", key(), *self._scan()]),
        ]

    def _lists(self):
        key, pick = self.key, self.pick
        return [
            (6, lambda: [pick(["LPUSH", "RPUSH"]), key(), *self.some(ELEMENTS)]),
            (4, lambda: [pick(["LPOP", "RPOP"]), key()]),
            (2, lambda: [pick(["LPOP", "RPOP"]), key(), self._number()]),
            (1, lambda: ["LPOP", key(), "1", "2"]),
            (1, lambda: ["LLEN", key()]),
            (3, lambda: ["LRANGE", key(), self._number(), self._number()]),
            (2, lambda: ["LREM", key(), self._number(), pick(ELEMENTS)]),
            (1, lambda: ["LINDEX", key(), self._number()]),
            (2, lambda: ["LPOS", key(), pick(ELEMENTS), *self._position()]),
            (3, lambda: ["LMOVE", key(), key(), pick(ENDS), pick(ENDS)]),
            (1, lambda: ["RPOPLPUSH", key(), key()]),
            (1, lambda: [pick(["LPUSHX", "RPUSHX"]), key(), *self.some(ELEMENTS)]),
            (2, lambda: ["LSET", key(), self._number(), pick(ELEMENTS)]),
            (2, lambda: ["LINSERT", key(), pick(["BEFORE", "AFTER", "before", "IN"]),
                         pick(ELEMENTS), pick(ELEMENTS)]),
            (1, lambda: ["LTRIM", key(), self._number(), self._number()]),
        ]

    def _sorted_sets(self):
        key, pick = self.key, self.pick
        return [
            (8, lambda: ["ZADD", key(), *self._add_options(), *self._scored()]),
            (2, lambda: ["ZINCRBY", key(), self._score(), pick(ELEMENTS)]),
            (2, lambda: ["ZREM", key(), *self.some(ELEMENTS)]),
            (2, lambda: [pick(["ZSCORE", "ZRANK", "ZREVRANK"]), key(), pick(ELEMENTS)]),
            (1, lambda: ["ZREVRANGE", key(), self._number(), self._number(),
                         *self._range_options()]),
            (1, lambda: ["ZREVRANGEBYSCORE", key(), self._bound(), self._bound(),
                         *self._range_options()]),
            (1, lambda: ["ZCARD", key()]),
            (1, lambda: ["ZCOUNT", key(), self._bound(), self._bound()]),
            (2, lambda: ["ZRANGE", key(), self._number(), self._number(), *self._range_options()]),
            (2, lambda: ["ZRANGE", key(), self._bound(), self._bound(), "BYSCORE",
                         *self._range_options()]),
            (1, lambda: ["ZRANGE", key(), pick(WORDS), pick(WORDS), "BYLEX",
                         *self._range_options()]),
            (3, lambda: ["ZRANGEBYSCORE", key(), self._bound(), self._bound(),
                         *self._range_options()]),
            (1, lambda: ["ZREMRANGEBYSCORE", key(), self._bound(), self._bound()]),
            (1, lambda: ["ZREMRANGEBYRANK", key(), self._number(), self._number()]),
            (2, lambda: [pick(["ZPOPMIN", "ZPOPMAX"]), key(),
                         *pick([[], [], ["1"], ["3"], ["0"], ["-1"], ["x"]])]),
            (1, lambda: ["ZMSCORE", key(), *self.some(ELEMENTS)]),
            (6, lambda: [pick(["ZINTERSTORE", "ZUNIONSTORE"]), key(), *self._combined()]),
            (1, lambda: ["ZSCAN", key(), *self._scan()]),
        ]

    def _sets(self):
        key, pick = self.key, self.pick
        return [
            (6, lambda: ["SADD", key(), *self.some(ELEMENTS + FIELDS)]),
            (3, lambda: ["SREM", key(), *self.some(ELEMENTS + FIELDS)]),
            (1, lambda: ["SISMEMBER", key(), pick(ELEMENTS)]),
            (2, lambda: [pick(["SMEMBERS", "SCARD"]), key()]),
            # Pops all or none, because which members others would pop is random.
            (1, lambda: ["SPOP", key(), pick(["1000000", "0", "-1", "x"])]),
            (1, lambda: ["SMISMEMBER", key(), *self.some(ELEMENTS)]),
            # Shows all or none, for the same reason.
            (1, lambda: ["SRANDMEMBER", key(),
                         pick(["1000000", "0", "x", "", "-9223372036854775808"])]),
            # Reads in one page, because Redis divides others at random.
            (1, lambda: ["SSCAN", key(), pick(["0", "0", "x", "", "-0"]), "COUNT", "1000",
                         *pick([[], ["MATCH", pick(GLOBS)], ["COUNT"], ["TYPE", "set"]])]),
        ]

    def _keys(self):
        key, pick = self.key, self.pick
        return [
            (6, lambda: ["DEL", key()]),
            (1, lambda: ["UNLINK", *self.some(KEYS)]),
            (1, lambda: ["EXISTS", *self.some(KEYS)]),
            (2, lambda: ["TYPE", key()]),
            (1, lambda: ["EXPIRE", key(), pick(SECONDS), *pick([[], [], ["NX"], ["XX"]])]),
            (1, lambda: ["PEXPIRE", key(), pick(MILLISECONDS), *pick([[], [], ["NX"], ["XX"]])]),
            (1, lambda: ["EXPIREAT", key(), pick(["1", "0", "-1", "x"])]),
            (1, lambda: ["PERSIST", key()]),
            (2, lambda: [pick(list(TIMES)), key()]),
            (2, lambda: ["SET", key(), "v", *pick([[], ["NX"], ["XX"], ["KEEPTTL"], ["GET"],
                                                   ["EX", "1000"]])]),
            (1, lambda: [pick(["GET", "STRLEN", "INCR", "GETDEL"]), key()]),
            (1, lambda: ["MGET", *self.some(KEYS)]),
            (1, lambda: ["MSETNX", key(), "v", key(), "w"]),
            (1, lambda: [pick(["SETNX", "GETSET"]), key(), "v"]),
            (1, lambda: ["GETRANGE", key(), "0", "-1"]),
            (1, lambda: ["KEYS", "*"]),
            (1, lambda: ["SCAN", "0", "COUNT", "1000", "TYPE", pick(TYPES)]),
            (1, lambda: [pick(["HSET", "HMSET", "LPUSH", "ZADD", "SADD", "BLPOP", "LMOVE", "ZRANGE",
                               "SPOP", "HSCAN", "ZPOPMIN"])]),
        ]

    def _strings(self):
        key, pick = self.key, self.pick
        return [
            (2, lambda: ["MSET", *self._pairs(KEYS, ["v", "w", "10", "1.5"])]),
            (1, lambda: ["MSET", key(), "v", key()]),
            (1, lambda: ["INCRBYFLOAT", key(), self._float()]),
            (1, lambda: ["GETEX", key(), *pick([[], ["PERSIST"], ["EX", pick(SECONDS)], ["EX"],
                                                ["PX", pick(MILLISECONDS), "PERSIST"], ["FOO"],
                                                ["EXAT", pick(["1", "0", "x"])], ["PERSIST", "NX"],
                                                ["EX", "5", "EX", "100"]])]),
            (3, lambda: ["BITFIELD", key(), *self._bits()]),
            (1, lambda: ["BITFIELD_RO", key(), *self._bits()]),
        ]

    def _pairs(self, first, second):
        return [word for _ in self._few()
                for word in (self.pick(first), self.pick(second))]

    def _scored(self):
        return [word for _ in self._few()
                for word in (self._score(), self.pick(ELEMENTS))]

    def _number(self):
        return self.pick(NUMBERS if self.random.random() < 0.8 else NO_NUMBERS)

    def _score(self):
        return self.pick(SCORES if self.random.random() < 0.9 else NO_SCORES)

    def _float(self):
        return self.pick(FLOATS if self.random.random() < 0.8 else NO_FLOATS)

    def _combined(self):
        keys = self.some(KEYS)
        count = self.pick([len(keys)] * 9 + [0, -1, len(keys) + 1, "x"])
        return [count, *keys, *(word for _ in range(self.pick([0, 0, 1, 1, 2]))
                                for word in self._combination(len(keys)))]

    def _combination(self, keys):
        return self.pick([["WEIGHTS", *(self._score() for _ in range(keys))],
                          ["AGGREGATE", self.pick(["SUM", "MIN", "MAX", "min", "AVG"])],
                          ["AGGREGATE", self.pick(["SUM", "MIN", "MAX"])],
                          ["WEIGHTS", "1"], ["AGGREGATE"], ["WITHSCORES"]])

    def _bits(self):
        return [word for _ in range(self.random.randint(0, 4)) for word in self._bit_operation()]

    def _bit_operation(self):
        type_ = self.pick(BIT_TYPES if self.random.random() < 0.95 else NO_BIT_TYPES)
        offset = self.pick(BIT_OFFSETS if self.random.random() < 0.95 else NO_BIT_OFFSETS)
        return self.pick([["GET", type_, offset], ["GET", type_, offset],
                          ["SET", type_, offset, self._number()],
                          ["INCRBY", type_, offset, self._number()],
                          ["INCRBY", type_, offset, self._number()],
                          ["OVERFLOW", self.pick(["WRAP", "SAT", "FAIL", "sat", "NONE"])],
                          ["OVERFLOW", self.pick(["WRAP", "SAT", "FAIL"])]])

    def _bound(self):
        return self.pick(BOUNDS if self.random.random() < 0.8 else ODD_BOUNDS)

    def _scan(self):
        return [self.pick(CURSORS),
                *self.pick([[], [], ["MATCH", self.pick(GLOBS)], ["COUNT", self.pick(["1", "100"])],
                            ["COUNT", "0"], ["TYPE", "hash"], ["COUNT"]])]

    def _position(self):
        return [word for _ in range(self.pick([0, 0, 1, 2])) for word in (
            self.pick(["RANK", "COUNT", "MAXLEN", "FOO"]), self._number())]

    def _add_options(self):
        return [self.pick(["NX", "XX", "GT", "LT", "CH", "INCR", "nx"])
                for _ in range(self.pick([0, 0, 0, 1, 1, 2, 3]))]

    def _range_options(self):
        return [word for _ in range(self.pick([0, 0, 1, 1, 2])) for word in self.pick(
            [["WITHSCORES"], ["REV"], ["LIMIT", self._number(), self._number()], ["LIMIT"],
             ["FOO"]])]

    def one(self):
        weights = [weight for weight, _ in self.families]
        return self.random.choices([make for _, make in self.families], weights)[0]()

    def waiting(self):
        """A request that returns at once only because it is in a transaction."""
        key = self.key
        return self.pick([["BLPOP", key(), key(), self.pick(TIMEOUTS)],
                          ["BRPOP", key(), self.pick(TIMEOUTS)],
                          ["BLMOVE", key(), key(), self.pick(ENDS), "LEFT", self.pick(TIMEOUTS)],
                          ["BRPOPLPUSH", key(), key(), self.pick(TIMEOUTS)]])
