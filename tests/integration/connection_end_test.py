"""How connections end, and what happens to their waiting requests."""

import os
import signal
import socket
import subprocess
import sys
import time
import unittest

from own_server import Server
import resp

# Takes a place in the queue, and then does nothing.
WAITER = """
import socket, sys, time
stream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
stream.sendall(b"LOCK key " + sys.argv[2].encode() + b" WAIT FOREVER\\r\\n")
time.sleep(60)
"""


class Endings(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())
        self.token = self.own.ask("LOCK", "key", "holder", "EX", 600)

    def waiter(self, owner, *options):
        """Returns a connection that waits for the key."""
        connection = self.enterContext(self.server.connect())
        connection.send(resp.request("LOCK", "key", owner, "WAIT", "FOREVER", *options))
        self.wait_until(lambda: self.own.ask("POSITION", "key", owner) is not None)
        return connection

    def wait_until(self, is_so, seconds=10):
        give_up = time.monotonic() + seconds
        while not is_so():
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.001)

    def is_waiting(self, owner):
        """Whether the owner has an active place, not one that is skipped."""
        places = [dict(zip(place[::2], place[1::2])) for place in self.own.ask("QUEUE", "key")]
        return any(place[b"owner"] == owner.encode() and place[b"state"] == b"waiting"
                   for place in places)

    def wait_until_gone(self, owner):
        begin = time.monotonic()
        self.wait_until(lambda: not self.is_waiting(owner))
        return time.monotonic() - begin

    def test_a_waiter_that_closes_leaves_the_line_at_once(self):
        waiter = self.waiter("a")
        waiter.close()
        self.own.settle()
        self.assertFalse(self.is_waiting("a"))

    def test_a_waiter_that_sends_no_more_has_left(self):
        waiter = self.waiter("a")
        waiter.socket.shutdown(socket.SHUT_WR)
        self.wait_until_gone("a")
        self.assertEqual(waiter.rest(), b"")

    def test_a_waiter_that_resets_its_connection_has_left(self):
        waiter = self.waiter("a")
        waiter.reset()
        self.wait_until_gone("a")

    def test_a_waiter_with_requests_behind_its_wait_leaves_when_it_closes(self):
        waiter = self.waiter("a")
        waiter.send(resp.request("LOCK", "other", "a") * 10)
        self.own.settle()
        waiter.close()
        self.wait_until_gone("a")
        self.assertEqual(self.own.ask("LOCKED", "other"), 0)

    def test_a_waiter_that_sends_a_lot_behind_its_wait_is_seen_to_close(self):
        waiter = self.waiter("a")
        # More than the server reads while a request waits, but not more than the kernel buffers.
        waiter.send(b"LOCKED key\r\n" * 90_000)
        waiter.close()
        self.wait_until_gone("a")

    def test_what_is_sent_behind_a_wait_is_not_read_without_end(self):
        waiter = self.waiter("a")
        waiter.socket.setblocking(False)
        lines = b"LOCKED key\r\n" * 10_000
        sent = 0
        with self.assertRaises(BlockingIOError):
            while sent < 64 * 1024 * 1024:
                sent += waiter.socket.send(lines)
        self.assertEqual(self.own.ask("UNLOCK", "key", "holder"), 1)
        waiter.socket.settimeout(20)
        self.assertGreater(waiter.reply(), self.token)
        for _ in range(sent // len(b"LOCKED key\r\n")):
            self.assertEqual(waiter.reply(), 1)

    def test_a_process_that_is_killed_leaves_the_line(self):
        waiter = subprocess.Popen([sys.executable, "-c", WAITER, str(self.server.port), "killed"])
        self.wait_until(lambda: self.own.ask("POSITION", "key", "killed") == 1)
        behind = self.waiter("behind")
        waiter.send_signal(signal.SIGKILL)
        waiter.wait()
        self.wait_until_gone("killed")
        self.assertEqual(self.own.ask("UNLOCK", "key", "holder"), 1)
        self.assertGreater(behind.reply(), self.token)

    def test_a_thousand_waiters_that_vanish_together(self):
        waiters = [self.server.connect() for _ in range(1000)]
        for number, waiter in enumerate(waiters):
            waiter.send(resp.request("LOCK", "key", f"w{number}", "WAIT", "FOREVER"))
        last = self.waiter("last")
        self.assertEqual(self.own.ask("POSITION", "key", "last"), 1001)
        for waiter in waiters:
            waiter.close()
        self.wait_until(lambda: self.own.ask("POSITION", "key", "last") == 1)
        self.assertEqual(self.own.ask("UNLOCK", "key", "holder"), 1)
        self.assertGreater(last.reply(), self.token)

    def test_who_sends_no_more_still_gets_its_replies(self):
        with self.server.connect() as connection:
            connection.send(resp.request("PING") + resp.request("LOCKED", "key"))
            connection.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(connection.rest(), b"+PONG\r\n:1\r\n")

    def test_quit_closes_behind_its_reply(self):
        with self.server.connect() as connection:
            connection.send(resp.request("QUIT") + resp.request("UNLOCK", "key", "holder"))
            self.assertEqual(connection.rest(), b"+OK\r\n")
        self.assertEqual(self.own.ask("CHECK", "key", self.token), 1)

    def test_client_kill_ends_a_waiter_without_a_reply(self):
        waiter = self.enterContext(self.server.connect())
        number = waiter.ask("CLIENT", "ID")
        waiter.send(resp.request("LOCK", "key", "a", "WAIT", "FOREVER"))
        self.wait_until(lambda: self.own.ask("POSITION", "key", "a") == 1)
        self.assertEqual(self.own.ask("CLIENT", "KILL", "ID", number), 1)
        self.assertEqual(waiter.rest(), b"")
        self.assertFalse(self.is_waiting("a"))


class Stopping(unittest.TestCase):

    def test_waiters_are_closed_without_a_reply_so_that_they_ask_again(self):
        with Server() as server:
            own = self.enterContext(server.connect())
            own.ask("LOCK", "key", "holder", "EX", 600)
            waiters = [self.enterContext(server.connect()) for _ in range(20)]
            for number, waiter in enumerate(waiters):
                waiter.send(resp.request("LOCK", "key", f"w{number}", "WAIT", "FOREVER"))
            watcher = self.enterContext(server.connect_unix())
            watcher.send(resp.request("WAIT", "key", "TIMEOUT", "FOREVER"))
            own.settle()
            begin = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - begin, 5)
            for connection in [*waiters, watcher, own]:
                self.assertEqual(connection.rest(), b"")
            self.assertFalse(server.unix_socket.exists())

    def test_requests_that_have_arrived_are_answered(self):
        with Server() as server, server.connect() as connection:
            connection.send(resp.request("PING") * 100)
            time.sleep(0.05)
            self.assertEqual(server.stop(), 0)
            self.assertEqual(connection.rest(), b"+PONG\r\n" * 100)

    def test_it_does_not_wait_for_who_does_not_read(self):
        with Server() as server, server.connect() as connection:
            connection.socket.setblocking(False)
            data = resp.request("ECHO", "x" * 100_000)
            try:
                while True:
                    connection.socket.send(data)
            except BlockingIOError:
                pass
            begin = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - begin, 10)

    def test_it_ends_in_good_order_as_soon_as_it_accepts_connections(self):
        for _ in range(10):
            with Server() as server:
                self.assertEqual(server.stop(), 0)

    def test_sigint_stops_it_too(self):
        with Server() as server:
            os.kill(server.process.pid, signal.SIGINT)
            self.assertEqual(server.process.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
