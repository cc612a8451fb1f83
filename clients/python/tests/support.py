"""What the tests share: a server, clients, and views of a lock from outside."""

import logging
import os
import pathlib
import socket
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parents[2] / "tests" / "integration")]

import redis  # noqa: E402

import own_server  # noqa: E402

WAIT_SECONDS_MAX = 20

# The tests cause the failures that the library warns of.
logging.getLogger("fairlock").setLevel(logging.CRITICAL)


def wait_until(condition, seconds=WAIT_SECONDS_MAX):
    """Asks until the condition is true."""
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            raise AssertionError("it did not become true")
        time.sleep(0.005)


def fields(reply):
    """A map, which is a flat list in RESP 2, and a dict in RESP 3."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


class Case(unittest.TestCase):
    """Each test has its own server."""

    def make_server(self):
        return own_server.Server()

    if sys.version_info < (3, 11):
        def enterContext(self, context):
            """As later versions of Python have it."""
            value = context.__enter__()
            self.addCleanup(context.__exit__, None, None, None)
            return value

    def setUp(self):
        self.server = self.enterContext(self.make_server())
        self.outside = self.client()

    def client(self, **options):
        client = redis.Redis("127.0.0.1", port=self.server.port, **options)
        self.addCleanup(client.connection_pool.disconnect)
        return client

    def ask(self, *command):
        return self.outside.execute_command(*command)

    def waiters(self, key):
        """The owners in the queue."""
        return [fields(place)[b"owner"].decode() for place in self.ask("QUEUE", key)]

    def assert_nothing_left(self, *keys):
        for key in keys:
            self.assertEqual((self.ask("LOCKED", key), self.waiters(key)), (0, []), key)

    def commands(self, name):
        """How often the server has executed this command."""
        return self.outside.info("commandstats").get(f"cmdstat_{name}", {}).get("calls", 0)

    def in_thread(self, call):
        """Starts a call, and returns a function that waits for its result."""
        outcome = []

        def work():
            try:
                outcome.append((call(), None))
            except BaseException as error:
                outcome.append((None, error))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()

        def result():
            thread.join(WAIT_SECONDS_MAX)
            self.assertFalse(thread.is_alive(), "the call did not end")
            value, error = outcome[0]
            if error is not None:
                raise error
            return value

        self.addCleanup(thread.join, WAIT_SECONDS_MAX)
        return result


def socket_that_never_answers():
    """Accepts connections in the kernel, and nothing more."""
    return socket.create_server(("127.0.0.1", 0), backlog=8)


def environment():
    """For child processes that import the library."""
    return {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
