"""Connections with a waiting request: it is granted, closed, or followed by more requests."""

import signal
import socket
import time
import unittest

from resp import request
from socket_server import SocketServer, is_silent, take, wait_until

PING = request("PING")
MEGABYTE = 1 << 20


class Waiters(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(SocketServer())
        self.holder = self.connect()
        self.token = self.holder.ask("LOCK", "key", "holder")

    def connect(self, by="tcp"):
        return self.enterContext(
            self.server.connect() if by == "tcp" else self.server.connect_unix())

    def waiters(self):
        return self.server.info("waiters")

    def waiter(self, owner, by="tcp", behind=b""):
        """Returns a connection whose LOCK waits."""
        connection = self.connect(by)
        before = self.waiters()
        connection.send(request("LOCK", "key", owner, "WAIT", "FOREVER") + behind)
        wait_until(lambda: self.waiters() == before + 1, f"{owner} waits")
        return connection

    def unlock(self, owner="holder"):
        self.assertEqual(self.holder.ask("UNLOCK", "key", owner), 1)

    def test_a_grant_is_pushed_at_once(self):
        waiter = self.waiter("second")
        self.assertTrue(is_silent(waiter))
        self.unlock()
        self.assertGreater(waiter.reply(), self.token)

    def test_a_time_limit_is_kept_without_any_traffic(self):
        waiter = self.connect()
        begin = time.monotonic()
        self.assertIsNone(waiter.ask("LOCK", "key", "late", "WAIT", 300))
        waited_s = time.monotonic() - begin
        self.assertGreaterEqual(waited_s, 0.299)  # the clock counts whole milliseconds
        self.assertLess(waited_s, 10)

    def test_who_has_closed_is_not_granted(self):
        for by in ("tcp", "unix"):
            first = self.waiter("first", by)
            second = self.waiter("second", by)
            first.close()
            wait_until(lambda: self.waiters() == 1, "the closed one has left")
            self.unlock()
            self.assertGreater(second.reply(), self.token)
            self.unlock("second")
            self.holder.ask("LOCK", "key", "holder")

    def test_who_closed_in_the_same_turn_is_not_granted(self):
        first = self.waiter("first")
        second = self.waiter("second")
        self.server.process.send_signal(signal.SIGSTOP)
        self.holder.send(request("UNLOCK", "key", "holder"))
        first.close()
        time.sleep(0.05)
        self.server.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.holder.reply(), 1)
        self.assertEqual(second.reply(), self.token + 1)

    def test_who_sends_no_more_counts_as_gone(self):
        waiter = self.waiter("first")
        waiter.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(waiter.rest(), b"")
        self.assertEqual(self.waiters(), 0)

    def test_requests_behind_a_wait_are_executed_after_it(self):
        waiter = self.waiter("second", behind=request("ECHO", "behind"))
        waiter.send(request("ECHO", "later"))
        self.assertTrue(is_silent(waiter))
        self.unlock()
        self.assertGreater(waiter.reply(), self.token)
        self.assertEqual(waiter.reply(), b"behind")
        self.assertEqual(waiter.reply(), b"later")

    def test_waits_of_one_pipeline_come_one_after_the_other(self):
        other = self.connect()
        other.ask("LOCK", "key2", "holder")
        waiter = self.waiter(
            "second", behind=request("LOCK", "key2", "second", "WAIT", "FOREVER") + PING)
        self.unlock()
        self.assertGreater(waiter.reply(), self.token)
        self.assertTrue(is_silent(waiter))
        other.ask("UNLOCK", "key2", "holder")
        self.assertGreater(waiter.reply(), self.token)
        self.assertEqual(waiter.reply(), "PONG")

    def test_input_behind_a_wait_is_bounded_and_executed_after_it(self):
        waiter = self.waiter("second")
        whole = MEGABYTE // len(PING) - 1
        waiter.send(PING * whole)
        time.sleep(0.2)
        self.unlock()
        self.assertGreater(waiter.reply(), self.token)
        self.assertEqual(take(waiter, 7 * whole), b"+PONG\r\n" * whole)

    def test_who_sends_more_behind_a_wait_is_closed_and_has_no_place(self):
        waiter = self.waiter("second")
        resident = self.server.resident_bytes()
        with self.assertRaises(OSError):
            while True:
                waiter.send(PING * 10_000)
        self.assertLess(self.server.resident_bytes() - resident, 16 * MEGABYTE)
        wait_until(lambda: self.waiters() == 0, "the closed one has left", 5)

    def test_the_close_of_one_with_much_behind_its_wait_is_noticed(self):
        for by in ("tcp", "unix"):
            waiter = self.waiter("second", by)
            waiter.send(b"x" * (MEGABYTE - 1000))
            time.sleep(0.2)
            waiter.close()
            wait_until(lambda: self.waiters() == 0, "the closed one has left", 5)


if __name__ == "__main__":
    unittest.main()
