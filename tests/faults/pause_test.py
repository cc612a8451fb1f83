"""The server is paused for longer than leases last, and then continued."""

import contextlib
import signal
import time
import unittest

import measured
from resp import request
from socket_server import SocketServer, wait_until

LEASE_MS = 700
PAUSE_SECONDS = 1.5


class Pause(measured.Fault):
    """Measures p99 after the pause: requests during the pause had to wait for its end."""

    name = "stopped for longer than leases"

    @contextlib.contextmanager
    def beside(self, server):
        server.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(PAUSE_SECONDS)
        finally:
            server.process.send_signal(signal.SIGCONT)
        yield

    def during(self, load, seconds):
        time.sleep(0.5)
        load.end_period("the pause")
        time.sleep(seconds)


FAULT = Pause()


class PauseTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


class Leases(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(SocketServer())

    def connect(self):
        return self.enterContext(self.server.connect())

    @contextlib.contextmanager
    def paused(self):
        """The server executes requests sent during the pause only when the leases have long
        ended."""
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            yield
            time.sleep(PAUSE_SECONDS)
        finally:
            self.server.process.send_signal(signal.SIGCONT)

    def test_a_lease_that_ended_meanwhile_is_not_renewed_and_the_next_in_line_has_the_lock(self):
        holder, waiter, late = self.connect(), self.connect(), self.connect()
        first = holder.ask("LOCK", "key", "holder", "PX", LEASE_MS)
        waiter.send(request("LOCK", "key", "waiter", "PX", 60_000, "WAIT", "FOREVER"))
        wait_until(lambda: self.server.info("waiters") == 1, "somebody waits")
        with self.paused():
            holder.send(request("RENEW", "key", "holder", "PX", 60_000))
            late.send(request("LOCK", "key", "late", "PX", 60_000))
        self.assertEqual(holder.reply(), 0)
        second = waiter.reply()
        self.assertGreater(second, first)
        self.assertIsNone(late.reply())
        self.assertEqual(late.ask("CHECK", "key", second), 1)
        self.assertEqual(late.ask("CHECK", "key", first), 0)
        self.assertEqual(holder.ask("UNLOCK", "key", "holder"), 0)
        self.assertEqual(self.server.info("holders"), 1)

    def test_a_lease_that_lasts_longer_is_kept_and_renewed(self):
        holder, other = self.connect(), self.connect()
        token = holder.ask("LOCK", "key", "holder", "PX", 60_000)
        with self.paused():
            holder.send(request("RENEW", "key", "holder", "PX", 60_000))
            other.send(request("LOCK", "key", "other"))
        self.assertEqual(holder.reply(), 1)
        self.assertIsNone(other.reply())
        self.assertEqual(other.ask("CHECK", "key", token), 1)

    def test_of_many_who_ask_during_the_pause_one_is_granted(self):
        clients = [self.connect() for _ in range(50)]
        holder = self.connect()
        holder.ask("LOCK", "key", "holder", "PX", LEASE_MS)
        with self.paused():
            for number, client in enumerate(clients):
                client.send(request("LOCK", "key", f"owner-{number}", "PX", 60_000))
        replies = [client.reply() for client in clients]
        self.assertEqual(sum(reply is not None for reply in replies), 1)

    def test_a_line_is_served_in_order(self):
        holder = self.connect()
        holder.ask("LOCK", "key", "holder", "PX", LEASE_MS)
        line = [self.connect() for _ in range(10)]
        for number, client in enumerate(line):
            client.send(request("LOCK", "key", f"owner-{number}", "PX", 60_000, "WAIT", "FOREVER"))
            wait_until(lambda: self.server.info("waiters") == number + 1, "it waits")
        with self.paused():
            pass
        tokens = []
        for number, client in enumerate(line):
            tokens.append(client.reply())
            self.assertEqual(client.ask("UNLOCK", "key", f"owner-{number}"), 1)
        self.assertEqual(tokens, sorted(set(tokens)))


if __name__ == "__main__":
    unittest.main()
