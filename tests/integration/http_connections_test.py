"""HTTP connections: their limits, and those that stay open for events."""

import asyncio
import json
import socket
import threading
import time
import unittest

import websockets

import resp
from http_server import HttpServer, WithServer


class Crowds(WithServer):

    def connect_in_turn(self, server, count, text=b""):
        """Opens that many connections, one after the other, and sends the text on each."""
        made = []
        for _ in range(count):
            made.append(self.enterContext(socket.create_connection(
                ("127.0.0.1", server.http_port), 20)))
            made[-1].sendall(text)
            time.sleep(0.1)
        return made

    def test_the_one_that_was_idle_longest_gives_way_to_a_new_one(self):
        with HttpServer("--http-max-clients", "5") as server:
            begun, = self.connect_in_turn(server, 1, b"GET /healthz HTTP/1.1\r\n")
            watcher, = self.connect_in_turn(
                server, 1, b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"
                b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            self.assertIn(b"101 Switching Protocols", watcher.recv(1000))
            idle = self.connect_in_turn(server, 3)
            self.assertEqual(server.ask("GET", "/healthz")[0], 200)
            self.assertEqual(idle[0].recv(1), b"")
            begun.sendall(b"Host: localhost\r\n\r\n")
            self.assertIn(b"200 OK", begun.recv(1000))
            for still in (watcher, idle[1], idle[2]):
                still.setblocking(False)
                self.assertRaises(BlockingIOError, still.recv, 1000)
            with server.connect() as own:
                self.assertIn(b"rejected_connections:1\r\n", own.ask("INFO", "stats"))

    def watch_all(self, server, count):
        """Opens WebSockets, none of which gives way to another connection."""
        watchers = self.connect_in_turn(
            server, count, b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        for watcher in watchers:
            self.assertIn(b"101 Switching Protocols", watcher.recv(1000))
        return watchers

    def test_if_none_is_idle_the_oldest_incomplete_one_gives_way(self):
        with HttpServer("--http-max-clients", "5") as server:
            begun = self.connect_in_turn(server, 5, b"GET /healthz HTTP/1.1\r\n")
            self.assertEqual(server.get("/api/v1/locks")[0], 200)
            self.assertEqual(begun[0].recv(1), b"")
            begun[1].sendall(b"Host: localhost\r\n\r\n")
            self.assertIn(b"200 OK", begun[1].recv(1000))

    def test_one_that_is_incomplete_for_long_gives_way_before_an_idle_one(self):
        with HttpServer("--http-max-clients", "5") as server:
            idle = self.connect_in_turn(server, 4)
            begun, = self.connect_in_turn(server, 1, b"GET /healthz HTTP/1.1\r\n")
            time.sleep(1.1)
            self.assertEqual(server.get("/api/v1/locks")[0], 200)
            self.assertEqual(begun.recv(1), b"")
            idle[0].setblocking(False)
            self.assertRaises(BlockingIOError, idle[0].recv, 1)

    def test_while_all_are_in_use_only_probes_are_answered(self):
        with HttpServer("--http-max-clients", "5") as server:
            watchers = self.watch_all(server, 5)
            for _ in range(50):
                for probe in ("/healthz", "/readyz", "/leaderz", "/metrics"):
                    status, headers, _ = server.ask("GET", probe)
                    self.assertEqual((status, headers["Connection"]), (200, "close"), probe)
            status, answer = server.get("/api/v1/locks")
            self.assertEqual((status, answer["error"]["code"]), (503, "TRYAGAIN"))
            watchers[0].close()
            time.sleep(0.1)
            self.assertEqual(server.get("/api/v1/locks")[0], 200)

    def test_probes_are_answered_during_a_flood_of_requests_that_never_end(self):
        """The flood has no credentials, and many times as many connections as are allowed."""
        begins = (b"", b"G", b"GET /healthz HTTP/1.1\r\nHo",
                  b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n",
                  b"POST /api/v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        with HttpServer("--http-max-clients", "20") as server:
            is_over = threading.Event()

            def flood():
                held = []
                while not is_over.is_set():
                    for begin in begins:
                        held.append(socket.create_connection(("127.0.0.1", server.http_port), 20))
                        held[-1].sendall(begin)
                    while len(held) > 100:
                        held.pop(0).close()
                    time.sleep(0.01)
                for stream in held:
                    stream.close()

            thread = threading.Thread(target=flood)
            thread.start()
            try:
                time.sleep(0.5)
                for _ in range(50):
                    self.assertEqual(server.ask("GET", "/healthz")[0], 200)
            finally:
                is_over.set()
                thread.join()

    def test_a_header_that_comes_slowly_has_little_time(self):
        with socket.create_connection(("127.0.0.1", self.server.http_port), 30) as slow:
            begin = time.monotonic()
            slow.sendall(b"GET /healthz HTTP/1.1\r\n")
            self.assertEqual(slow.recv(1), b"")
            self.assertLess(time.monotonic() - begin, 20)


def events_of(server, target, act, wanted):
    """Returns the events that a WebSocket receives while `act` runs; waits for at least
    `wanted`."""
    async def watch():
        found = []
        async with websockets.connect(f"ws://127.0.0.1:{server.http_port}{target}") as socket_:
            thread = threading.Thread(target=act)
            thread.start()
            while len(found) < wanted:
                found += json.loads(await asyncio.wait_for(socket_.recv(), 20))
            thread.join()
        return found

    return asyncio.run(watch())


class Watching(WithServer):

    def act(self):
        for key in ("a1", "b1", "a2"):
            self.own.ask("LOCK", key, "o")
            self.own.ask("UNLOCK", key, "o")

    def test_events_come_as_they_happen(self):
        events = events_of(self.server, "/api/v1/events", self.act, 6)
        self.assertEqual([(event["event"], event["key"]) for event in events],
                         [(event, key) for key in ("a1", "b1", "a2")
                          for event in ("granted", "released")])

    def test_only_those_that_match(self):
        events = events_of(self.server, "/api/v1/events?match=a*", self.act, 4)
        self.assertEqual([event["key"] for event in events], ["a1", "a1", "a2", "a2"])

    def test_a_glob_is_of_the_key_and_not_of_the_channel(self):
        def act():
            with self.server.connect() as other:
                other.ask("SELECT", 12)
                for key in ("zz__:order:1", "order:1"):
                    other.ask("LOCK", key, "o")
                    self.own.ask("LOCK", key, "o")

        events = events_of(self.server, "/api/v1/events?match=order:1", act, 2)
        self.assertEqual([(event["db"], event["key"]) for event in events],
                         [(12, "order:1"), (0, "order:1")])

    def test_who_does_not_read_is_closed_and_nobody_notices(self):
        with socket.create_connection(("127.0.0.1", self.server.http_port), 20) as slow:
            slow.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                         b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            self.assertIn(b"101 Switching Protocols", slow.recv(100))
            clients = []
            for _ in range(200):
                requests = b"".join(resp.request("LOCK", "k" * 200, "o") +
                                    resp.request("UNLOCK", "k" * 200, "o") for _ in range(200))
                self.own.send(requests)
                for _ in range(400):
                    self.own.reply()
                clients = self.server.get("/api/v1/clients")[1]["clients"]
                if not any(client["name"] == "http-events" for client in clients):
                    break
            self.assertNotIn("http-events", [client["name"] for client in clients])


if __name__ == "__main__":
    unittest.main()
