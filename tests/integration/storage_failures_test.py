"""What clients see while the disk is slow, full or broken. strace injects the results of disk
calls."""

import concurrent.futures
import itertools
import os
import socket
import subprocess
import time
import unittest
import urllib.request

import own_server
from crash_cycles import Cycles
from kept_server import KeptServer
from resp import Ended, request
from traced_server import Traced, can_trace, injected

# DISK_FAULTS=200 makes each of the first 200 calls fail; the default is a few of them.
FAILING_CALLS = range(1, int(os.environ.get("DISK_FAULTS", "0")) + 1)
SLOW_SECONDS = 1.0
# Includes a tolerance, because the measured time may start a little late.
HELD_SECONDS = 0.8 * SLOW_SECONDS


@unittest.skipUnless(can_trace(), "no strace, or a build that is traced already")
class SlowDisk(unittest.TestCase):

    def setUp(self):
        delay = f"fdatasync:delay_enter={int(SLOW_SECONDS * 1e6)}"
        self.http_port = own_server.free_port()
        self.server = Traced("--durability", "sync", "--http-port", str(self.http_port),
                             wrapper=injected(delay))
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

    def ask_http(self, path):
        """Returns the answer, and when it arrived."""
        url = f"http://127.0.0.1:{self.http_port}{path}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read(), time.monotonic()

    def test_nothing_over_http_tells_of_a_grant_before_it_is_on_the_disk(self):
        taker = self.client()
        taker.settle()
        began = time.monotonic()
        taker.send(request("LOCK", "key", "a"))
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            while self.client().ask("INFO", "commandstats").count(b"cmdstat_lock:") == 0:
                pass
            lock = threads.submit(self.ask_http, "/api/v1/locks/0/key")
            health = threads.submit(self.ask_http, "/healthz")
            self.assertLess(health.result()[1] - began, HELD_SECONDS)
            self.assertIn(b'"owner":"a"', lock.result()[0])
            self.assertGreater(lock.result()[1] - began, HELD_SECONDS)
        self.assertGreater(taker.reply(), 0)

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
        # Closes with a reset, so that the server sees the close before it writes the reply.
        dying.reset()
        self.assertGreater(waiter.reply(), 0)
        self.assert_kept_by("b")

    def test_a_grant_whose_waiter_has_closed_meanwhile_is_passed_on(self):
        # A waiter that closes its connection, or only its sending side, has left the queue.
        leaves = {"key": socket.socket.close,
                  "other": lambda leaving: leaving.shutdown(socket.SHUT_WR)}
        holder = self.client()
        waiters = {(key, owner): self.client() for key in leaves for owner in "lw"}
        self.assertGreater(holder.ask("MLOCK", len(leaves), *leaves, "h"), 0)
        for (key, owner), client in waiters.items():
            client.send(request("LOCK", key, owner, "WAIT", "20s"))
            while holder.ask("POSITION", key, owner) is None:
                pass
        began = time.monotonic()
        holder.send(request("MUNLOCK", len(leaves), *leaves, "h"))
        while not self.is_writing():
            pass
        for key, leave in leaves.items():
            leave(waiters[key, "l"].socket)
        self.assertEqual(holder.reply(), len(leaves))
        self.assertGreater(time.monotonic() - began, HELD_SECONDS)
        for key in leaves:
            self.assertGreater(waiters[key, "w"].reply(), 0)
        self.assertLess(time.monotonic() - began, 10)
        self.assert_kept_by("w")

    def test_who_has_not_waited_is_answered_after_it_said_no_more(self):
        client = self.client()
        client.send(request("LOCK", "key", "a"))
        client.socket.shutdown(socket.SHUT_WR)
        self.assertRegex(client.rest(), rb"^:[0-9]+\r\n$")
        self.assert_kept_by("a")

    def is_writing(self):
        lines = self.client().ask("INFO", "persistence").decode().splitlines()
        figures = dict(line.split(":") for line in lines if ":" in line)
        return int(figures["journal_newest_batch"]) > int(figures["journal_completed_batch"])

    def assert_kept_by(self, owner):
        self.server.kill()
        self.server.wrapper = []
        self.server.start_again()
        client = self.client()
        self.assertEqual(client.ask("LOCKED", "key", owner), 1)
        self.assertEqual(client.ask("LOCKED", "key"), 1)


class FullDisk(unittest.TestCase):

    def test_with_little_room_locks_are_released_and_renewed_but_not_taken(self):
        server = self.enterContext(KeptServer())
        client = self.enterContext(server.connect())
        token = client.ask("LOCK", "a", "o")
        client.ask("LOCK", "b", "o")
        client.ask("SET", "r", "v")
        with server.connect() as session_holder:
            session = session_holder.ask("LOCK", "s", "o", "SESSION", "GRACE", "60s")
        client.ask("CONFIG", "SET", "min_free_disk", "1024gb")
        keys = (f"c{number}" for number in itertools.count())
        refused = self.until(lambda: client.ask("LOCK", next(keys), "o"), str)
        self.assertTrue(refused.startswith("STORAGE the disk has less free space"), refused)
        self.assertEqual(client.ask("RENEW", "a", "o"), 1)
        self.assertEqual(client.ask("UNLOCK", "b", "o"), 1)
        # A repeated LOCK by the holder is not new, even if it binds the session again.
        self.assertEqual(client.ask("LOCK", "a", "o", "EX", "60"), token)
        with server.connect() as again:
            self.assertEqual(again.ask("LOCK", "s", "o", "SESSION", "GRACE", "60s"), session)
        self.assertEqual(client.ask("SET", "r", "v", "EX", "60"), "OK")
        for request in (("LOCK", "new", "x", "WAIT", "1s"), ("SET", "new", "v", "NX"),
                        ("MLOCK", "2", "c", "d", "o")):
            refused = client.ask(*request)
            self.assertTrue(str(refused).startswith("STORAGE the disk has less free space"),
                            refused)
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
        """Applies load until the disk fails; then the server must end as documented, with nothing
        lost."""
        server = Traced("--durability", durability, "--flush-interval", "5ms")
        self.enterContext(server)
        cycles = Cycles(server, seed=3)
        for when in times:
            server.kill()
            server.wrapper = injected(f"{fault}:error=EIO:when={when}")
            if fault != "fdatasync":
                # Only the logs of the database. The journal's log is not among them, because these
                # numbers only increase.
                logs = sorted((server.data / "db").glob("*.log"))
                newest = int(logs[-1].stem) if logs else 0
                server.wrapper += [word for number in range(newest, newest + 100)
                                   for word in ("-P", f"{server.data}/db/{number:06}.log")]
            server.start_process()
            try:
                server.await_ready()
            except AssertionError:
                pass  # the server failed before it was ready
            else:
                cycles.load_to_the_end(60)
            self.assertEqual(server.end_code(), 3 if "storage has failed" in server.output() else 1,
                             server.output())
            server.wrapper = []
            began = time.monotonic()
            server.start_again()
            cycles.compare(began)

    def test_a_failed_sync_ends_the_server_and_loses_nothing(self):
        self.check("sync", "fdatasync", FAILING_CALLS or (2, 5, 11))

    def test_a_failed_sync_in_the_background_does_too(self):
        self.check("async", "fdatasync", FAILING_CALLS or (3, 6))

    def test_a_failed_write_does_too(self):
        self.check("async", "write", FAILING_CALLS or (1, 4, 30))
        # In mode sync, data is written with pwrite64, into space that has been written before.
        self.check("sync", "pwrite64", FAILING_CALLS or (2, 3, 9))


class FilledDisk(unittest.TestCase):
    """A file system of 64 MB that is filled under load."""

    META = "m" * 4096
    PIPELINE = 16

    def setUp(self):
        self.server = KeptServer("--log-level", "info")
        self.server.data.mkdir()
        if self.mount("size=64m") != 0:
            self.skipTest("this user may not mount")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.server.data)], check=False)
        self.held = {}

    def mount(self, options):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs",
                               str(self.server.data)], check=False, stderr=subprocess.DEVNULL
                              ).returncode

    def fill(self):
        """Takes locks until one is refused, or the server ends."""
        with self.server.connect() as client:
            for first in range(0, 100_000, self.PIPELINE):
                keys = [f"filling {first + i}" for i in range(self.PIPELINE)]
                try:
                    client.send(b"".join(request("LOCK", key, "o", "EX", 36_000, "META", self.META)
                                         for key in keys))
                    for key in keys:
                        reply = client.reply()
                        if not isinstance(reply, int):
                            return reply
                        self.held[key] = reply
                except (OSError, Ended):
                    return None
        raise AssertionError("64 MB are not full")

    def assert_all_is_there(self):
        with self.server.connect() as client:
            for key, token in self.held.items():
                self.assertEqual(client.ask("CHECK", key, token), 1, key)

    def test_without_a_guard_it_ends_as_documented_and_loses_nothing(self):
        with self.server as server:
            self.fill()
            self.assertEqual(server.end_code(), 3, server.output())
            self.assertIn("storage has failed: ", server.output())
            self.assertEqual(self.mount("remount,size=512m"), 0)
            server.start_again()
            self.assert_all_is_there()

    def test_with_a_guard_it_goes_on_without_taking_locks(self):
        self.server.options += ("--min-free-disk", "40mb")
        with self.server as server:
            refused = self.fill()
            self.assertIsNotNone(refused, server.output())
            self.assertTrue(refused.startswith("STORAGE the disk has less free space"), refused)
            key, _ = self.held.popitem()
            with server.connect() as client:
                self.assertEqual(client.ask("UNLOCK", key, "o"), 1)
            server.kill()
            self.start_with_more_room()
            self.assert_all_is_there()

    def start_with_more_room(self):
        """Starts the server, which writes the content of the log once more; if this guard was too
        small to keep space for that, makes the file system larger and starts it again."""
        server = self.server
        server.start_process()
        try:
            server.await_ready()
        except AssertionError:
            self.assertEqual(server.end_code(), 1, server.output())
            self.assertIn("cannot open the database", server.output())
            self.assertIn("No space left on device", server.output())
            self.assertEqual(self.mount("remount,size=512m"), 0)
            server.start_again()


if __name__ == "__main__":
    unittest.main()
