"""How long one client can delay another: by huge replies, and by large numbers of waiters or holds
that end at once. Notes the longest PING of the other connection.

    WAITERS=100000 FAIRLOCKD=build/release/bin/fairlockd \\
    /usr/bin/python3 tests/faults/worst_neighbour_test.py

worst_command_test.py does the same for every command, glob_cost_test.py and script_time_test.py
in the integration tests do it for globs and scripts.
"""

import contextlib
import os
import pathlib
import socket
import sys
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import resp  # noqa: E402
from longest_ping import LongestPing  # noqa: E402
from own_server import IS_MEASURED, Server, note_figure  # noqa: E402

WAITERS = int(os.environ.get("WAITERS", "5000"))
# Nobody waits this long on any machine, unless the server does everything in one turn.
PING_MS_MAX = 5000
GRACE_SECONDS = 1
MARK = b"the end of a reply"
BATCH = 1000


def ask_all(connection, requests):
    """Sends many requests, several at a time, and returns the last reply."""
    reply = None
    for begin in range(0, len(requests), BATCH):
        part = requests[begin:begin + BATCH]
        connection.send(b"".join(resp.request(*words) for words in part))
        for _ in part:
            reply = connection.reply()
            if isinstance(reply, resp.ErrorReply):
                raise AssertionError(f"{part[0]}: {reply}")
    return reply


class Subscriber:
    """Reads and discards the messages of a channel. Used in a with statement."""

    def __init__(self, server, channel):
        self.connection = server.connect()
        self.connection.ask("SUBSCRIBE", channel)
        self.connection.socket.settimeout(None)
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.close()
        self.thread.join()
        self.connection.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.connection.socket.shutdown(socket.SHUT_RDWR)

    def _run(self):
        with contextlib.suppress(OSError):
            while self.connection.socket.recv(1 << 16):
                pass


class WorstNeighbour(unittest.TestCase):

    def attempt(self, what, prepare, act):
        with contextlib.ExitStack() as stack:
            self.server = stack.enter_context(Server("--reconnect-grace", f"{GRACE_SECONDS}s"))
            self.operator = stack.enter_context(self.server.connect())
            prepared = prepare(stack)
            with LongestPing(self.server) as ping:
                time.sleep(0.1)
                act(prepared)
                time.sleep(0.3)  # by then, the server has done its deferred work
        print(f"{what}:", end=" ")
        note_figure("delays.worst_neighbour_ms", ping.milliseconds)
        if IS_MEASURED:
            self.assertLess(ping.milliseconds, PING_MS_MAX, what)

    def info(self):
        lines = self.operator.ask("INFO").decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def await_info(self, field, value):
        give_up = time.monotonic() + 20
        while (found := self.info()[field]) != str(value):
            self.assertLess(time.monotonic(), give_up, f"{field} is {found}, not {value}")
            time.sleep(0.05)

    # Many waiters ------------------------------------------------------------------------------

    def queue_on_one_key(self, stack):
        self.operator.ask("LOCK", "one", "holder", "PX", "3600000")
        subscriber = stack.enter_context(Subscriber(self.server, "news"))
        ask_all(self.operator, [("LOCK", "one", f"w{i}", "PX", "60000", "WAIT", "1h", "NOTIFY",
                                 "news") for i in range(WAITERS)])
        self.await_info("waiters", WAITERS)
        return subscriber

    def queue_on_many_keys(self, stack, waiters=WAITERS):
        ask_all(self.operator, [("SET", f"k{i}", "holder", "NX") for i in range(WAITERS)])
        subscriber = stack.enter_context(Subscriber(self.server, "news"))
        self.wait_for_each_key(waiters)
        return subscriber

    def wait_for_each_key(self, waiters=WAITERS):
        ask_all(self.operator, [("LOCK", f"k{i}", "w", "PX", "60000", "WAIT", "1h", "NOTIFY",
                                 "news") for i in range(WAITERS)])
        self.await_info("waiters", waiters)

    def test_waiters_that_are_granted_by_flushall(self):
        self.attempt("FLUSHALL, which grants to many waiters", self.queue_on_many_keys,
                     lambda _: self.operator.ask("FLUSHALL"))

    def test_waiters_whose_time_ends_at_once(self):
        def prepare(stack):
            self.operator.ask("LOCK", "one", "holder", "PX", "3600000")
            stack.enter_context(Subscriber(self.server, "news"))
            end = time.monotonic() + 2 + WAITERS / 20_000
            for begin in range(0, WAITERS, BATCH):
                left = round((end - time.monotonic()) * 1000)
                self.assertGreater(left, 0)
                ask_all(self.operator, [("LOCK", "one", f"w{begin + i}", "PX", "60000", "WAIT",
                                         f"{left}ms", "NOTIFY", "news") for i in range(BATCH)])
            return end
        def act(end):
            time.sleep(max(end - time.monotonic(), 0))
            self.await_info("waiters", 0)
        self.attempt("waiters whose WAIT ends", prepare, act)

    def test_waiters_whose_subscriber_goes(self):
        def act(subscriber):
            subscriber.close()
            time.sleep(1.2 * GRACE_SECONDS)
            self.await_info("waiters", 0)
        self.attempt("waiters on one key whose subscriber goes", self.queue_on_one_key, act)
        self.attempt("waiters on many keys whose subscriber goes", self.queue_on_many_keys, act)

    # Many holds --------------------------------------------------------------------------------

    def test_a_session_that_ends(self):
        def prepare(stack):
            holder = stack.enter_context(self.server.connect())
            ask_all(holder, [("LOCK", f"k{i}", "holder", "SESSION") for i in range(WAITERS)])
            stack.enter_context(Subscriber(self.server, "news"))
            self.wait_for_each_key()
            return holder
        def act(holder):
            holder.close()
            self.await_info("waiters", 0)
        self.attempt("holds of a session, each with a waiter", prepare, act)

    def test_leases_that_end_at_once(self):
        def prepare(stack):
            del stack
            end = time.monotonic() + 2 + WAITERS / 20_000
            for begin in range(0, WAITERS, BATCH):
                left = round((end - time.monotonic()) * 1000)
                ask_all(self.operator, [("LOCK", f"k{begin + i}", "o", "PX", left)
                                        for i in range(BATCH)])
            return end
        def act(end):
            time.sleep(max(end - time.monotonic(), 0))
            self.await_info("locks", 0)
        self.attempt("leases that end", prepare, act)

    # Huge replies ------------------------------------------------------------------------------

    def test_huge_replies(self):
        requests = [("LOCKS", "0", "COUNT", "100000"), ("SCAN", "0", "COUNT", "100000"),
                    ("QUEUE", "one"), ("LOCKINFO", "one"), ("HISTORY", "one", "COUNT", "10000"),
                    ("CLIENT", "LIST"), ("COMMAND",), ("COMMAND", "DOCS"), ("INFO", "everything"),
                    ("STATS",), ("MGET", *[f"k{i}" for i in range(min(WAITERS, 10_000))]),
                    ("KEYS", "*")]
        def prepare(stack):
            self.queue_on_one_key(stack)
            self.queue_on_many_keys(stack, 2 * WAITERS)
            return stack.enter_context(self.server.connect())
        def act(client):
            for words in requests:
                for _ in range(5):
                    client.send(resp.request(*words) + resp.request("ECHO", MARK))
                    last = b""
                    # The replies are not parsed, because this process must also send the PINGs.
                    while not last.endswith(MARK + b"\r\n"):
                        last = last[-len(MARK):] + client.socket.recv(1 << 20)
                        self.assertTrue(last[len(MARK):], words[0])
        self.attempt("huge replies", prepare, act)


if __name__ == "__main__":
    unittest.main()
