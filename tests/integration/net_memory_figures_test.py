"""What a connection costs in memory; measured against a bar."""

import resource
import unittest

from own_server import IS_MEASURED
from resp import request
from socket_server import SocketServer, wait_until

BYTES_MAX = 4096


def raise_descriptor_limit(wanted):
    """How many connections this process may have, after raising its own limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard - 200)


@unittest.skipUnless(IS_MEASURED, "not in a sanitizer's build")
class Memory(unittest.TestCase):

    def test_10000_idle_connections_cost_at_most_4_kb_each(self):
        count = raise_descriptor_limit(10_000)
        self.assertGreaterEqual(count, 800, "too few descriptors for a figure")
        server = self.enterContext(
            SocketServer("--tcp-backlog", "4096", "--max-clients", str(count + 10)))
        before = server.resident_bytes()
        for _ in range(count):
            client = self.enterContext(server.connect())
            # Each has talked, with replies that did not fit into a small buffer.
            client.send(request("ECHO", "x" * 2000) * 10)
            for _ in range(10):
                client.reply()
        wait_until(lambda: server.info("connected_clients") == count + 1, "all are in")
        each = (server.resident_bytes() - before) / count
        print(f"{count} idle connections: {each:.0f} bytes each")
        self.assertLessEqual(each, BYTES_MAX)


if __name__ == "__main__":
    unittest.main()
