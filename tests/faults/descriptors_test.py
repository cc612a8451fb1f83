"""A process that may open only a few files, and more clients than that."""

import contextlib
import itertools
import os
import resource
import unittest

import measured
from resp import Connection
from socket_server import wait_until

FILES = 300


def limit_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


class Descriptors(measured.Fault):
    name = "no descriptors left"
    settings = {"preexec_fn": limit_files}

    @contextlib.contextmanager
    def beside(self, server):
        # There are first as many clients as the server accepts, and then more than it can accept.
        with measured.attackers(server, "crowd", FILES):
            self.require(server, "refused because of max_clients")
            pid = server.process.pid

            def cannot_accept():
                used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
                # A closed descriptor leaves a gap, which the next connection would use. So does a
                # client that is refused while this looks, so it looks again.
                free = next(number for number in itertools.count() if number not in used)
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, FILES))
                return "cannot accept connections: Too many open files" in server.output()

            try:
                wait_until(cannot_accept, "the server cannot accept connections")
                yield
            finally:
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (FILES, FILES))

    def check(self, server):
        self.require(server, "the hard limit on open files leaves no room")
        with Connection.to(("127.0.0.1", server.port)) as client:
            wait_until(lambda: client.ask("PING") == "PONG", "new clients are served again")

    @staticmethod
    def require(server, text):
        wait_until(lambda: text in server.output(), f"the log says: {text}")


FAULT = Descriptors()


class DescriptorsTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
