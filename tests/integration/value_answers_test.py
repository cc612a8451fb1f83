"""Random commands on values: redis-server and fairlockd give the same replies.

    value_answers_test.py [COMMANDS]    how many commands in each protocol version

Compares the redis-server that PATH names, except for replies that versions after 7, and Valkey,
give in other words.
"""

import contextlib
import random
import sys
import unittest

from own_redis import REDIS, Redis
from own_server import Server
import resp
from value_commands import (KEYS, SCANS, TIMES, UNORDERED, UNORDERED_IF_LARGE, Requests,
                            is_judged_alike)

COMMANDS = 10_000
SEED_COMMANDS = 1_000
LARGE_SEED_COMMANDS = 200  # with more, few values would still be large
BATCH = 50
SIZES = [0, 10, 511, 513, 2_000, 20_000, 100_000]

CALL = "return redis.call(unpack(ARGV))"
PCALL = "return redis.pcall(unpack(ARGV))"


def ordered(reply):
    """Sorts a list or, if it is a page of a scan, the elements on it."""
    if isinstance(reply, list) and reply and isinstance(reply[-1], list):
        return [*reply[:-1], ordered(reply[-1])]
    return type(reply)(sorted(reply, key=repr)) if isinstance(reply, list) else reply


def pairs(words):
    return sorted(zip(words[::2], words[1::2], strict=True)) if isinstance(words, list) else words


def as_newer(reply):
    """Reduces a reply to what later versions of Redis, and Valkey, have in common: they write fewer
    digits of a score, and other words around an error in a script."""
    if isinstance(reply, list):
        return type(reply)(as_newer(each) for each in reply)
    if isinstance(reply, resp.ErrorReply):
        text = reply.split(" script: ")[0].replace(" calling Redis command", " calling command")
        return resp.ErrorReply(text)
    if isinstance(reply, bytes | resp.Double):
        with contextlib.suppress(ValueError):
            return type(reply)(str(float(reply)).encode() if isinstance(reply, bytes)
                               else float(reply))
    return reply


def is_alike(request, ours, theirs, *, is_large=False):
    if request[0] == "EVAL":
        request = request[3:]
    if is_large and request[0] in SCANS and isinstance(ours, list):
        return isinstance(theirs, list)
    if is_large and request[0] == "HGETALL" and isinstance(ours, list):
        return pairs(ours) == pairs(theirs)
    if request[0] in UNORDERED or (is_large and request[0] in UNORDERED_IF_LARGE):
        return ordered(ours) == ordered(theirs) and type(ours) is type(theirs)
    leeway = TIMES.get(request[0], 0)
    if leeway and isinstance(ours, int) and isinstance(theirs, int) and theirs > 0:
        return abs(ours - theirs) <= leeway
    return ours == theirs and type(ours) is type(theirs)


def fill(connection, seed, key, size):
    """Makes a value of one of the types, with that many elements."""
    command, element = random.Random(f"{seed} {key}").choice(
        [("HSET", lambda i: (f"f{i}", i)), ("RPUSH", lambda i: (f"e{i % 1000}",)),
         ("ZADD", lambda i: (i % 700, f"m{i}")), ("SADD", lambda i: (f"m{i}",))])
    for begin in range(0, size, 1000):
        words = [word for i in range(begin, min(begin + 1000, size)) for word in element(i)]
        connection.ask(command, key, *words)


def shows_too_much(requests, reply):
    """Whether a reply, or one within it, says that a request would take too long."""
    replies = reply if isinstance(reply, list) and len(requests) == len(reply) else [reply]
    return any(isinstance(each, resp.ErrorReply) and "FULL" in each for each in replies)


class Batches:
    """Random requests, some of them in transactions and scripts."""

    def __init__(self, seed, redis_version):
        self.requests = Requests(seed)
        self.redis_version = redis_version
        self.queued = None  # the requests since MULTI

    def batch(self):
        return [self._next() for _ in range(BATCH)]

    def _next(self):
        request, queued = self._any()
        if self.redis_version > 7 and not is_judged_alike(request):
            if self.queued:
                self.queued.pop()
            return self._next()
        return request, queued

    def _any(self):
        dice = self.requests.random.random()
        if self.queued is None and dice < 0.02:
            self.queued = []
            return ["MULTI"], None
        if self.queued is not None and dice < 0.2:
            queued, self.queued = self.queued, None
            return ["EXEC"], queued
        if self.queued is not None and dice < 0.3:
            request = self.requests.waiting()
        elif dice > 0.9:
            script = self.requests.pick([CALL, PCALL])
            request = ["EVAL", script, "0", *self.requests.one()]
        else:
            request = self.requests.one()
        if self.queued is not None:
            self.queued.append(request)
        return request, None


def is_alike_in_place(request, queued, ours, theirs, *, is_large):
    """`queued` are, for EXEC, the requests of the transaction."""
    if request != ["EXEC"] or not isinstance(ours, list) or not isinstance(theirs, list):
        return is_alike(request, ours, theirs, is_large=is_large)
    # Redis refuses some requests when they are queued, but then EXEC fails as a whole.
    return len(ours) == len(theirs) == len(queued) and all(
        is_alike(*each, is_large=is_large) for each in zip(queued, ours, theirs, strict=True))


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class SameAnswers(unittest.TestCase):

    def compare(self, seed, version, redis, server, sizes=()):
        """Returns how many requests were compared. `sizes` are those of the values at the
        beginning."""
        redis_version = redis.major_version()
        batches = Batches(seed, redis_version)
        said = []
        with redis.connect() as their, server.connect() as our:
            for connection in (their, our):
                connection.ask("HELLO", version)
                connection.ask("DEL", *KEYS)
                for key, size in zip(KEYS, sizes, strict=False):
                    fill(connection, seed, key, size)
            for _ in range((LARGE_SEED_COMMANDS if sizes else SEED_COMMANDS) // BATCH):
                batch = batches.batch()
                for connection in (their, our):
                    connection.send(b"".join(resp.request(*request) for request, _ in batch))
                for request, queued in batch:
                    theirs, ours = their.reply(), our.reply()
                    if redis_version > 7:
                        theirs, ours = as_newer(theirs), as_newer(ours)
                    said.append(request)
                    if sizes and shows_too_much(queued or [request], ours):
                        return len(said)  # what Redis did, this server refused to do at once
                    alike = is_alike_in_place(request, queued, ours, theirs, is_large=bool(sizes))
                    self.assertTrue(alike, f"seed {seed}, RESP{version}: {said[-12:]}: "
                                           f"{str(ours)[:1000]}, Redis {str(theirs)[:1000]}")
        return len(said)

    def test_random_commands_are_answered_as_by_redis(self):
        with Redis() as redis, Server() as server:
            for version in (2, 3):
                for seed in range(COMMANDS // SEED_COMMANDS):
                    self.compare(seed, version, redis, server)
        print(f"{2 * COMMANDS} commands answered as by Redis")

    def test_random_commands_on_large_values_are_answered_as_by_redis(self):
        compared = seed = 0
        # On a busy machine, a script that combines large values takes longer than usual.
        with Redis() as redis, Server("--script-time", "10s") as server:
            while compared < COMMANDS // 5:
                sizes = random.Random(seed).choices(SIZES, k=len(KEYS))
                compared += self.compare(seed, 2 + seed % 2, redis, server, sizes)
                seed += 1
        print(f"{compared} commands on large values answered as by Redis, from {seed} beginnings")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMMANDS = int(sys.argv.pop())
    unittest.main(verbosity=2)
