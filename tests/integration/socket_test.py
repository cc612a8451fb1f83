"""What a person with nc, a slow reader and a RESP3 client see of the server."""

import stat
import subprocess
import time
import unittest

from own_server import IS_MEASURED, Server, note_figure
import resp

MEGABYTE = 1024 * 1024


class Sockets(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())

    def nc(self, typed, *options):
        return subprocess.run(["nc", *options], input=typed, capture_output=True, timeout=20,
                              check=True).stdout

    def test_lines_typed_into_nc(self):
        answer = self.nc(b"LOCK order:42 me PX 30000\nLOCKED order:42\r\nLOCK order:42 'you too'\n"
                         b"unlock order:42 me\n\n  \nPING\n", "-N", "127.0.0.1",
                         str(self.server.port))
        lines = answer.split(b"\r\n")
        self.assertRegex(lines[0], rb"^:\d+$")
        self.assertEqual(lines[1:], [b":1", b"$-1", b":1", b"+PONG", b""])

    def test_nc_on_the_unix_socket(self):
        path = str(self.server.unix_socket)
        self.assertEqual(self.nc(b"PING\nQUIT\n", "-U", path), b"+PONG\r\n+OK\r\n")
        self.assertEqual(stat.S_IMODE(self.server.unix_socket.stat().st_mode), 0o700)

    def test_the_unix_socket_speaks_to_the_same_locks(self):
        with self.server.connect_unix() as local:
            token = local.ask("LOCK", "k", "local")
            self.assertIsNone(self.own.ask("LOCK", "k", "remote"))
            self.own.send(resp.request("LOCK", "k", "remote", "WAIT", "10s"))
            while local.ask("POSITION", "k", "remote") != 1:
                time.sleep(0.001)
            self.assertEqual(local.ask("UNLOCK", "k", "local"), 1)
            self.assertGreater(self.own.reply(), token)
            self.assertIn(f"addr={self.server.unix_socket}:0".encode(),
                          local.ask("CLIENT", "INFO"))

    def test_resp3(self):
        with self.server.connect() as connection:
            hello = connection.ask("HELLO", "3", "SETNAME", "modern")
            self.assertIsInstance(hello, dict)
            self.assertEqual(hello[b"proto"], 3)
            self.own.ask("LOCK", "k", "a")
            connection.send(resp.request("LOCK", "k", "b"))
            self.assertEqual(connection.socket.recv(100), b"_\r\n")
            explained = connection.ask("LOCK", "k", "b", "EXPLAIN")
            self.assertIsInstance(explained, dict)
            self.assertIsInstance(explained[b"holders"][0], dict)
            self.assertIsNone(explained[b"token"])
            self.assertIsInstance(connection.ask("LOCKINFO", "k"), dict)
            self.assertEqual(connection.ask("RESET"), "RESET")
            connection.send(resp.request("LOCK", "k", "b"))
            self.assertEqual(connection.socket.recv(100), b"$-1\r\n")
            self.assertIsNone(connection.ask("CLIENT", "GETNAME"))

    def test_a_request_in_pieces_far_apart(self):
        request = resp.request("LOCK", "k", "a", "META", "m" * 4000)
        with self.server.connect() as connection:
            for begin in range(0, len(request), 97):
                connection.send(request[begin:begin + 97])
                self.own.settle()
            self.assertGreater(connection.reply(), 0)

    def test_ten_thousand_requests_in_one_piece(self):
        requests = b"".join(resp.request(command, f"k{number}", "a")
                            for number in range(5000) for command in ("LOCK", "UNLOCK"))
        with self.server.connect() as connection:
            connection.socket.settimeout(20)
            connection.send(requests)
            tokens = []
            for _ in range(5000):
                tokens.append(connection.reply())
                self.assertEqual(connection.reply(), 1)
            self.assertEqual(tokens, sorted(set(tokens)))

    def test_one_busy_connection_does_not_starve_another(self):
        with self.server.connect() as busy:
            busy.socket.setblocking(False)
            ping = resp.request("PING") * 2000
            slowest = 0
            for _ in range(200):
                try:
                    busy.socket.send(ping)
                    busy.socket.recv(MEGABYTE)
                except BlockingIOError:
                    pass
                begin = time.monotonic()
                self.own.ask("PING")
                slowest = max(slowest, time.monotonic() - begin)
            note_figure("delays.ping_beside_busy_connection_ms", slowest * 1000)


class SlowReader(unittest.TestCase):

    def test_who_does_not_read_is_no_longer_read(self):
        """The replies to a client that does not read are buffered up to a limit; when it reads
        again, it gets every one of them."""
        with Server() as server, server.connect() as own, server.connect() as slow:
            before = server.resident_bytes()
            payload = b"x" * 10_000
            request = resp.request("ECHO", payload)
            slow.socket.setblocking(False)
            pending = b""
            asked = 0
            quiet_since = time.monotonic()
            while time.monotonic() - quiet_since < 0.3 and asked < 100 * MEGABYTE / len(payload):
                if not pending:
                    pending = request
                    asked += 1
                try:
                    pending = pending[slow.socket.send(pending):]
                    quiet_since = time.monotonic()
                except BlockingIOError:
                    self.assertEqual(own.ask("PING"), "PONG")
            self.assertLess(asked, 100 * MEGABYTE / len(payload), "it is read without end")
            if IS_MEASURED:
                grown = server.resident_bytes() - before
                print(f"a reader that does not read costs {grown / 1024:.0f} KB")
                self.assertLess(grown, 20 * MEGABYTE)
            slow.socket.settimeout(20)
            # The last request may have been sent only in part: reading first lets the rest follow.
            for _ in range(asked - 1):
                self.assertEqual(slow.reply(), payload)
            slow.send(pending)
            self.assertEqual(slow.reply(), payload)
            self.assertEqual(slow.ask("PING"), "PONG")


if __name__ == "__main__":
    unittest.main()
