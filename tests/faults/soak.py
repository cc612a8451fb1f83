"""Mixed load for any length of time, with clients that die at random, and a check for leaks.

    FAIRLOCKD=build/release/bin/fairlockd /usr/bin/python3 tests/faults/soak.py \
        [--minutes N] [--clients N]

All kinds of locks are taken, waited for, renewed and released; some clients vanish in between. The
server's events are checked against the rules (lock_record.py); memory and descriptors are sampled
every 10 s. After the first 10 minutes memory must stay within 2 %.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import statistics
import sys
import time

import measured  # noqa: F401 (finds the modules of tests/integration)
import own_server
from lock_record import LockRecord
from resp import request
from socket_server import SocketServer

WARM_UP_SECONDS = 600
GROWTH_MAX = 1.02
# The limit on the growth of memory in a run that is too short for the limit of 2 %.
SHORT_GROWTH_BYTES_MAX = 64 << 20
# The memory for history and labels is bounded, but becomes resident only as it fills: with these
# options it is full within the warm-up, with the defaults only after a day.
OPTIONS = ("--reconnect-grace", "500ms", "--history-memory", "4mb", "--stats-labels", "4",
           "--max-keep", "2s")


class Gone(Exception):
    """The connection was closed, by either side."""


class Client:
    """One connection; the name of its owner is never reused."""

    numbers = itertools.count()

    def __init__(self, soak, kind):
        self.soak = soak
        self.owner = f"{kind}-{next(self.numbers)}"
        self.reader = self.writer = None

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.soak.port)
        return self

    async def __aexit__(self, *failure):
        self.soak.dead.add(self.owner)
        self.writer.close()

    def die(self):
        """Disconnects without notice, sometimes after half a request."""
        self.soak.dead.add(self.owner)
        self.soak.deaths += 1
        if random.random() < 0.3:
            self.writer.write(b"*3\r\n$4\r\nLOCK\r\n$5")
        self.writer.transport.abort()
        raise Gone

    async def ask(self, *words):
        if random.random() < self.soak.death_rate:
            if random.random() < 0.5:
                self.writer.write(request(*words))
                await asyncio.sleep(random.random() * 0.02)
            self.die()
        self.writer.write(request(*words))
        self.soak.asked += 1
        return await self.reply()

    async def reply(self):
        line = await self.reader.readline()
        if not line:
            raise Gone
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else (await self.reader.readexactly(size + 2))[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [await self.reply() for _ in range(int(rest))]
        return line[:-2].decode()

    async def work(self):
        await asyncio.sleep(random.expovariate(1 / 0.004))


async def hold_one(client):
    key = f"one:{random.randrange(40)}"
    token = await client.ask("LOCK", key, client.owner, "PX", 3000, "WAIT", "500ms")
    if token:
        await client.work()
        if random.random() < 0.2:
            await client.ask("RENEW", key, client.owner, "PX", 2000)
        await client.ask("UNLOCK", key, client.owner)


async def hold_with_place(client):
    key = f"kept:{random.randrange(5)}"
    await client.ask("LOCK", key, client.owner, "PX", 500, "WAIT", "50ms", "KEEP", "1s",
                     "LABEL", f"label-{random.randrange(200)}")
    await client.ask("CANCEL", key, client.owner)
    await client.ask("UNLOCK", key, client.owner)


async def read_or_write(client):
    key = f"doc:{random.randrange(5)}"
    shared = ("SHARED",) if client.owner.startswith("reader") else ()
    if await client.ask("LOCK", key, client.owner, "PX", 2000, "WAIT", "1s", *shared):
        await client.work()
        await client.ask("UNLOCK", key, client.owner)


async def enter_room(client):
    key = f"two:{random.randrange(5)}"
    if await client.ask("LOCK", key, client.owner, "LIMIT", 2, "PX", 1500, "WAIT", "1s"):
        await client.work()
        await client.ask("UNLOCK", key, client.owner)


async def hold_many(client):
    keys = [f"one:{number}" for number in random.sample(range(40), 3)]
    if await client.ask("MLOCK", 3, *keys, client.owner, "PX", 2000, "WAIT", "300ms"):
        await client.work()
        await client.ask("MUNLOCK", 3, *keys, client.owner)


async def hold_by_connection(client):
    key = f"one:session:{random.randrange(10)}"
    if await client.ask("LOCK", key, client.owner, "SESSION", "WAIT", "300ms"):
        await client.work()
        if random.random() < 0.5:
            await client.ask("UNLOCK", key, client.owner)


async def the_redis_way(client):
    key = f"one:redis:{random.randrange(1000)}"
    if await client.ask("SET", key, client.owner, "NX", "PX", 1000) == "+OK":
        await client.ask("EVAL", "return redis.call('GET',KEYS[1])==ARGV[1]"
                         " and redis.call('DEL',KEYS[1]) or 0", 1, key, client.owner)


async def look_around(client):
    await client.ask("LOCKS", 0, "COUNT", 100)
    await client.ask("HISTORY", "*", "COUNT", 50)
    await client.ask("STATS")
    await client.ask("SUBSCRIBE", f"news:{client.owner}")
    client.writer.write(request("UNSUBSCRIBE"))
    await client.reply()


KINDS = {"one": hold_one, "kept": hold_with_place, "reader": read_or_write,
         "writer": read_or_write, "room": enter_room, "many": hold_many,
         "session": hold_by_connection, "redis": the_redis_way, "look": look_around}


class Soak:
    def __init__(self, server, clients, seconds, death_rate=0.02):
        self.server = server
        self.port = server.port
        self.clients = clients
        self.death_rate = death_rate
        self.until = time.monotonic() + seconds
        self.dead = set()
        self.deaths = self.asked = 0
        self.record = LockRecord(self.dead.__contains__)
        self.samples = []  # seconds, resident bytes, descriptors, allocated bytes

    async def run(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port,
                                                       limit=1 << 24)
        writer.write(request("PSUBSCRIBE", "__lock@0__:*"))
        checker = asyncio.create_task(self._check(reader))
        sampler = asyncio.create_task(self._sample())
        workers = [asyncio.create_task(self._work()) for _ in range(self.clients)]
        work = asyncio.gather(*workers, sampler)
        done, _ = await asyncio.wait([checker, work], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        # The last clients' leases and places end soon.
        await asyncio.sleep(4)
        checker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await checker
        writer.close()

    async def _work(self):
        while time.monotonic() < self.until:
            kind = random.choice(list(KINDS))
            with contextlib.suppress(Gone, ConnectionError, asyncio.IncompleteReadError):
                async with Client(self, kind) as client:
                    for _ in range(random.randrange(1, 30)):
                        if time.monotonic() < self.until:
                            await KINDS[kind](client)

    async def _check(self, reader):
        while True:
            line = await reader.readline()
            if not line:
                raise AssertionError("the server closed the connection that listens")
            if line.startswith(b"{"):
                self.record.take(line)

    async def _sample(self):
        begin = time.monotonic()
        while time.monotonic() < self.until:
            self.samples.append((time.monotonic() - begin, self.server.resident_bytes(),
                                 self.server.descriptors(), await self._allocated_bytes()))
            await asyncio.sleep(min(10, max(1, (self.until - begin) / 20)))

    async def _allocated_bytes(self):
        async with Client(self, "looks") as client:
            client.writer.write(request("INFO", "memory"))
            for line in (await client.reply()).decode().splitlines():
                name, _, value = line.partition(":")
                if name == "used_memory":
                    return int(value)
        raise AssertionError("INFO has no used_memory")

    def report(self):
        """Returns the verdict as text, and whether it is good."""
        lines = [f"{at:7.0f} s  RSS {resident / 2**20:7.2f} MB  of that allocated"
                 f" {allocated / 2**20:7.2f} MB  descriptors {descriptors}"
                 for at, resident, descriptors, allocated in self.samples]
        lines.append(f"{self.asked} requests, {self.deaths} deaths, events: "
                     f"{dict(sorted(self.record.counts.items()))}")
        left = {name: key.holders for name, key in self.record.keys.items() if key.holders}
        growth, is_flat = self._growth()
        lines.append(f"memory: {growth}; {'flat' if is_flat else 'NOT FLAT'}")
        is_flat = is_flat or not own_server.IS_MEASURED  # a sanitizer retains freed memory
        lines.append(f"held at the end, says the record: {left or 'nothing'}")
        return "\n".join(lines), is_flat and not left

    def _growth(self):
        late = [resident for at, resident, *_ in self.samples if at >= WARM_UP_SECONDS]
        if len(late) >= 20:
            tenth = len(late) // 10
            growth = statistics.median(late[-tenth:]) / statistics.median(late[:tenth])
            return f"{growth:.4f} of what it was after 10 minutes", growth <= GROWTH_MAX
        grown = self.samples[-1][1] - self.samples[len(self.samples) // 2][1]
        return f"{grown} bytes more in the second half", grown < SHORT_GROWTH_BYTES_MAX


def soak(minutes, clients):
    """Returns the verdict as text, and whether it is good."""
    with SocketServer(*OPTIONS) as server:
        descriptors = server.descriptors()
        run = Soak(server, clients, minutes * 60)
        asyncio.run(run.run())
        text, is_good = run.report()
        with server.connect_unix() as client:
            client.settle()
        left = server.descriptors() - descriptors
        code = server.stop()
        return f"{text}\ndescriptors left: {left}; exit status {code}", (
            is_good and left <= 1 and code == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=60)
    arguments = parser.parse_args()
    text, is_good = soak(arguments.minutes, arguments.clients)
    print(text)
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
