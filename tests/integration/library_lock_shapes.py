"""Locks in the shapes of well-known libraries."""

import json
import time
import unittest

from http_server import HttpServer

UUIDS = ("b983c153-7421-469a-addb-44fb92259a1b", "0c6b1f5e-8f5a-4b0e-9a5d-b1b5a4f2f7d3")
THREADS = [f"{uuid}:{number}" for number, uuid in enumerate(UUIDS, 1)]
TOKENS = ["a" * 43 + "=", "b" * 43 + "="]
LEASE_MS = 30_000
NO_END = 922337203685477  # the end of a permit that has none


def as_map(words):
    return dict(zip(words[::2], words[1::2]))


def permit(number):
    """The bytes of an identifier of Redisson, which shows them in hexadecimal digits."""
    return bytes([number]) * 16


def unix_ms():
    return int(time.time() * 1000)


class LibraryLocks(unittest.TestCase):
    """A test with a server of its own, and a connection that takes locks as the libraries do."""

    def start(self):
        return HttpServer()

    def setUp(self):
        self.server = self.enterContext(self.start())
        self.own = self.enterContext(self.server.connect())

    def make_redisson(self, key, *fields, waiting=()):
        self.own.ask("HSET", key, *fields)
        self.own.ask("PEXPIRE", key, LEASE_MS)
        for thread in waiting:
            self.own.ask("RPUSH", f"redisson_lock_queue:{{{key}}}", thread)
            self.own.ask("ZADD", f"redisson_lock_timeout:{{{key}}}", unix_ms() + LEASE_MS, thread)

    def make_fair_queue(self, key, *ends):
        """Makes the queue of a lock that is free: pairs of a waiter and when it stops waiting."""
        for waiter, end in ends:
            self.own.ask("RPUSH", f"redisson_lock_queue:{{{key}}}", waiter)
            self.own.ask("ZADD", f"redisson_lock_timeout:{{{key}}}", end, waiter)

    def make_permits(self, name, free, *ends):
        """Makes a semaphore with that many free permits, and a permit for each of these ends."""
        self.own.ask("SET", name, free)
        for number, end in enumerate(ends):
            self.own.ask("ZADD", f"{{{name}}}:timeout", end, permit(number))

    def make_readers(self, key, *readers, lease_ms=LEASE_MS):
        """Makes a read-write lock with readers: pairs of a thread and how often it reads."""
        self.own.ask("HSET", key, "mode", "read")
        for reader, count in readers:
            self.own.ask("HSET", key, reader, count)
            for number in range(1, count + 1):
                self.own.ask("SET", f"{{{key}}}:{reader}:rwlock_timeout:{number}", 1, "PX",
                             lease_ms)
        self.own.ask("PEXPIRE", key, lease_ms)

    def make_symfony(self, key, *tokens):
        for token in tokens:
            self.own.ask("ZADD", key, unix_ms() + LEASE_MS, token)
        self.own.ask("PEXPIRE", key, LEASE_MS)

    def make_semaphore(self, key, *holders):
        for holder in holders:
            self.own.ask("ZADD", key, unix_ms(), holder)
        self.own.ask("PEXPIRE", key, LEASE_MS)

    def make_unique_jobs(self, digest, *jobs, waiting=()):
        self.own.ask("SET", digest, jobs[0])
        for job in jobs:
            self.own.ask("HSET", f"{digest}:LOCKED", job, f"{time.time() - 60:.3f}")
        for job in waiting:
            self.own.ask("LPUSH", f"{digest}:QUEUED", job)
        self.own.ask("ZADD", "uniquejobs:digests", time.time(), digest)

    def make_unique_jobs_9(self, digest, *jobs):
        for job in jobs:
            metadata = {"worker": "W", "lock_args": [{"time": 1}], "time": time.time() - 60}
            self.own.ask("HSET", f"{digest}:LOCKED", job, json.dumps(metadata))
        self.own.ask("ZADD", "uniquejobs:digests", time.time(), digest)
        self.own.ask("HINCRBY", "uniquejobs:metrics|261128|4:50", "total|locked", len(jobs))

    def rows(self, *options):
        """Returns the rows of all pages by key."""
        rows, cursor = {}, b"0"
        while True:
            cursor, page = self.own.ask("LOCKS", cursor, *options)
            rows.update({row[0].decode(): row[1:] for row in page})
            if cursor == b"0":
                return rows
