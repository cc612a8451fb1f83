"""During a clean stop, clients are told of no lock that is missing after the restart.

Each shape is a queue in which the end of one waiter would admit the next. Every waiter is connected
when the server stops, so each must be closed without a reply.
"""

import itertools
import unittest

from kept_server import KeptServer
from own_server import IS_MEASURED
from resp import Ended, ErrorReply, request

LEASE = ("PX", 600_000)
WAIT = ("WAIT", "60s")
STOPS = ("SIGTERM", "SHUTDOWN", "SHUTDOWN NOW") if IS_MEASURED else ("SIGTERM",)


class Shape:
    """The holders, and the waiters in order: lists of requests, one connection each. The keys a, b
    and c are renamed for each stop."""

    def __init__(self, holders, waiters):
        self.holders = holders
        self.waiters = waiters

    def with_keys(self, number):
        def named(words):
            return tuple(f"{word}{number}" if word in ("a", "b", "c") else word
                         for word in words)
        return Shape([named(one) for one in self.holders], [named(one) for one in self.waiters])


def lock(key, owner, *options):
    return ("LOCK", key, owner, *LEASE, *options)


def readers_after_a_writer():
    return Shape([lock("a", "h", "SHARED")],
                 [lock("a", "w", *WAIT),
                  *(lock("a", f"r{i}", "SHARED", *WAIT) for i in range(4))])


def wide_limits_after_a_narrow_one():
    return Shape([lock("a", "h", "LIMIT", 3)],
                 [lock("a", "narrow", "LIMIT", 1, *WAIT),
                  *(lock("a", f"wide{i}", "LIMIT", 3, *WAIT) for i in range(2))])


def multi_locks_after_a_multi_lock():
    return Shape([lock("a", "h")],
                 [("MLOCK", 2, "a", "b", "m1", *LEASE, *WAIT),
                  ("MLOCK", 2, "b", "c", "m2", *LEASE, *WAIT)])


def locks_after_a_multi_lock():
    return Shape([lock("a", "h")],
                 [("MLOCK", 2, "a", "b", "m1", *LEASE, *WAIT), lock("b", "w", *WAIT)])


def a_session_that_waits():
    """The owner that holds b with SESSION waits for a; if its session ended, b would be passed
    on."""
    return Shape([lock("a", "h"), lock("b", "s", "SESSION")],
                 [lock("a", "s", *WAIT), lock("b", "w", *WAIT)])


def watchers_of_a_session():
    return Shape([lock("b", "s", "SESSION")],
                 [("WAIT", "b", "TIMEOUT", "60s"), lock("b", "w", *WAIT)])


def values_and_kept_places():
    return Shape([("SET", "a", "h", "NX", "PX", 600_000)],
                 [lock("a", "k1", "SHARED", "KEEP", "60s", *WAIT), lock("a", "k2", *WAIT),
                  lock("a", "k3", "SHARED", "KEEP", "60s", *WAIT)])


SHAPES = (readers_after_a_writer, wide_limits_after_a_narrow_one, multi_locks_after_a_multi_lock,
          locks_after_a_multi_lock, a_session_that_waits, watchers_of_a_session,
          values_and_kept_places)


class CleanStop(unittest.TestCase):

    def start(self, durability):
        return self.enterContext(KeptServer("--durability", durability, "--log-level", "error"))

    def connect(self, server):
        return self.enterContext(server.connect())

    def stop(self, server, by):
        if by == "SIGTERM":
            self.assertEqual(server.stop(), 0, server.output())
            return
        with server.connect() as operator:
            operator.send(request(*by.split()))
            self.assertEqual(server.process.wait(20), 0, server.output())

    def set_up(self, server, shape):
        """Returns the connections of the holders, and those of the waiters, whose requests wait."""
        holders = []
        for words in shape.holders:
            holders.append(self.connect(server))
            self.assertNotIsInstance(holders[-1].ask(*words), ErrorReply, words)
        waiters = []
        for words in shape.waiters:
            waiters.append(self.connect(server))
            # The owner of a session must ask on the connection that its session is bound to.
            if "SESSION" in str(shape.holders) and words[2] == "s":
                waiters[-1] = holders[-1]
            waiters[-1].send(request(*words))
            with server.connect() as other:
                other.settle()
        return holders, waiters

    def check_told(self, connection, what):
        """Checks that no reply arrived before the connection was closed."""
        self.assertEqual(connection.rest(), b"", what)

    def test_waiters_are_told_nothing_in_any_shape_mode_or_way(self):
        for durability in ("async", "sync", "none"):
            server = self.start(durability)
            for number, (shape, by) in enumerate(itertools.product(SHAPES, STOPS)):
                what = f"{shape.__name__}, {durability}, {by}"
                holders, waiters = self.set_up(server, shape().with_keys(number))
                self.stop(server, by)
                for connection in {*holders, *waiters}:
                    self.check_told(connection, what)
                server.start_again()

    def test_no_message_tells_of_a_grant_or_of_a_lost_session(self):
        """Connections are closed in the order in which they were opened; the listener was opened
        last."""
        for durability in ("async", "sync"):
            server = self.start(durability)
            narrow, holder, asker, inbox, events = (self.connect(server) for _ in range(5))
            narrow.ask("SUBSCRIBE", "narrow")
            inbox.ask("SUBSCRIBE", "inbox")
            holder.ask(*lock("a", "h", "SHARED"))
            holder.ask(*lock("b", "s", "SESSION"))
            # The subscriber of the writer's channel is closed first, which would give the readers
            # their turn.
            asker.ask(*lock("a", "w", "NOTIFY", "narrow"))
            for i in range(3):
                asker.ask(*lock("a", f"r{i}", "SHARED", "NOTIFY", "inbox"))
            asker.ask(*lock("b", "w", "NOTIFY", "inbox"))
            events.ask("PSUBSCRIBE", "__lock@*")
            self.stop(server, "SIGTERM")
            for listener in (narrow, inbox, events):
                self.check_told(listener, durability)

    def test_what_was_told_before_the_stop_is_there_after_it(self):
        """Grants whose replies would be sent in the loop turn in which the server stops."""
        for durability in ("async", "sync"):
            with self.subTest(durability=durability):
                server = self.start(durability)
                clients = [self.connect(server) for _ in range(50)]
                for turn, client in enumerate(clients):
                    client.send(b"".join(request(*lock(f"{turn}:{i}", "o")) for i in range(20)))
                self.stop(server, "SIGTERM")
                told = self.read_tokens(clients)
                server.start_again()
                with server.connect() as checker:
                    for key, token in told.items():
                        self.assertEqual(checker.ask("CHECK", key, token), 1, key)

    @staticmethod
    def read_tokens(clients):
        told = {}
        for turn, client in enumerate(clients):
            try:
                for i in range(20):
                    told[f"{turn}:{i}"] = client.reply()
            except (Ended, ConnectionError):
                pass
        return told

    def test_waiters_go_on_where_they_stood(self):
        server = self.start("async")
        self.set_up(server, Shape([lock("a", "h")],
                                  [lock("a", "w1", *WAIT), lock("a", "w2", *WAIT)]))
        self.stop(server, "SIGTERM")
        server.start_again()
        client = self.connect(server)
        for owner in ("new", "w2", "w1"):
            self.connect(server).send(request(*lock("a", owner, *WAIT)))
            client.settle()
        self.assertEqual([client.ask("POSITION", "a", owner) for owner in ("w1", "w2", "new")],
                         [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
