"""Clients of a campaign that use more than LOCK: SESSION, MLOCK, TRANSFER, queues in which nobody
asks again, and values."""

import random
import time

import sessions
from sessions import LOST

LEASE_MS = 20_000
WAIT_S = 5
TURNS = 4
TURN_WAIT_S = 30
TURN_SECONDS_MAX = 5
VALUE_PAUSE_S = 0.1


class SpecialTasks:
    """A part of workload.Workload."""

    def special_tasks(self, parts):
        """Returns each task, and how many clients do it."""
        return ((self.hold_session, 2 * parts), (self.lock_several, 2 * parts),
                (self.transfer, parts), (self.take_turns, parts), (self.set_values, 2 * parts),
                (self.count, 2 * parts))

    def _key(self, number, name):
        return f"{self.segment}.{number.lstrip('0123456789')}{name}"

    def hold_session(self, number, chance):
        """Holds a lock that ends with its connection, while another connection looks at it."""
        session, other = self.session(), self.session()
        key, count = self._key(number, "session"), 0
        while not self.is_over.is_set():
            count += 1
            owner = f"{self.segment}.e{number}.{count}"
            words = ["LOCK", key, owner, "PX", LEASE_MS, "WAIT", f"{WAIT_S}s", "SESSION"]
            token = self.obtain(session, words, WAIT_S + sessions.PATIENCE_S)
            if token is None:
                continue
            for _ in range(chance.choice((1, 3, 10))):
                time.sleep(chance.uniform(0, 0.3))
                asks = chance.choice((session, other))
                asks.ask(*chance.choice((["CHECK", key, token], ["LOCKED", key, owner])))
            if chance.random() < 0.5:
                session.ask("CHECK", key, token)
                session.close()
            else:
                session.surely("UNLOCK", key, owner, "TOKEN", token)

    def lock_several(self, number, chance):
        """Takes two locks at once, which others take one by one, and releases them together."""
        session = self.session()
        keys, count = self.keys(number)[:2], 0
        while not self.is_over.is_set():
            count += 1
            owner = f"{self.segment}.m{number}.{count}"
            named = [len(keys), *chance.sample(keys, len(keys)), owner]
            token = self.obtain(session,
                                ["MLOCK", *named, "PX", LEASE_MS, "WAIT", f"{WAIT_S}s"],
                                WAIT_S + sessions.PATIENCE_S, ["MUNLOCK", *named])
            if token is None:
                continue
            checks = ["STEP", "EXEC", *(["CHECK", key, token] for key in keys)]
            for _ in range(chance.choice((0, 1, 3))):
                time.sleep(chance.uniform(0, 0.2))
                session.ask(*chance.choice((
                    checks, ["MRENEW", *named, "PX", LEASE_MS, "TOKEN", token],
                    ["CHECK", keys[0], token])))
            session.surely("MUNLOCK", *named, "TOKEN", token)
            session.ask(*checks)

    def transfer(self, number, chance):
        """Takes a lock, and hands it to other owners."""
        session = self.session()
        key, count = self.keys(number)[1], 0
        while not self.is_over.is_set():
            count += 1
            owner = f"{self.segment}.t{number}.{count}"
            token = self.obtain(session, ["LOCK", key, owner, "PX", LEASE_MS, "WAIT", f"{WAIT_S}s"],
                                WAIT_S + sessions.PATIENCE_S)
            for i in range(chance.choice((1, 1, 3))):
                if not isinstance(token, int):
                    break
                time.sleep(chance.uniform(0, 0.2))
                successor = f"{owner}.{i}"
                newer = session.ask("TRANSFER", key, owner, successor, "PX", LEASE_MS, "TOKEN",
                                    token)
                session.ask(*chance.choice((["CHECK", key, token], ["LOCKED", key, successor])))
                if newer is LOST:
                    session.surely("UNLOCK", key, successor)
                    break
                owner, token = successor, newer
            session.surely("UNLOCK", key, owner)

    def take_turns(self, number, chance):
        """Lets waiters join a queue one after the other; those that lose their connection leave."""
        session = self.session()
        key, count = self._key(number, "turns"), 0
        while not self.is_over.is_set():
            count += 1
            owner = f"{self.segment}.f{number}.{count}"
            if self.obtain(session, ["LOCK", key, owner, "PX", LEASE_MS], sessions.PATIENCE_S):
                waiters = []
                for i in range(TURNS):
                    name = f"{owner}.{i}"
                    waiters.append(self.start(self.wait_turn, key, name,
                                              random.Random(chance.random())))
                    self.await_turn(session, key, name)
                time.sleep(chance.uniform(0, 1))
                session.surely("UNLOCK", key, owner)
                for waiter in waiters:
                    waiter.join()
            else:
                time.sleep(0.2)

    @staticmethod
    def await_turn(session, key, owner):
        end = time.monotonic() + TURN_SECONDS_MAX
        while time.monotonic() < end and not session.ask("POSITION", key, owner):
            time.sleep(0.03)

    def wait_turn(self, key, owner, chance):
        session = self.session()
        session.ask("LOCK", key, owner, "PX", LEASE_MS, "WAIT", f"{TURN_WAIT_S}s",
                    seconds=TURN_WAIT_S + sessions.PATIENCE_S)
        time.sleep(chance.uniform(0, 0.03))
        session.surely("UNLOCK", key, owner)
        session.close()

    def set_values(self, number, chance):
        """Writes values that occur once, and reads those of others."""
        session = self.session()
        string, table = self._key(number, "string"), self._key(number, "table")
        count = 0
        while not self.is_over.is_set():
            count += 1
            value = f"{self.segment}.v{number}.{count}"
            session.ask(*chance.choice((["SET", string, value], ["GET", string],
                                        ["HSET", table, "field", value], ["HGET", table, "field"])))
            time.sleep(chance.uniform(0, 2 * VALUE_PAUSE_S))

    def count(self, number, chance):
        session = self.session()
        string, table = self._key(number, "number"), self._key(number, "numbers")
        while not self.is_over.is_set():
            session.ask(*chance.choice((["INCR", string], ["GET", string],
                                        ["HINCRBY", table, "field", 1], ["HGET", table, "field"])))
            time.sleep(chance.uniform(0, 2 * VALUE_PAUSE_S))
