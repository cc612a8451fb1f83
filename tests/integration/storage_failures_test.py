"""What clients see while the disk is slow, full or broken. The disk's answers are strace's."""

import os
import shutil
import socket
import struct
import time
import unittest

import own_server
from crash_cycles import Cycles
from kept_server import KeptServer
from resp import request

SLOW_SECONDS = 0.4
# A part of that: the machine may be slow too, but only in one direction.
HELD_SECONDS = 0.8 * SLOW_SECONDS


def can_trace():
    return shutil.which("strace") is not None and own_server.IS_MEASURED


def injected(what):
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={what.split(':')[0]}",
            "-e", f"inject={what}"]


class Traced(KeptServer):
    """The server is the child of strace, which ends as it does."""

    def kill(self):
        pid = int((self.data / "fairlock.lock").read_text())
        os.kill(pid, 9)
        self.process.wait()


@unittest.skipUnless(can_trace(), "no strace, or a build that is traced already")
class SlowDisk(unittest.TestCase):

    def setUp(self):
        delay = f"fdatasync:delay_enter={int(SLOW_SECONDS * 1e6)}"
        self.server = Traced("--durability", "sync", wrapper=injected(delay))
        self.enterContext(self.server)

    def client(self):
        return self.enterContext(self.server.connect())

    def test_nothing_tells_of_a_grant_before_it_is_on_the_disk(self):
        taker, looker, asker, listener = (self.client() for _ in range(4))
        listener.ask("SUBSCRIBE", "__lock@0__:key")
        taker.settle()
        began = time.monotonic()
        taker.send(request("LOCK", "key", "a"))
        looker.settle()
        looker.send(request("LOCKED", "key"))
        asker.send(request("LOCK", "key", "b"))
        self.assertEqual(self.client().ask("PING"), "PONG")
        self.assertLess(time.monotonic() - began, HELD_SECONDS)
        for client, expected in ((looker, 1), (asker, None)):
            self.assertEqual(client.reply(), expected)
            self.assertGreater(time.monotonic() - began, HELD_SECONDS)
        self.assertGreater(taker.reply(), 0)
        self.assertIn(b'"granted"', listener.reply()[2])

    def test_a_lease_counts_from_when_its_reply_may_leave(self):
        client = self.client()
        token = client.ask("LOCK", "key", "a", "PX", int(SLOW_SECONDS * 900))
        self.assertEqual(client.ask("CHECK", "key", token), 1)
        ttl_ms = client.ask_map("LOCKINFO", "key")[b"holders"][0]
        ttl_ms = dict(zip(ttl_ms[::2], ttl_ms[1::2]))[b"ttl_ms"]
        self.assertGreater(ttl_ms, SLOW_SECONDS * 600)

    def test_a_grant_whose_connection_died_meanwhile_is_passed_on(self):
        dying, waiter = self.client(), self.client()
        dying.send(request("LOCK", "key", "a"))
        waiter.settle()
        waiter.send(request("LOCK", "key", "b", "WAIT", "20s"))
        # A reset, so that the end is seen before the reply is written.
        dying.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        dying.close()
        self.assertGreater(waiter.reply(), 0)
        self.server.kill()
        self.server.wrapper = []
        self.server.start_again()
        client = self.client()
        self.assertEqual(client.ask("LOCKED", "key", "b"), 1)
        self.assertEqual(client.ask("LOCKED", "key"), 1)


class FullDisk(unittest.TestCase):

    def test_with_little_room_locks_are_released_and_renewed_but_not_taken(self):
        server = self.enterContext(KeptServer())
        client = self.enterContext(server.connect())
        client.ask("LOCK", "a", "o")
        client.ask("LOCK", "b", "o")
        client.ask("CONFIG", "SET", "min_free_disk", "1024gb")
        refused = self.until(lambda: client.ask("LOCK", "c", "o"), str)
        self.assertTrue(refused.startswith("STORAGE the disk has less room"), refused)
        self.assertEqual(client.ask("RENEW", "a", "o"), 1)
        self.assertEqual(client.ask("UNLOCK", "b", "o"), 1)
        client.ask("CONFIG", "SET", "min_free_disk", "0")
        self.until(lambda: client.ask("LOCK", "d", "o"), int)

    def until(self, ask, kind):
        give_up = time.monotonic() + 20
        while not isinstance(reply := ask(), kind):
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.05)
        return reply


@unittest.skipUnless(can_trace(), "no strace, or a build that is traced already")
class BrokenDisk(unittest.TestCase):

    def check(self, durability, fault, times):
        """Load until the disk fails; then the end must be the documented one, and nothing lost."""
        server = Traced("--durability", durability, "--flush-interval", "5ms")
        self.enterContext(server)
        cycles = Cycles(server, seed=3)
        for when in times:
            server.stop()
            server.wrapper = injected(f"{fault}:error=EIO:when={when}")
            server.start_process()
            try:
                server.await_ready()
            except AssertionError:
                pass  # it failed before it was ready
            else:
                cycles.load_to_the_end(20)
            self.assertEqual(server.end_code(), 3 if "storage has failed" in server.output() else 1,
                             server.output())
            server.wrapper = []
            began = time.monotonic()
            server.start_again()
            cycles.compare(began)

    def test_a_failed_sync_ends_the_server_and_loses_nothing(self):
        self.check("sync", "fdatasync", (2, 5, 11))

    def test_a_failed_sync_in_the_background_does_too(self):
        self.check("async", "fdatasync", (3, 6))


if __name__ == "__main__":
    unittest.main()
