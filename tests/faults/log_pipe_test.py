"""The server has much to log, and nobody reads the log."""

import contextlib
import fcntl
import os
import unittest

import measured
from socket_server import SocketServer


class PipedServer(SocketServer):
    """A server whose standard error is a full pipe."""

    def __init__(self, *options):
        self.reading, self.writing = os.pipe()
        fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, 4096)
        super().__init__(*options, stderr=self.writing)

    def __enter__(self):
        server = super().__enter__()
        os.set_blocking(self.writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.writing, b"x" * 100)
        # The server shares the open file description of this pipe, so it must stay blocking.
        os.set_blocking(self.writing, True)
        return server

    def __exit__(self, *failure):
        super().__exit__(*failure)
        os.close(self.reading)
        os.close(self.writing)


class LogPipe(measured.Fault):
    name = "a log that nobody reads"
    options = ("--log-level", "debug")

    def server(self):
        return PipedServer(*self.options)

    def beside(self, server):
        # Each connection causes two log lines.
        return measured.attackers(server, "storm", 300)

    def check(self, server):
        os.set_blocking(server.reading, False)
        text = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                text += os.read(server.reading, 1 << 16)
        assert b"xxxxx" in text, "the pipe was not full"


FAULT = LogPipe()


class LogPipeTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
