"""Whatever strangers send to the port, they get an error and are disconnected, at little cost."""

import os
import subprocess
import unittest

from own_server import IS_MEASURED, Server
import resp

FRAMES_MIN = 60
# A longer frame is cut near its ends and at a few places in between.
SHORT_BYTES = 300
CUTS_AT_ENDS = 40
CUTS_BETWEEN = 20
HELD_BYTES_MAX = 64 * 1024
# The maximum memory in bytes that a buffered byte costs, including the rounding of allocators.
COST_OF_A_BYTE_MAX = 1.25
AT_ONCE = 400


class Frame:

    def __init__(self, row):
        self.name, data, error, condition = row.split("\t")
        self.data = bytes.fromhex(data)
        self.error = bytes.fromhex(error).decode()
        self.needs_auth = condition == "before-auth"

    def cuts(self):
        size = len(self.data)
        if size <= SHORT_BYTES:
            return range(size + 1)
        near = {*range(CUTS_AT_ENDS), *range(size - CUTS_AT_ENDS, size + 1)}
        return sorted(near | set(range(0, size, size // CUTS_BETWEEN)))


def malformed_frames():
    table = subprocess.run([os.environ["MALFORMED_FRAMES"]], capture_output=True, text=True,
                           check=True).stdout
    frames = [Frame(row) for row in table.splitlines()]
    # This server requires no authentication.
    return [frame for frame in frames if not frame.needs_auth]


def send(connection, data):
    """Sends the data; what the server no longer reads may be lost."""
    try:
        connection.send(data)
    except (BrokenPipeError, ConnectionResetError):
        pass


class Strangers(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())

    def commands_processed(self):
        info = self.own.ask("INFO", "stats").decode()
        counts = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
        return int(counts["total_commands_processed"])

    def all_cut(self, data, cuts):
        """Returns a connection for each cut; the two parts were sent on it separately."""
        connections = [self.server.connect() for _ in cuts]
        for connection, cut in zip(connections, cuts):
            send(connection, data[:cut])
        self.own.settle()
        for connection, cut in zip(connections, cuts):
            send(connection, data[cut:])
        self.own.settle()
        return connections

    def check_refused(self, connection, error, name):
        with self.subTest(name), connection:
            self.assertEqual(connection.reply(), error)
            self.assertTrue(connection.has_ended())

    def check_unfinished(self, connection, name):
        with self.subTest(name), connection:
            connection.socket.settimeout(0)
            with self.assertRaises(BlockingIOError):
                connection.socket.recv(1)

    def test_each_frame_cut_at_every_byte(self):
        frames = malformed_frames()
        self.assertGreaterEqual(len(frames), FRAMES_MIN)
        tried = 0
        for frame in frames:
            cuts = list(frame.cuts())
            for begin in range(0, len(cuts), AT_ONCE):
                part = cuts[begin:begin + AT_ONCE]
                for cut, connection in zip(part, self.all_cut(frame.data, part)):
                    name = f"{frame.name}, cut at {cut}"
                    if frame.error:
                        error = f"ERR Protocol error: {frame.error}"
                        self.check_refused(connection, error, name)
                    else:
                        self.check_unfinished(connection, name)
                    tried += 1
        self.assertEqual(self.own.ask("DBSIZE"), 0)
        print(f"{len(frames)} malformed frames, {tried} connections")

    def held_bytes(self, data):
        """Returns the additional memory used by a connection that has sent this."""
        connections = [self.server.connect() for _ in range(AT_ONCE)]
        self.own.settle()
        before = self.server.resident_bytes()
        for connection in connections:
            connection.send(data)
        self.own.settle()
        held = (self.server.resident_bytes() - before) / AT_ONCE
        for connection in connections:
            connection.close()
        return held

    def test_a_claim_reserves_nothing(self):
        if not IS_MEASURED:
            self.skipTest("memory is not measured in this build")
        for frame in malformed_frames():
            if not frame.error:
                self.assertLess(self.held_bytes(frame.data), HELD_BYTES_MAX, frame.name)
        longest_line = b"a" * 65_000
        held = self.held_bytes(longest_line)
        print(f"an unfinished line of {len(longest_line)} bytes costs {held:.0f}")
        self.assertLess(held, len(longest_line) * COST_OF_A_BYTE_MAX)

    def test_abuse_leaves_nothing_behind(self):
        if not IS_MEASURED:
            self.skipTest("memory is not measured in this build")
        frames = [frame for frame in malformed_frames() if frame.error]

        def abuse(rounds):
            for _ in range(rounds):
                for frame in frames:
                    with self.server.connect() as connection:
                        send(connection, frame.data)
                        connection.rest()

        abuse(1)
        before = self.server.resident_bytes()
        abuse(5)
        grown = self.server.resident_bytes() - before
        print(f"resident memory after {5 * len(frames)} more malformed frames: {grown:+} bytes")
        self.assertLess(grown, 4 * 1024 * 1024)

    def test_nothing_of_an_http_request_is_executed(self):
        body = b"LOCK http owner\r\n"
        heads = [
            b"GET /LOCK/http/owner HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/7.88.1\r\n"
            b"Accept: */*\r\n\r\n" + body,
            b"POST / HTTP/1.1\r\nHost: 127.0.0.1:3247\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
            b"Content-Length: 17\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n" + body,
            b"POST /x HTTP/1.1\nHost: a\n\n" + body,
        ]
        for head in heads:
            before = self.commands_processed()
            cuts = list(range(65))
            for cut, connection in zip(cuts, self.all_cut(head, cuts)):
                name = f"{head[:20]}, cut at {cut}"
                self.check_refused(
                    connection, "ERR Protocol error: HTTP request; this port speaks RESP", name)
            # Five of the commands were ours: four PINGs in two settle() calls, and the request for
            # the count.
            self.assertEqual(self.commands_processed() - before, 5)
        self.assertEqual(self.own.ask("LOCKED", "http"), 0)

    def test_http_byte_by_byte(self):
        request = b"POST / HTTP/1.1\r\nHost: x\r\n\r\nLOCK http owner\r\n"
        with self.server.connect() as connection:
            for byte in request:
                send(connection, bytes([byte]))
                self.own.settle()
            self.check_refused(connection,
                               "ERR Protocol error: HTTP request; this port speaks RESP", "bytes")
        self.assertEqual(self.own.ask("LOCKED", "http"), 0)

    def test_what_stands_before_the_bad_bytes_is_done(self):
        with self.server.connect() as connection:
            connection.send(resp.request("LOCK", "k", "a") + b"*1\r\n+\r\n"
                            + resp.request("UNLOCK", "k", "a"))
            token = connection.reply()
            self.assertIsInstance(connection.reply(), resp.ErrorReply)
            self.assertTrue(connection.has_ended())
        self.assertEqual(self.own.ask("CHECK", "k", token), 1)


if __name__ == "__main__":
    unittest.main()
