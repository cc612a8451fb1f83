"""Random Redis commands on keys and values: redis-server and fairlockd give the same replies.

    PATH=FOLDER:$PATH FAIRLOCKD=build/release/bin/fairlockd SEEDS=200 \\
    /usr/bin/python3 tests/integration/redis_way_answers_test.py

compares more, with another redis-server. If that is Valkey from 9 on, SET has IFEQ and DELIFEQ is
asked too.
"""

import os
import random
import time
import unittest

from own_redis import REDIS, Redis
from own_server import Server

SEEDS = int(os.environ.get("SEEDS", "20"))
COMMANDS = 600

KEYS = ["a", "b", "c", "d"]
VALUES = ["v1", "v2", "v3", "10", "-3", "007", "9223372036854775807", "x" * 100, "with blank"]
NUMBERS = ["0", "1", "-1", "5", "-9223372036854775808", "x", "010", "1.5", ""]
SECONDS = ["100", "1000", "0", "-1", "x", "50"]
MILLISECONDS = ["100000", "1000000", "0", "-5", "x"]
# A time in the past, and invalid times.
UNIX_SECONDS = ["1", "0", "-1", "x"]

# Tolerances for replies that depend on time, which may have advanced further on one server.
TIMES = {"TTL": 1, "PTTL": 2000, "EXPIRETIME": 1, "PEXPIRETIME": 2000}

RELEASE = ("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
           "else return 0 end")
EXTEND = ("if redis.call('get', KEYS[1]) == ARGV[1] then "
          "return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end")
ACQUIRE = ("for _, key in ipairs(KEYS) do if redis.call('exists', key) == 1 then return 0 end end "
           "for _, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end "
           "return #KEYS")


class Generator:

    def __init__(self, seed, redis):
        self.random = random.Random(seed)
        self.has_ifeq, self.has_msetex = (
            about is not None for about in redis.ask("COMMAND", "INFO", "DELIFEQ", "MSETEX"))

    def pick(self, choices):
        return self.random.choice(choices)

    def some(self, choices):
        return [self.pick(choices) for _ in range(self.random.randint(1, 3))]

    def set_options(self):
        options = []
        for _ in range(self.pick([0, 0, 1, 1, 2, 2, 3])):
            options += self.pick([
                ["NX"], ["XX"], ["GET"], ["KEEPTTL"], ["nx"], ["FOO"],
                ["EX", self.pick(SECONDS)], ["PX", self.pick(MILLISECONDS)],
                ["EXAT", self.pick(UNIX_SECONDS)], ["PXAT", self.pick(UNIX_SECONDS)], ["EX"],
                *([["IFEQ", self.pick(VALUES)], ["ifeq", self.pick(VALUES)], ["IFEQ"]]
                  if self.has_ifeq else [])])
        return options

    def conditions(self):
        return self.pick([[], [], ["NX"], ["XX"], ["GT"], ["LT"], ["NX", "XX"], ["GT", "LT"],
                          ["XX", "GT"], ["FOO"]])

    def pairs(self):
        return [word for name in self.some(KEYS) for word in (name, self.pick(VALUES))]

    def msetex(self):
        pairs = self.pairs()
        count = self.pick([len(pairs) // 2] * 8 + [1, 2, 0, "-1", "x", "01"])
        options = self.pick([[], [], ["NX"], ["XX"], ["nx", "NX"], ["NX", "XX"], ["GET"]])
        ends = self.pick([[], ["EX", self.pick(SECONDS)], ["px", self.pick(MILLISECONDS)],
                          ["KEEPTTL"], ["KEEPTTL", "EX", "100"], ["EXAT", self.pick(UNIX_SECONDS)],
                          ["EX"], ["EX", "100", "EX", "200"], ["EX", "100", "PX", "200"]])
        return ["MSETEX", str(count), *pairs, *options, *ends]

    def command(self):
        key, value = self.pick(KEYS), self.pick(VALUES)
        families = [
            (8, lambda: ["SET", key, value, *self.set_options()]),
            (3, lambda: ["SET", key, value, "NX", "PX", self.pick(MILLISECONDS)]),
            (2, lambda: ["SETNX", key, value]),
            (1, lambda: ["SETEX", key, self.pick(SECONDS), value]),
            (1, lambda: ["PSETEX", key, self.pick(MILLISECONDS), value]),
            (1, lambda: ["GETSET", key, value]),
            (2, lambda: ["GETDEL", key]),
            (1, lambda: ["MSETNX", *self.pairs()]),
            (1, lambda: ["MSETNX", key, value, key]),
            (2, lambda: ["MSET", *self.pairs()]),
            # Newer servers also check the time if there is no such key.
            (1, lambda: ["GETEX", key, *self.pick([[], ["PERSIST"], [
                "EX", "100" if self.has_ifeq else self.pick(SECONDS)]])]),
            (3, lambda: ["GET", key]),
            (2, lambda: ["MGET", *self.some(KEYS)]),
            (1, lambda: ["GETRANGE", key, self.pick(NUMBERS), self.pick(NUMBERS)]),
            (1, lambda: ["STRLEN", key]),
            (2, lambda: [self.pick(["INCR", "DECR"]), key]),
            (2, lambda: [self.pick(["INCRBY", "DECRBY"]), key, self.pick(NUMBERS)]),
            (3, lambda: [self.pick(["DEL", "UNLINK"]), *self.some(KEYS)]),
            (2, lambda: [self.pick(["EXISTS", "TOUCH"]), *self.some(KEYS)]),
            (1, lambda: ["TYPE", key]),
            (2, lambda: ["EXPIRE", key, self.pick(SECONDS), *self.conditions()]),
            (2, lambda: ["PEXPIRE", key, self.pick(MILLISECONDS), *self.conditions()]),
            (1, lambda: [self.pick(["EXPIREAT", "PEXPIREAT"]), key, self.pick(UNIX_SECONDS),
                         *self.conditions()]),
            (2, lambda: ["PERSIST", key]),
            (3, lambda: [self.pick(list(TIMES)), key]),
            (1, lambda: ["KEYS", self.pick(["*", "[ab]", "?", "x*"])]),
            (1, lambda: ["DBSIZE"]),
            (1, lambda: [self.pick(["FLUSHDB", "FLUSHALL"]), *self.pick([[], ["ASYNC"], ["x"]])]),
            (1, lambda: ["SELECT", self.pick(["0", "1"])]),
            (2, lambda: ["EVAL", RELEASE, "1", key, value]),
            # Newer servers word errors of scripts in another way.
            (1, lambda: ["EVAL", EXTEND, "1", key, value,
                         "100000" if self.has_ifeq else self.pick(MILLISECONDS)]),
            (1, lambda: ["EVAL", ACQUIRE, "2", "a", "b", value, "100000"]),
            (1, lambda: ["WATCH", key]),
            # Newer servers abort a transaction in which MULTI or WATCH is called again.
            *([] if self.has_ifeq else [(2, lambda: ["MULTI"])]),
            (4, lambda: ["EXEC"]),
            (1, lambda: ["DISCARD"]),
            (1, lambda: [self.pick(["SET", "GET", "EXPIRE", "MSETNX", "GETRANGE", "DEL"])]),
        ]
        if self.has_ifeq:
            families += [(4, lambda: ["SET", key, value, "IFEQ", self.pick(VALUES)]),
                         (3, lambda: ["DELIFEQ", key, value])]
        if self.has_msetex:
            families += [(6, self.msetex)]
        weights = [weight for weight, _ in families]
        return self.random.choices([make for _, make in families], weights)[0]()


def ask(connection, command):
    # Ensures that an expiry compared with an earlier one of the same length is later on both
    # servers.
    if command[0] == "EXEC" or {"GT", "LT"} & set(command):
        time.sleep(0.002)
    reply = connection.ask(*command)
    if command[0] == "KEYS" and isinstance(reply, list):
        reply.sort()
    return reply


def is_alike(queued, ours, theirs):
    """For EXEC, compares each reply by its own command."""
    if isinstance(ours, list) and isinstance(theirs, list) and queued is not None:
        return len(ours) == len(theirs) and all(
            is_alike_one(*each) for each in zip(queued, ours, theirs, strict=True))
    return ours == theirs


def is_alike_one(command, ours, theirs):
    if command[0] == "KEYS" and isinstance(ours, list) and isinstance(theirs, list):
        return sorted(ours) == sorted(theirs)
    if command[0] == "DBSIZE" and isinstance(ours, int) and isinstance(theirs, int):
        # Redis counts expired keys until it comes across them.
        return ours <= theirs
    leeway = TIMES.get(command[0], 0)
    if leeway and isinstance(ours, int) and isinstance(theirs, int) and theirs > 0:
        return abs(ours - theirs) <= leeway
    return ours == theirs


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class SameAnswers(unittest.TestCase):

    def compare(self, seed, redis, server):
        queued = None
        with redis.connect() as their, server.connect() as our:
            generator = Generator(seed, their)
            for connection in (their, our):
                connection.ask("FLUSHALL")
            said = []
            for _ in range(COMMANDS):
                command = generator.command()
                said.append(command)
                theirs, ours = ask(their, command), ask(our, command)
                alike = (is_alike(queued, ours, theirs) if command[0] == "EXEC"
                         else is_alike_one(command, ours, theirs))
                self.assertTrue(alike, f"seed {seed}: {said[-8:]}: {ours!r}, Redis {theirs!r}")
                if command[0] == "MULTI" and queued is None:
                    queued = []
                elif command[0] in ("EXEC", "DISCARD"):
                    queued = None
                elif queued is not None and theirs == "QUEUED":
                    queued.append(command)

    def test_random_commands_are_answered_as_by_redis(self):
        with Redis() as redis, Server() as server:
            for seed in range(SEEDS):
                self.compare(seed, redis, server)
        print(f"{SEEDS * COMMANDS} commands answered as by Redis")


if __name__ == "__main__":
    unittest.main(verbosity=2)
