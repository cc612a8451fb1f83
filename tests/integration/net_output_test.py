"""Clients that do not read their replies."""

import time
import unittest

from resp import request
from socket_server import SocketServer, send_until_full, take, wait_until

MEGABYTE = 1 << 20


class Output(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(SocketServer("--output-limit", "1mb"))
        self.own = self.enterContext(self.server.connect())

    def test_requests_are_not_read_while_replies_pile_up_and_none_is_lost(self):
        echo = request("ECHO", "x" * 1000)
        reply = b"$1000\r\n" + b"x" * 1000 + b"\r\n"
        slow = self.enterContext(self.server.connect())
        resident = self.server.resident_bytes()
        sent = send_until_full(slow, echo, 200 * MEGABYTE)
        self.assertLess(sent, 100 * MEGABYTE)
        self.assertLess(self.server.resident_bytes() - resident, 16 * MEGABYTE)
        self.assertEqual(self.own.ask("PING"), "PONG")
        cpu_s = self.server.cpu_seconds()
        time.sleep(1)
        self.assertLess(self.server.cpu_seconds() - cpu_s, 0.2)
        for _ in range(sent // len(echo)):
            self.assertEqual(take(slow, len(reply)), reply)
        slow.send(echo[sent % len(echo):] + request("PING"))
        self.assertEqual(take(slow, len(reply)), reply)
        self.assertEqual(slow.reply(), "PONG")

    def test_over_the_output_limit_a_connection_is_closed_and_counted(self):
        message = "m" * 4096
        messages = 400  # exceed the limit and the socket buffers together
        greedy = self.enterContext(self.server.connect_unix())
        greedy.ask("SUBSCRIBE", "news")
        for _ in range(messages):
            self.own.ask("PUBLISH", "news", message)
        self.assertLess(len(greedy.rest()), messages * len(message))
        self.assertEqual(self.server.info("client_output_buffer_limit_disconnections"), 1)
        wait_until(lambda: "did not read their replies (output_limit)" in self.server.output(),
                   "it is logged")


if __name__ == "__main__":
    unittest.main()
