"""An endless stream of readers, and a writer among them."""

import asyncio
import itertools
import time
import unittest

import resp
from own_server import Server

READERS_EVERY_S = 0.005
READ_S = 0.050
WRITERS = 20
WRITE_S = 0.005
# How late the test itself may be on a busy machine; who starves waits longer.
SLACK_S = 10


class Connection:
    """Sends requests with integer replies, without blocking other tasks."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, server):
        return cls(*await asyncio.open_connection("127.0.0.1", server.port))

    def send(self, *words):
        self.writer.write(resp.request(*words))

    async def reply(self):
        line = await self.reader.readline()
        assert line.startswith(b":"), line
        return int(line[1:])

    async def ask(self, *words):
        self.send(*words)
        return await self.reply()

    def close(self):
        self.writer.close()


class Reader:
    def __init__(self):
        self.token = None
        self.asked_at = time.monotonic()
        self.released_at = None


class Readers:
    """A new reader arrives every few milliseconds, so that there is always one."""

    def __init__(self, server):
        self.server = server
        self.all = []
        self.tasks = set()

    async def stream(self):
        for number in itertools.count():
            task = asyncio.create_task(self.read(f"reader:{number}"))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            await asyncio.sleep(READERS_EVERY_S)

    async def read(self, name):
        connection = await Connection.to(self.server)
        reader = Reader()
        self.all.append(reader)
        reader.token = await connection.ask("LOCK", "doc", name, "SHARED", "WAIT", "20s")
        await asyncio.sleep(READ_S)
        assert await connection.ask("UNLOCK", "doc", name) == 1
        reader.released_at = time.monotonic()
        connection.close()

    def holding(self):
        return [r for r in self.all if r.token is not None and r.released_at is None]


class Write:
    """One writer's passage through the queue."""

    def __init__(self):
        self.ahead = []       # readers that held the lock when this writer got its place
        self.asked_at = 0.0
        self.placed_at = 0.0
        self.granted_at = 0.0
        self.token = None

    def waited_s(self):
        return self.granted_at - self.asked_at

    def late_s(self):
        """Returns how long after the release by the last of the readers ahead it was granted the
        lock."""
        return self.granted_at - max([r.released_at for r in self.ahead], default=self.asked_at)


async def write(server, watcher, readers, number):
    connection = await Connection.to(server)
    name = f"writer:{number}"
    one = Write()
    one.asked_at = time.monotonic()
    connection.send("LOCK", "doc", name, "WAIT", "20s")
    # The place of the writer is certain once another connection sees it.
    while await watcher.ask("LOCKED", "doc", name) == 0 and \
            name not in await waiting(server):
        pass
    one.placed_at = time.monotonic()
    one.ahead = readers.holding()
    one.token = await connection.reply()
    one.granted_at = time.monotonic()
    await asyncio.sleep(WRITE_S)
    assert await connection.ask("UNLOCK", "doc", name) == 1
    connection.close()
    return one


async def waiting(server):
    """Returns the owners in the queue."""
    with server.connect() as asking:
        places = asking.ask("QUEUE", "doc", "COUNT", 1000)
    return [dict(zip(place[::2], place[1::2]))[b"owner"].decode() for place in places]


async def play(server):
    readers = Readers(server)
    stream = asyncio.create_task(readers.stream())
    watcher = await Connection.to(server)
    writes = []
    for number in range(WRITERS):
        await asyncio.sleep(2 * READ_S)
        writes.append(await write(server, watcher, readers, number))
    stream.cancel()
    await asyncio.gather(*readers.tasks)
    watcher.close()
    return readers.all, writes


class ReadersAndWriters(unittest.TestCase):

    def test_a_writer_waits_for_the_readers_ahead_of_it_and_for_no_others(self):
        with Server() as server:
            readers, writes = asyncio.run(play(server))
        waits_ms = sorted(one.waited_s() * 1000 for one in writes)
        print(f"{len(readers)} readers of {READ_S * 1000:.0f} ms, one every "
              f"{READERS_EVERY_S * 1000:.0f} ms; {len(writes)} writers waited "
              f"{waits_ms[len(waits_ms) // 2]:.1f} ms in the middle, {waits_ms[-1]:.1f} ms at "
              f"most, up to {max(one.late_s() for one in writes) * 1000:.1f} ms after the last "
              f"reader ahead; those had {max(len(one.ahead) for one in writes)} at most")
        for one in writes:
            self.assertTrue(one.ahead, "the stream of readers left a gap")
            # No request that was sent after this writer had its place was granted before it.
            later = [r.token for r in readers if r.asked_at > one.placed_at]
            self.assertTrue(all(token > one.token for token in later))
            self.assertLessEqual(one.late_s(), SLACK_S)
            self.assertLessEqual(one.waited_s(), READ_S + SLACK_S)

    def test_the_readers_alone_never_leave_the_key_free(self):
        with Server() as server:
            self.assertEqual(asyncio.run(self.count_gaps(server)), 0)

    async def count_gaps(self, server):
        """Counts how many times an observer finds no holder."""
        readers = Readers(server)
        stream = asyncio.create_task(readers.stream())
        watcher = await Connection.to(server)
        await asyncio.sleep(4 * READ_S)
        gaps = 0
        for _ in range(100):
            gaps += await watcher.ask("LOCKED", "doc") == 0
            await asyncio.sleep(0.005)
        stream.cancel()
        await asyncio.gather(*readers.tasks)
        watcher.close()
        return gaps


if __name__ == "__main__":
    unittest.main()
