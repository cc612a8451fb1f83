"""Ends a server under a load of small values repeatedly, and compares what it has after each
restart with what its clients were told."""

import collections
import pathlib
import random
import signal
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "integration"), str(TESTS / "histories")]

# pylint: disable=wrong-import-position
import clients
from commands import Commands
from counter import GuardedNumber
from ledger import BOTH, FIRST, Ledger, MOVED, own_list
from owners import Finding, Found, Owner
from records import History, Life, now
import shared_tasks
from value_model import Lock, Token
import wire

OWNERS = 6
HEAVY_DATABASE = 15
HEAVY_KEYS = [f"heavy{number}" for number in range(12)]
SNAPSHOT_POLLS = 1500
END_SECONDS_MAX = 30
STEPS_MIN = 150  # the steps of owners, between two ends
SHARED_TASKS = ((shared_tasks.Producer, 3), (shared_tasks.Consumer, 4), (shared_tasks.Mover, 3),
                (shared_tasks.Counter, 3))
CONTENT = {"hash": ["HGETALL"], "list": ["LRANGE", 0, -1], "zset": ["ZRANGE", 0, -1, "WITHSCORES"],
           "set": ["SMEMBERS"], "string": ["LOCKINFO"]}


class World:
    """What the tasks share."""

    def __init__(self, chance, segment, ports, is_fleet):
        self.history = History()
        self.loop = clients.Loop(self.history)
        self.chance = chance
        self.segment = segment
        self.ports = ports
        self.is_fleet = is_fleet
        self.is_up = False
        self.life = 0
        self.ledger = Ledger()
        self.counter = GuardedNumber()
        self.unix_ahead_ms = (time.time_ns() - now()) // 1_000_000
        self.now = now

    def connect(self):
        return self.loop.connect(("127.0.0.1", self.ports[0]), self.life)


def content_of(kind, reply):
    """Returns the kind and the data of an entry of the model."""
    if kind == "hash":
        return kind, dict(zip(reply[::2], reply[1::2]))
    if kind == "zset":
        return kind, {member: float(score) for member, score in zip(reply[::2], reply[1::2])}
    if kind == "set":
        return kind, frozenset(reply)
    if kind == "list":
        return kind, reply
    fields = dict(zip(reply[::2], reply[1::2]))
    holder = dict(zip(fields["holders"][0][::2], fields["holders"][0][1::2]))
    return "lock", Lock(holder["owner"], None, Token(holder["token"]))


def read_database(link, number):
    """A task's part: returns a dict of the keys of a database to Found."""
    yield link.ask("SELECT", number)
    listed = link.ask("KEYS", "*")
    yield listed
    keys = listed.reply
    types = [link.ask("TYPE", key) for key in keys]
    times = [link.ask("PTTL", key) for key in keys]
    owners = [link.ask("GET", key) for key in keys]
    yield owners[-1] if keys else listed
    contents = [link.ask(CONTENT[each.reply][0], key, *CONTENT[each.reply][1:])
                for key, each in zip(keys, types)]
    yield contents[-1] if keys else listed
    found = {}
    for at, key in enumerate(keys):
        kind, data = content_of(types[at].reply, contents[at].reply)
        if kind == "lock":
            data = Lock(data.owner, owners[at].reply == "", data.token)
        request = times[at].request
        found[key] = Found(kind, data, request.reply, request.sent, request.answered)
    return found


def heavy(world):
    """Changes a value of half a megabyte again and again, so that the log reaches the size at which
    a snapshot begins."""
    while True:
        link = yield from shared_tasks.sessions(world, None)
        yield link.ask("SELECT", HEAVY_DATABASE)
        while link.is_open and world.is_up:
            key = world.chance.choice(HEAVY_KEYS)
            pushed = link.ask("RPUSH", key, *["x" * 1000] * 40)
            yield pushed
            if isinstance(pushed.reply, int) and pushed.reply > 450:
                link.ask("LPOP", key, 40)
            yield 0.008
        yield from shared_tasks.until_the_end(world, link)


class Load:
    """Runs a load on one server, which `place` starts and ends: see OneServer and fleet.py."""

    def __init__(self, place, seed, with_snapshots=False):
        self.place = place
        self.chance = random.Random(seed)
        self.with_snapshots = with_snapshots
        self.segments = 0
        self.lives = 0
        self.findings = []
        self.counts = collections.Counter()

    def run_segment(self, ends, seconds, spoil=None):
        """`spoil` damages the data before it is judged, to show that this is found."""
        self.segments += 1
        world = World(random.Random(self.chance.random()), f"s{self.segments}",
                      self.place.ports(), self.place.is_fleet)
        owners = [Owner(number, Commands(world.chance, f"s{self.segments}o{number}"))
                  for number in range(1, OWNERS + 1)]
        tasks = [owner.run(world) for owner in owners]
        for kind, count in SHARED_TASKS:
            tasks += [kind(world, number).run() for number in range(1, count + 1)]
        if self.with_snapshots:
            tasks.append(heavy(world))
        for task in tasks:
            world.loop.start(task)
        spawned = ready = now()
        world.is_up = True
        for how in ends:
            answered = sum(owner.answered for owner in owners)
            world.loop.run(self.chance.uniform(0.5, 1.5) * seconds)
            world.loop.run(END_SECONDS_MAX, lambda least=answered + STEPS_MIN: (
                sum(owner.answered for owner in owners) >= least))
            life = Life(self.lives, spawned, ready, how)
            self._end(world, life, owners)
            spawned = now()
            self.place.start(how)
            world.ports = self.place.ports()
            life.ready = ready = now()
            if self.place.is_fleet:
                life.how = "next leader"  # promises what it does after a crash, however it began
            if spoil is not None:
                spoil(world, owners)
            self._judge(world, owners, life)
        world.loop.close()
        self._clear()
        self.counts["commands of owners"] += sum(owner.answered for owner in owners)
        self.counts["owners' steps executed without an answer"] += sum(
            owner.executed_unanswered for owner in owners)
        self.counts.update(world.ledger.counts)
        self.counts["increments"] += len(world.counter.written)

    def _end(self, world, life, owners):
        self.lives += 1
        self.counts[life.how] += 1
        if life.how == "snapshot":
            self._await_snapshot(world)
        life.ending = now()
        process = self.place.end(life.how)
        world.loop.run(END_SECONDS_MAX, lambda: process.poll() is not None)
        life.ended, life.status = now(), process.poll()
        world.is_up = False
        if life.is_clean and life.status != 0:
            self.findings.append(Finding("failed stop", life.how, str(life.status)))
        # Reads everything that the kernel accepted before the end.
        world.loop.run(END_SECONDS_MAX, lambda: not world.loop.has_links())
        for owner in owners:
            owner.take_replies(world)
        self.counts["requests"] += len(world.history.requests)
        self.counts["unanswered"] += sum(not each.is_answered for each in world.history.requests)
        world.history.requests.clear()
        world.history.closes.clear()

    def _await_snapshot(self, world):
        with self.place.connect() as client:
            for _ in range(SNAPSHOT_POLLS):
                if b"bgsave_in_progress:1" in client.ask("INFO", "persistence"):
                    self.counts["during a snapshot"] += 1
                    return
                world.loop.run(0.0005)

    def _judge(self, world, owners, life):
        is_over = []

        def task():
            link = world.connect()
            for owner in owners:
                found = yield from read_database(link, owner.number)
                owner.judge(found, life)
            yield link.ask("SELECT", 0)
            names = [FIRST, *BOTH, MOVED, *[own_list(each) for each in range(1, 10)]]
            asked = [link.ask("LRANGE", name, 0, -1) for name in names]
            counter = link.ask("HGET", "counter", "number")
            yield counter
            world.ledger.judge({name: each.reply for name, each in zip(names, asked)}, life)
            world.counter.judge(int(counter.reply or 0), life)
            link.close()
            is_over.append(True)

        world.loop.start(task())
        world.loop.run(END_SECONDS_MAX, lambda: is_over)
        if not is_over:
            raise AssertionError("the server does not answer after its restart")
        for each in [*owners, world.ledger, world.counter]:
            self.findings += each.findings
            each.findings.clear()
        world.history.requests.clear()
        world.is_up = True

    def _clear(self):
        with self.place.connect() as client:
            client.ask("FLUSHALL")
            for number in range(OWNERS + 1):
                client.ask("SELECT", number)
                for key in client.ask("KEYS", "*"):
                    client.ask("BREAK", key)


class OneServer:
    """A KeptServer, ended by SIGTERM, SHUTDOWN, SIGKILL, or "power", which loses unsynced data."""

    is_fleet = False

    def __init__(self, server, disk=None, chance=None):
        self.server = server
        self.disk = disk
        self.chance = chance

    def ports(self):
        return [self.server.port]

    def connect(self):
        return self.server.connect()

    def end(self, how):
        process = self.server.process
        if how == "SHUTDOWN":
            with self.connect() as client:
                client.send(wire.encode(["SHUTDOWN"]))
        else:
            process.send_signal(signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
        return process

    def start(self, how):
        if how == "power":
            self.disk.lose_power(self.chance)
        self.server.start_again()
