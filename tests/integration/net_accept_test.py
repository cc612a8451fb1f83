"""Listening and accepting: addresses, limits, and running out of descriptors."""

import os
import resource
import signal
import socket
import stat
import subprocess
import time
import unittest

from own_server import PROGRAM, free_port
from resp import Connection, request
from socket_server import SocketServer, is_silent, wait_until

REFUSAL = b"-ERR max number of clients reached\r\n"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            return True
    except OSError:
        return False


def run_to_its_end(*arguments):
    """Runs a server that cannot start; returns its exit code and its output."""
    ended = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=20,
                           check=False)
    return ended.returncode, ended.stderr


class Addresses(unittest.TestCase):

    def start(self, *options, **settings):
        return self.enterContext(SocketServer(*options, **settings))

    def assert_listens(self, host, port):
        with Connection(socket.create_connection((host, port), 20)) as client:
            self.assertEqual(client.ask("PING"), "PONG")

    @unittest.skipUnless(has_ipv6(), "no IPv6 here")
    def test_several_addresses(self):
        server = self.start("--bind", "127.0.0.2", "--bind=::1")
        for host in ("127.0.0.1", "127.0.0.2", "::1"):
            self.assert_listens(host, server.port)

    def test_an_address_that_may_be_missing_is_skipped_and_said(self):
        server = self.start("--bind", "-192.0.2.1")
        wait_until(lambda: "does not have 192.0.2.1" in server.output(), "it is logged")
        status, log = run_to_its_end("--bind", "192.0.2.1", "--port", str(free_port()))
        self.assertEqual(status, 1)
        self.assertIn("no such address: correct --bind", log)

    def test_a_port_in_use_is_explained(self):
        server = self.start()
        status, log = run_to_its_end("--bind", "127.0.0.1", "--port", str(server.port))
        self.assertEqual(status, 1)
        self.assertIn(f"cannot listen on 127.0.0.1:{server.port}: Address already in use", log)
        self.assertIn("choose another --port", log)

    def test_port_0_is_no_tcp(self):
        server = self.start("--port", "0")
        self.assertNotIn("127.0.0.1", server.output())
        self.assertEqual(server.info("tcp_port"), 0)

    def test_the_unix_socket_has_the_permissions_of_its_option(self):
        server = self.start("--unix-socket-permissions", "0660")
        self.assertEqual(stat.S_IMODE(server.unix_socket.stat().st_mode), 0o660)

    def test_a_unix_socket_that_was_left_behind_is_replaced(self):
        server = self.start()
        server.process.kill()
        server.process.wait()
        self.assertTrue(server.unix_socket.exists())
        again = self.start(unix_socket=server.unix_socket)
        self.assertEqual(again.stop(), 0)
        self.assertFalse(server.unix_socket.exists())

    def test_the_unix_socket_of_a_living_server_is_not_touched(self):
        server = self.start()
        status, log = run_to_its_end("--port", "0", "--unix-socket", str(server.unix_socket))
        self.assertEqual(status, 1)
        self.assertIn("another server listens there", log)
        with server.connect_unix() as client:
            self.assertEqual(client.ask("PING"), "PONG")

    def test_a_file_that_is_no_socket_is_not_touched(self):
        file = self.start().directory / "output"
        status, log = run_to_its_end("--port", "0", "--unix-socket", str(file))
        self.assertEqual(status, 1)
        self.assertIn("not a socket", log)
        self.assertTrue(file.exists())


class Limits(unittest.TestCase):

    def start(self, *options, **settings):
        return self.enterContext(SocketServer(*options, **settings))

    def connect(self, server):
        return self.enterContext(server.connect())

    def test_connections_over_max_clients_are_refused_and_counted(self):
        server = self.start("--max-clients", "3")
        clients = [self.connect(server) for _ in range(3)]
        for client in clients:
            self.assertEqual(client.ask("PING"), "PONG")
        for _ in range(5):
            self.assertEqual(self.connect(server).rest(), REFUSAL)
        clients[0].close()
        wait_until(lambda: b"connected_clients:2" in clients[1].ask("INFO", "clients"), "one left")
        self.assertIn(b"rejected_connections:5\r\n", clients[1].ask("INFO", "stats"))
        self.assertEqual(self.connect(server).ask("PING"), "PONG")

    def test_max_clients_is_kept_below_the_limit_of_open_files(self):
        server = self.start(
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 164)))
        client = self.connect(server)
        self.assertEqual(client.ask("CONFIG", "GET", "max_clients"), [b"max_clients", b"100"])
        # The log is written by a separate thread.
        wait_until(lambda: "max_clients is 100 instead of 10000" in server.output(), "a warning")
        clients = [self.connect(server) for _ in range(99)]
        self.assertEqual(clients[-1].ask("PING"), "PONG")
        self.assertEqual(self.connect(server).rest(), REFUSAL)
        self.assertIn("at most 100", client.ask("CONFIG", "SET", "max_clients", 101))
        self.assertEqual(client.ask("CONFIG", "SET", "max_clients", 100), "OK")
        # The configuration is read again with the same limit.
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "SIGHUP: the options were reloaded" in server.output(), "a reload")
        self.assertEqual(client.ask("CONFIG", "GET", "max_clients"), [b"max_clients", b"100"])

    def test_without_descriptors_new_clients_wait_and_the_loop_does_not_spin(self):
        server = self.start()
        client = self.connect(server)
        self.assertEqual(client.ask("PING"), "PONG")
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (4, 1000))
        late = [self.connect(server) for _ in range(5)]
        for one in late:
            one.send(request("PING"))
        wait_until(lambda: "cannot accept connections" in server.output(), "it is logged")
        cpu_s = server.cpu_seconds()
        time.sleep(2)
        self.assertLess(server.cpu_seconds() - cpu_s, 0.1)
        self.assertEqual(client.ask("PING"), "PONG")
        self.assertTrue(is_silent(late[0], 0))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (1000, 1000))
        for one in late:
            self.assertEqual(one.reply(), "PONG")
        self.assertEqual(server.output().count("cannot accept connections"), 1)

    def test_many_connect_and_leave_at_once(self):
        count = min(2000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
        server = self.start("--tcp-backlog", "4096")
        clients = [self.connect(server) for _ in range(count)]
        for client in clients:
            client.send(request("PING"))
        for client in clients:
            self.assertEqual(client.reply(), "PONG")
        for client in clients:
            client.close()
        wait_until(lambda: server.info("connected_clients") == 1, "all have left")


if __name__ == "__main__":
    unittest.main()
