"""How requests arrive: in pieces, many at once, or just before an end of file."""

import socket
import time
import unittest

from resp import request
from socket_server import SocketServer, wait_until

PING = request("PING")
PONG = b"+PONG\r\n"


def exchange(connection, requests, answer_bytes, on_each_round=lambda: None):
    """Sends without waiting for replies, and receives without waiting until everything is sent."""
    connection.socket.setblocking(False)
    sent = 0
    answer = bytearray()
    give_up = time.monotonic() + 60
    while len(answer) < answer_bytes and time.monotonic() < give_up:
        try:
            sent += connection.socket.send(requests[sent:sent + 1_000_000])
        except BlockingIOError:
            pass
        on_each_round()
        try:
            answer += connection.socket.recv(1 << 20)
        except BlockingIOError:
            pass
    return bytes(answer)


class Requests(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(SocketServer())

    def setUp(self):
        self.own = self.enterContext(self.server.connect())

    def is_held(self, key):
        with self.server.connect() as asking:
            return asking.ask("LOCKED", key) == 1

    def test_a_request_cut_anywhere(self):
        first = request("ECHO", "one")
        requests = first + b"PING\r\n" + request("ECHO", "two")
        for cut in range(1, len(requests)):
            self.own.send(requests[:cut])
            if cut >= len(first):  # a complete request is answered without waiting for the rest
                self.assertEqual(self.own.reply(), b"one")
                self.own.send(requests[cut:])
            else:
                time.sleep(0.001)
                self.own.send(requests[cut:])
                self.assertEqual(self.own.reply(), b"one")
            self.assertEqual(self.own.reply(), "PONG")
            self.assertEqual(self.own.reply(), b"two")

    def test_the_largest_argument_in_many_pieces(self):
        word = b"x" * (512 * 1024)
        whole = request("ECHO", word)
        for begin in range(0, len(whole), 50_000):
            self.own.send(whole[begin:begin + 50_000])
        self.assertEqual(self.own.reply(), word)

    def test_a_long_pipeline_is_answered_whole_and_in_order(self):
        numbers = range(20_000)
        requests = b"".join(request("ECHO", number) for number in numbers)
        expected = b"".join(b"$%d\r\n%d\r\n" % (len(str(number)), number) for number in numbers)
        self.assertEqual(exchange(self.own, requests, len(expected)), expected)

    def test_a_long_pipeline_does_not_hold_up_others(self):
        count = 100_000
        other = self.enterContext(self.server.connect())
        waited_s = []

        def ask():
            begin = time.monotonic()
            self.assertEqual(other.ask("PING"), "PONG")
            waited_s.append(time.monotonic() - begin)

        answer = exchange(self.own, PING * count, len(PONG) * count, ask)
        self.assertEqual(answer, PONG * count)
        self.assertLess(max(waited_s), 10)

    def test_what_came_before_an_end_of_file_is_executed_and_answered(self):
        self.own.send(request("ECHO", "before") + PING * 5000)
        self.own.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(self.own.rest(), b"$6\r\nbefore\r\n" + PONG * 5000)

    def test_half_a_request_before_an_end_of_file_is_not_executed(self):
        self.own.send(PING + request("LOCK", "half", "owner")[:-4])
        self.own.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(self.own.rest(), PONG)
        self.assertFalse(self.is_held("half"))

    def test_nothing_behind_quit_is_executed(self):
        self.own.send(request("QUIT") + request("LOCK", "behind-quit", "owner"))
        self.assertEqual(self.own.rest(), b"+OK\r\n")
        self.assertFalse(self.is_held("behind-quit"))

    def test_a_protocol_error_is_answered_although_more_was_sent(self):
        self.own.send(b"*1\r\n$x\r\n" + b"y" * 30_000)
        self.assertTrue(self.own.rest().startswith(b"-ERR Protocol error"))

    def test_reset_connections_leave_nothing_behind(self):
        self.own.settle()
        wait_until(lambda: self.server.info("connected_clients") == 2, "only these are left")
        before = self.server.descriptors()
        for _ in range(20):
            broken = self.server.connect()
            broken.send(PING)
            # Closes the connection with a reset.
            broken.reset()
        wait_until(lambda: self.server.descriptors() <= before, "the descriptors are closed")
        self.assertEqual(self.own.ask("PING"), "PONG")

    def test_a_killed_client_is_closed(self):
        other = self.enterContext(self.server.connect())
        self.assertEqual(self.own.ask("CLIENT", "KILL", "ID", other.ask("CLIENT", "ID")), 1)
        self.assertEqual(other.rest(), b"")


if __name__ == "__main__":
    unittest.main()
