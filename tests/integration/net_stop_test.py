"""How the server starts and stops: signals, what clients see, and the service manager."""

import signal
import socket
import time
import unittest

from resp import request
from socket_server import SocketServer, wait_until


class Stopping(unittest.TestCase):

    def start(self, *options, **settings):
        return self.enterContext(SocketServer(*options, **settings))

    def connect(self, server, by="tcp"):
        return self.enterContext(server.connect() if by == "tcp" else server.connect_unix())

    def with_unread_replies(self):
        """Returns a server, and a client that has not yet read some replies, which exceed the
        kernel's buffers."""
        server = self.start()
        client = self.connect(server, "unix")
        client.send(request("ECHO", b"x" * 100_000) * 4)
        time.sleep(0.3)
        return server, client

    def test_either_signal_stops_it_cleanly(self):
        for by in (signal.SIGTERM, signal.SIGINT):
            server = self.start()
            client = self.connect(server)
            client.ask("PING")
            self.assertEqual(server.stop(by), 0)
            self.assertEqual(client.rest(), b"")
            self.assertIn(f"stopping: {by.name}; ", server.output())
            self.assertTrue(server.output().endswith(" info stopped\n"), server.output())
            self.assertFalse(server.unix_socket.exists())

    def test_shutdown_stops_it_cleanly(self):
        server = self.start()
        client = self.connect(server)
        client.send(request("SHUTDOWN"))
        self.assertEqual(client.rest(), b"")
        self.assertEqual(server.process.wait(20), 0)

    def test_waiters_are_closed_without_a_reply(self):
        server = self.start()
        holder = self.connect(server)
        holder.ask("LOCK", "key", "holder")
        waiters = [self.connect(server, by) for by in ("tcp", "unix") * 10]
        for number, waiter in enumerate(waiters):
            waiter.send(request("LOCK", "key", f"w{number}", "WAIT", "FOREVER") + request("PING"))
        wait_until(lambda: server.info("waiters") == 20, "all of them wait")
        self.assertEqual(server.stop(), 0)
        for connection in [*waiters, holder]:
            self.assertEqual(connection.rest(), b"")

    def test_replies_that_are_under_way_still_arrive(self):
        server, client = self.with_unread_replies()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.rest(), (b"$100000\r\n" + b"x" * 100_000 + b"\r\n") * 4)
        self.assertEqual(server.process.wait(20), 0)

    def test_who_reads_nothing_does_not_hold_up_the_stop(self):
        server, _ = self.with_unread_replies()
        begin = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begin, 15)

    def test_a_second_signal_ends_it_at_once(self):
        server, _ = self.with_unread_replies()
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "stopping: SIGTERM" in server.output(), "it is stopping")
        self.assertEqual(server.stop(), 1)

    def test_nobody_can_connect_while_it_stops(self):
        server, _ = self.with_unread_replies()
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not server.unix_socket.exists(), "the socket's path is gone")
        with self.assertRaises(ConnectionRefusedError):
            server.connect()

    def test_the_service_manager_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(b"")  # an abstract name that the kernel chooses
            manager.settimeout(20)
            name = "@" + manager.getsockname()[1:].decode()
            server = self.start(env={"NOTIFY_SOCKET": name})
            self.assertEqual(manager.recv(100), b"READY=1")
            self.assertEqual(server.stop(), 0)
            self.assertEqual(manager.recv(100), b"STOPPING=1")

    def test_an_idle_server_uses_no_cpu(self):
        server = self.start()
        clients = [self.connect(server) for _ in range(50)]
        clients[0].ask("LOCK", "key", "holder", "EX", 1000)
        time.sleep(0.5)
        cpu_s = server.cpu_seconds()
        time.sleep(2)
        self.assertLess(server.cpu_seconds() - cpu_s, 0.05)


if __name__ == "__main__":
    unittest.main()
