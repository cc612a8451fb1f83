"""Random commands on small values: redis-server and fairlockd give the same replies.

    value_answers_test.py [COMMANDS]    how many commands in each protocol version
"""

import sys
import unittest

from own_redis import REDIS, Redis
from own_server import Server
import resp
from value_commands import TIMES, UNORDERED, Requests

COMMANDS = 10_000
SEED_COMMANDS = 1_000
BATCH = 50

CALL = "return redis.call(unpack(ARGV))"
PCALL = "return redis.pcall(unpack(ARGV))"


def ordered(reply):
    """Sorts a list and, of a page of a scan, its elements."""
    if isinstance(reply, list) and reply and isinstance(reply[-1], list):
        return [*reply[:-1], ordered(reply[-1])]
    return type(reply)(sorted(reply, key=repr)) if isinstance(reply, list) else reply


def is_alike(request, ours, theirs):
    if request[0] == "EVAL":
        request = request[3:]
    if request[0] in UNORDERED:
        return ordered(ours) == ordered(theirs) and type(ours) is type(theirs)
    leeway = TIMES.get(request[0], 0)
    if leeway and isinstance(ours, int) and isinstance(theirs, int) and theirs > 0:
        return abs(ours - theirs) <= leeway
    return ours == theirs and type(ours) is type(theirs)


class Batches:
    """Random requests, some of them in transactions and scripts."""

    def __init__(self, seed):
        self.requests = Requests(seed)
        self.queued = None  # the requests since MULTI

    def batch(self):
        return [self._next() for _ in range(BATCH)]

    def _next(self):
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


def is_alike_in_place(request, queued, ours, theirs):
    """`queued`: for EXEC, the requests of the transaction."""
    if request != ["EXEC"] or not isinstance(ours, list) or not isinstance(theirs, list):
        return is_alike(request, ours, theirs)
    # Redis refuses some requests when they are queued, but then EXEC fails as a whole.
    return len(ours) == len(theirs) == len(queued) and all(
        is_alike(*each) for each in zip(queued, ours, theirs, strict=True))


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class SameAnswers(unittest.TestCase):

    def compare(self, seed, version, redis, server):
        batches = Batches(seed)
        said = []
        with redis.connect() as their, server.connect() as our:
            for connection in (their, our):
                connection.ask("HELLO", version)
                connection.ask("FLUSHALL")
            for _ in range(SEED_COMMANDS // BATCH):
                batch = batches.batch()
                for connection in (their, our):
                    connection.send(b"".join(resp.request(*request) for request, _ in batch))
                for request, queued in batch:
                    theirs, ours = their.reply(), our.reply()
                    said.append(request)
                    self.assertTrue(is_alike_in_place(request, queued, ours, theirs),
                                    f"seed {seed}, RESP{version}: {said[-12:]}: {ours!r}, "
                                    f"Redis {theirs!r}")

    def test_random_commands_are_answered_as_by_redis(self):
        with Redis() as redis, Server() as server:
            for version in (2, 3):
                for seed in range(COMMANDS // SEED_COMMANDS):
                    self.compare(seed, version, redis, server)
        print(f"{2 * COMMANDS} commands answered as by Redis")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMMANDS = int(sys.argv.pop())
    unittest.main(verbosity=2)
