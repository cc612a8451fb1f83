"""The clients of a campaign: each is a thread, and records what it asked and was told.

An owner is used for one hold only, so that the history tells the holds apart.
"""

import random
import string
import threading
import time

from records import History
import sessions
from sessions import LOST, Over
from special_tasks import SpecialTasks

LEASES_MS = (2_000, 5_000, 20_000)
LONG_LEASE_MS = 20_000
WAIT_S = 5
LINE_WAIT_S = 60
LINE_PATIENCE_S = (3, 12)
LINE_LENGTH = 3
LINE_SECONDS_MAX = 8
CONTENDERS = 6
HOLDERS = 2
LINES = 2
LOOK_PAUSE_S = 0.15


class Workload(SpecialTasks):
    """Runs until `finish`. A segment has its own keys, and its own history. Each task uses the keys
    of one partition, whose names contain one of the `tags`."""

    def __init__(self, ports, seed, segment, tags=("",)):
        self.ports = ports
        self.tags = tags
        self.chance = random.Random(f"{seed}.{segment}")
        self.segment = f"s{segment}"
        self.history = History()
        self.is_over = threading.Event()       # when set, begin nothing new
        self.is_abandoned = threading.Event()  # when set, end at once
        self.failures = []
        self.threads = []
        parts = len(tags)
        for task, count in ((self.contend, max(CONTENDERS, 2 * parts)),
                            (self.hold, max(HOLDERS, parts)), (self.line, max(LINES, parts)),
                            (self.look, parts), *self.special_tasks(parts)):
            for number in range(count):
                self.start(task, f"{number}{tags[number % parts]}",
                           random.Random(self.chance.random()))

    def start(self, task, *arguments):
        thread = threading.Thread(target=self._run, args=(task, *arguments), daemon=True)
        self.threads.append(thread)
        thread.start()
        return thread

    def _run(self, task, *arguments):
        try:
            task(*arguments)
        except Over:
            pass
        except Exception as failure:  # pylint: disable=broad-exception-caught
            self.failures.append(f"{task.__name__}: {failure!r}")

    def finish(self, seconds):
        """Lets every client finish what it has started; returns the history."""
        self.is_over.set()
        end = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))
        if any(thread.is_alive() for thread in self.threads):
            self.failures.append(f"clients did not come to an end in {seconds} s")
        self.is_abandoned.set()
        return self.history

    def session(self):
        return sessions.Session(self.ports, self.history, self.is_abandoned)

    def keys(self, number):
        tag = number.lstrip(string.digits)
        return [f"{self.segment}.{name}" for name in (f"{tag}one", f"{tag}two", f"{tag}mixed")]

    def obtain(self, session, words, seconds, release=None):
        """Asks until the outcome is known; returns the token or None."""
        while True:
            reply = session.ask(*words, seconds=seconds)
            if isinstance(reply, int):
                return reply
            if reply is LOST and not self.is_over.is_set():
                continue
            if reply is LOST:
                session.surely(*(release or ("UNLOCK", words[1], words[2])))
            return None

    def contend(self, number, chance):
        """Takes a lock that others want too, uses it, and releases it or lets its lease end."""
        session = self.session()
        count = 0
        while not self.is_over.is_set():
            count += 1
            key, owner = chance.choice(self.keys(number)), f"{self.segment}.c{number}.{count}"
            lease_ms = chance.choice(LEASES_MS)
            words = ["LOCK", key, owner, "PX", lease_ms, "WAIT", f"{WAIT_S}s"]
            if key.endswith("mixed") and chance.random() < 0.6:
                words.append("SHARED")
            token = self.obtain(session, words, WAIT_S + sessions.PATIENCE_S)
            if token is None:
                continue
            for _ in range(chance.choice((0, 1, 1, 2, 4))):
                time.sleep(chance.uniform(0, 0.2))
                session.ask(*chance.choice(self.uses(words, token)))
            if lease_ms == LEASES_MS[0] and chance.random() < 0.3:
                time.sleep(lease_ms / 1000)
                session.ask("CHECK", key, token)
            else:
                self.release(session, chance, key, owner, token)

    @staticmethod
    def uses(words, token):
        _, key, owner, _, lease_ms, *_ = words
        return (["CHECK", key, token], ["LOCKED", key, owner], ["POSITION", key, owner], words,
                ["RENEW", key, owner, "PX", lease_ms, "TOKEN", token], ["LOCKED", key])

    @staticmethod
    def release(session, chance, key, owner, token):
        session.surely("UNLOCK", key, owner, "TOKEN", token)
        if chance.random() < 0.4:
            session.ask("CHECK", key, token)
        if chance.random() < 0.2:
            session.ask("LOCKED", key, owner)

    def hold(self, number, chance):
        """Holds a lock that nobody else wants for a long time, through the faults."""
        session = self.session()
        count = 0
        while not self.is_over.is_set():
            count += 1
            key = f"{self.segment}.own{number}.{count % 3}"
            owner = f"{self.segment}.h{number}.{count}"
            words = ["LOCK", key, owner, "PX", LONG_LEASE_MS]
            token = self.obtain(session, words, sessions.PATIENCE_S)
            if token is None:
                time.sleep(0.2)
                continue
            for _ in range(chance.choice((5, 40, 100))):
                if self.is_over.is_set():
                    break
                time.sleep(chance.uniform(0.1, 0.8))
                session.ask(*chance.choice(self.uses(words, token)))
            self.release(session, chance, key, owner, token)

    def line(self, number, chance):
        """Lets waiters join a queue one after the other, each only once the previous one is shown
        there; later, they are granted the lock."""
        session = self.session()
        count = 0
        while not self.is_over.is_set():
            count += 1
            key = f"{self.segment}.line{number}.{count}"
            holder = f"{key}.holder"
            words = ["LOCK", key, holder, "PX", LONG_LEASE_MS]
            token = self.obtain(session, words, sessions.PATIENCE_S)
            if token is None:
                continue
            waiters = []
            for i in range(LINE_LENGTH):
                owner = f"{key}.w{i}"
                waiters.append(self.start(self.wait_in_line, key, owner,
                                          random.Random(chance.random())))
                self.await_queue(session, key, i + 1)
            end = time.monotonic() + chance.uniform(0, LINE_SECONDS_MAX)
            while time.monotonic() < end and not self.is_over.is_set():
                time.sleep(chance.uniform(0.2, 0.6))
                session.ask(*chance.choice((words, ["QUEUE", key])))
            self.await_queue(session, key, LINE_LENGTH)
            session.surely("UNLOCK", key, holder, "TOKEN", token)
            for waiter in waiters:
                waiter.join()

    def await_queue(self, session, key, count):
        """Looks until that many wait, but only for a while, because leases and places may have
        ended."""
        end = time.monotonic() + LINE_SECONDS_MAX
        while time.monotonic() < end:
            reply = session.ask("QUEUE", key)
            if isinstance(reply, list) and count <= sum("waiting" in place for place in reply):
                return
            time.sleep(0.05)

    def wait_in_line(self, key, owner, chance):
        """Asks again, with the same owner, after losing the connection or running out of
        patience."""
        session = self.session()
        words = ["LOCK", key, owner, "PX", LONG_LEASE_MS, "WAIT", f"{LINE_WAIT_S}s"]
        token = None
        while token is None:
            reply = session.ask(*words, seconds=chance.uniform(*LINE_PATIENCE_S))
            if isinstance(reply, int):
                token = reply
            elif reply is not LOST:
                return
        time.sleep(chance.uniform(0, 0.05))
        session.surely("UNLOCK", key, owner, "TOKEN", token)
        session.close()

    def look(self, number, chance):
        """A client that only reads."""
        session = self.session()
        while not self.is_over.is_set():
            key = chance.choice(self.keys(number))
            session.ask(*chance.choice((["QUEUE", key], ["LOCKED", key])))
            time.sleep(LOOK_PAUSE_S)
