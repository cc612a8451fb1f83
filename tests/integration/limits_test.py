"""Limits on what clients can use, tested at their edges, on a running server."""

import contextlib
import socket
import time
import unittest

from certificates import Certificates, connect
from own_server import IS_MEASURED, Server, free_port
from resp import Connection, ErrorReply
from socket_server import wait_until

MB = 1024 * 1024
META = "m" * 4000


def info(client, section):
    lines = client.ask("INFO", section).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            return True
    except OSError:
        return False


class LimitCase(unittest.TestCase):

    def start(self, *options):
        self.server = self.enterContext(Server(*options))
        return self.server

    def connect(self):
        return self.enterContext(self.server.connect())

    def connect_unix(self):
        return self.enterContext(self.server.connect_unix())

    def stats(self, field):
        return int(info(self.server_asking, "stats")[field])

    @property
    def server_asking(self):
        return self.connect_unix()

    def assertRefused(self, reply, word, option):
        self.assertIsInstance(reply, ErrorReply)
        self.assertTrue(reply.startswith(word + " "), reply)
        self.assertIn(option, reply)

    def assertLogged(self, text):
        wait_until(lambda: text in self.server.output(), f"{text!r} is logged")


class Memory(LimitCase):

    def fill(self, client, seconds=60):
        """Takes locks until one is refused; returns how many there are by then."""
        give_up = time.monotonic() + seconds
        taken = 0
        while time.monotonic() < give_up:
            reply = client.ask("LOCK", f"filler:{taken}", "a", "META", META)
            if isinstance(reply, ErrorReply):
                self.assertRefused(reply, "OOM", "max_memory")
                return taken
            taken += 1
        raise AssertionError("nothing was refused")

    def bound(self, client, room):
        used = int(info(client, "memory")["used_memory"])
        self.assertEqual(client.ask("CONFIG", "SET", "maxmemory", used + room), "OK")
        return used + room

    def test_nothing_new_is_taken_and_the_rest_goes_on(self):
        self.start()
        client = self.connect()
        first = client.ask("LOCK", "mine", "a")
        waiting = self.connect()
        waiting.send(b"LOCK mine b WAIT 60s\r\n")
        listener = self.connect()
        self.assertEqual(listener.ask("SUBSCRIBE", "before")[0], b"subscribe")
        room = 16 * MB
        bound = self.bound(client, room)
        taken = self.fill(client)
        self.assertGreater(taken, 100)
        self.assertLogged("new locks are refused")
        # The allocator measures a little more or less each time, so the bound moves away from what
        # is in use.
        most = self.bound(client, -MB)
        memory = info(client, "memory")
        self.assertEqual(memory["maxmemory"], str(most))
        self.assertEqual(memory["short_of_memory"], "1")
        if IS_MEASURED:
            self.assertGreater(taken, room // len(META) // 2)
            self.assertLess(int(memory["used_memory"]), bound + 2 * MB)
        for request in (["LOCK", "new", "a"], ["LOCK", "mine", "c", "WAIT", "1s"],
                        ["SET", "new", "a", "NX", "PX", 1000], ["MLOCK", 2, "x", "y", "a"],
                        ["SUBSCRIBE", "c"]):
            self.assertRefused(client.ask(*request), "OOM", "max_memory")
        self.assertEqual(client.ask("LOCK", "mine", "a"), first)
        self.assertEqual(client.ask("RENEW", "mine", "a"), 1)
        self.assertEqual(client.ask("CHECK", "mine", first), 1)
        self.assertEqual(client.ask("PING"), "PONG")
        self.assertEqual(client.ask("UNLOCK", "mine", "a"), 1)
        self.assertIsInstance(waiting.reply(), int)
        # Others may still connect, read and release.
        other = self.connect()
        self.assertEqual(other.ask("LOCKED", "filler:0"), 1)
        self.assertEqual(other.ask("UNLOCK", "filler:0", "a"), 1)
        self.assertEqual(int(info(other, "locks")["locks"]), taken)

    @unittest.skipUnless(IS_MEASURED, "memory of this build does not shrink")
    def test_what_is_released_makes_room(self):
        self.start()
        client = self.connect()
        self.bound(client, 8 * MB)
        taken = self.fill(client)
        for i in range(taken // 2):
            self.assertEqual(client.ask("UNLOCK", f"filler:{i}", "a"), 1)
        time.sleep(0.05)
        self.assertIsInstance(client.ask("LOCK", "new", "a"), int)
        self.assertEqual(info(client, "memory")["short_of_memory"], "0")
        self.assertLogged("new locks are granted again")

    def test_a_higher_bound_makes_room(self):
        self.start()
        client = self.connect()
        self.bound(client, 4 * MB)
        self.fill(client)
        self.assertEqual(client.ask("CONFIG", "SET", "max_memory", 0), "OK")
        self.assertIsInstance(client.ask("LOCK", "new", "a"), int)
        self.assertEqual(info(client, "memory")["maxmemory"], "0")

    @unittest.skipUnless(IS_MEASURED, "the allocator of this build does not report its memory")
    def test_one_pipeline_takes_no_more_than_there_is(self):
        self.start()
        client = self.connect()
        # These requests are small but take a lot of memory: each key has its own copy of a long
        # owner.
        owner = "o" * 8000
        keys = 64
        requests = 400
        most = self.bound(client, 8 * MB)
        pipeline = [" ".join(["MLOCK", str(keys), *(f"k:{i}:{j}" for j in range(keys)), owner])
                    for i in range(requests)]
        client.send(("\r\n".join(pipeline) + "\r\n").encode())
        replies = [client.reply() for _ in pipeline]
        self.assertIsInstance(replies[0], int)
        self.assertRefused(replies[-1], "OOM", "max_memory")
        self.assertLess(int(info(client, "memory")["used_memory"]), most + 24 * MB)


class Connections(LimitCase):

    def test_of_one_address(self):
        self.start("--max-clients-per-address", "2")
        clients = [self.connect() for _ in range(2)]
        for client in clients:
            self.assertEqual(client.ask("PING"), "PONG")
        for _ in range(3):
            self.assertEqual(
                self.connect().rest(),
                b"-FULL this address has 2 connections (max_clients_per_address); close one of "
                b"them first\r\n")
        # A unix socket has no address, and other addresses have their own count.
        asking = self.connect_unix()
        stats = info(asking, "stats")
        self.assertEqual(stats["rejected_connections_per_address"], "3")
        self.assertEqual(stats["rejected_connections"], "3")
        self.assertLogged("refused because of max_clients_per_address (2): 1, last 127.0.0.1:")
        with socket.socket() as other:
            other.bind(("127.0.0.9", 0))
            other.connect(("127.0.0.1", self.server.port))
            self.assertEqual(Connection(other).ask("PING"), "PONG")
        clients[0].close()
        wait_until(lambda: info(asking, "clients")["connected_clients"] == "2", "it has left")
        self.assertEqual(self.connect().ask("PING"), "PONG")

    def test_of_one_address_while_it_runs(self):
        self.start()
        clients = [self.connect() for _ in range(3)]
        self.assertEqual(clients[2].ask("CONFIG", "SET", "max_clients_per_address", 2), "OK")
        self.assertEqual(clients[0].ask("PING"), "PONG")  # existing connections stay
        self.assertTrue(self.connect().rest().startswith(b"-FULL "))
        self.assertEqual(clients[2].ask("CONFIG", "SET", "max_clients_per_address", 4), "OK")
        self.assertEqual(self.connect().ask("PING"), "PONG")

    @unittest.skipUnless(has_ipv6(), "no IPv6 here")
    def test_of_one_network_of_ipv6(self):
        self.start("--max-clients-per-address", "1", "--bind=::1")
        with Connection(socket.create_connection(("::1", self.server.port), 20)) as first:
            self.assertEqual(first.ask("PING"), "PONG")
            with Connection(socket.create_connection(("::1", self.server.port), 20)) as second:
                self.assertTrue(second.rest().startswith(b"-FULL "))

    def test_handshakes_of_tls_are_connections_of_their_address(self):
        certificates = self.enterContext(Certificates())
        tls_port = free_port()
        self.start(*certificates.options(tls_port), "--max-clients-per-address", "3")
        idle = [self.enterContext(socket.create_connection(("127.0.0.1", tls_port), 20))
                for _ in range(2)]
        context = certificates.context()
        with connect(tls_port, context) as client:
            self.assertEqual(client.ask("PING"), "PONG")
            with socket.create_connection(("127.0.0.1", tls_port), 20) as refused:
                refused.settimeout(20)
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(refused.recv(1), b"")
            self.assertTrue(self.connect().rest().startswith(b"-FULL "))
        for one in idle:
            one.close()
        asking = self.connect_unix()
        wait_until(lambda: info(asking, "clients")["connected_clients"] == "1", "all have left")
        self.assertEqual(self.connect().ask("PING"), "PONG")


class Newcomers(LimitCase):

    def start(self, *options):
        return super().start("--requirepass", "secret", *options)

    def asking(self):
        client = self.connect_unix()
        self.assertEqual(client.ask("AUTH", "secret"), "OK")
        return client

    def test_who_does_not_log_in_in_time_is_closed(self):
        self.start("--unauthenticated-timeout", "1s")
        slow = self.connect()
        self.assertRefused(slow.ask("PING"), "NOAUTH", "Authentication required")
        quick = self.asking()
        began = time.monotonic()
        self.assertEqual(
            slow.rest(),
            b"-NOAUTH no log-in within 1000 ms (unauthenticated_timeout); send AUTH within that "
            b"time\r\n")
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(quick.ask("PING"), "PONG")
        self.assertEqual(info(quick, "stats")["unauthenticated_disconnections"], "1")
        self.assertEqual(info(quick, "clients")["unauthenticated_clients"], "0")
        self.assertLogged("closed because they had not logged in (unauthenticated_timeout): 1, "
                          "last 127.0.0.1:")

    def test_nobody_is_closed_where_no_password_is_needed(self):
        self.server = self.enterContext(Server("--unauthenticated-timeout", "100ms"))
        client = self.connect()
        time.sleep(0.5)
        self.assertEqual(client.ask("PING"), "PONG")

    def test_of_too_many_the_oldest_is_closed(self):
        self.start("--max-unauthenticated-clients", "3", "--unauthenticated-timeout", "0")
        quick = self.asking()
        newcomers = [self.connect() for _ in range(3)]
        wait_until(lambda: info(quick, "clients")["unauthenticated_clients"] == "3", "all came")
        newcomers.append(self.connect())
        self.assertTrue(newcomers[0].rest().startswith(b"-FULL more than 3 connections"))
        # A client that logs in at once is therefore admitted, however many hold connections open.
        def received():
            return int(info(quick, "stats")["total_connections_received"])

        wanted = received() + 20
        for _ in range(20):
            self.connect()
        wait_until(lambda: received() >= wanted, "all are let in or turned away")
        self.assertEqual(self.asking().ask("PING"), "PONG")
        self.assertLessEqual(int(info(quick, "clients")["unauthenticated_clients"]), 3)
        self.assertLogged("(max_unauthenticated_clients): ")

    def test_at_max_clients_one_that_has_not_logged_in_gives_way(self):
        self.start("--max-clients", "5", "--unauthenticated-timeout", "0")
        quick = self.asking()
        newcomers = [self.connect() for _ in range(4)]
        wait_until(lambda: info(quick, "clients")["unauthenticated_clients"] == "4", "all came")
        for newcomer in newcomers[:2]:
            self.assertEqual(self.asking().ask("PING"), "PONG")
            self.assertTrue(newcomer.rest().startswith(
                b"-FULL max number of clients reached (max_clients), and this connection has not"))
        self.assertEqual(quick.ask("PING"), "PONG")
        self.assertLogged("(max_clients): ")

    def test_at_max_clients_one_whose_first_request_is_incomplete_gives_way(self):
        self.server = self.enterContext(Server("--max-clients", "5"))
        served = self.connect()
        self.assertEqual(served.ask("PING"), "PONG")
        served.send(b"*1\r\n$4\r\nPI")
        halves = [self.connect() for _ in range(4)]
        for half in halves:
            half.send(b"*1\r\n$4\r\nPI")
            time.sleep(0.1)
        for half in halves:
            self.assertEqual(self.connect().ask("PING"), "PONG")
            self.assertEqual(half.rest(), b"")
        # All have been served once, so no other one is let in.
        self.assertRefused(self.connect().reply(), "ERR", "max number of clients reached")
        served.send(b"NG\r\n")
        self.assertEqual(served.reply(), "PONG")


if __name__ == "__main__":
    unittest.main()
