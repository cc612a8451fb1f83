"""Four kinds of clients compete for one lock: clients that poll with redis-py, redlock on ioredis,
clients that wait with LOCK, and clients of clients/java, which wait over a channel, if
deploy/build-java-client.sh has built them. FLEET_SECONDS sets the duration in seconds, by default
6, and FLEET_SIZE sets the number of clients of each kind, by default 8.

The holds that the clients believe they have are compared by the machine's clock; the server's view
is read from its events. The fleet runs twice: with the default configuration, where native requests
come first, and with compat.keep_place, where all clients share one queue.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

import redis

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))
from own_server import Server  # noqa: E402

SECONDS = float(os.environ.get("FLEET_SECONDS", "6"))
SIZE = int(os.environ.get("FLEET_SIZE", "8"))
KEY = "fleet"
HOLD_SECONDS = 0.002
LEASE_MS = 5000
REDLOCK = pathlib.Path(__file__).parent / "node" / "redlock_fleet.js"
JAVA = pathlib.Path(__file__).resolve().parents[2] / "clients/java/target"
HAS_JAVA = (JAVA / "complete").exists()
KINDS = 4 if HAS_JAVA else 3


class Fleet:

    def __init__(self, server, native_pause):
        self.server = server
        self.native_pause = native_pause
        self.stop_at = None
        # Kind, client, start and end in ns of the monotonic clock, token, time of the first
        # request.
        self.holds = []
        self.ended_natively = 0
        self.failures = []

    def connect(self):
        return redis.Redis(port=self.server.port, socket_timeout=60)

    def hold(self, kind, client, asked, looking, token=None):
        begin = time.monotonic_ns()
        if token is None:
            token = dict(zip(*[iter(looking.execute_command("LOCKINFO", KEY))] * 2))
            token = dict(zip(*[iter(token[b"holders"][0])] * 2))[b"token"]
        time.sleep(HOLD_SECONDS)
        self.holds.append((kind, client, begin, time.monotonic_ns(), token, asked))

    def wait_natively(self, client):
        own = self.connect()
        while time.monotonic() < self.stop_at:
            asked = time.monotonic_ns()
            token = own.execute_command("LOCK", KEY, f"native-{client}", "PX", LEASE_MS,
                                        "WAIT", "30s")
            self.hold("native", client, asked, own, token)
            assert own.execute_command("UNLOCK", KEY, f"native-{client}") == 1
            time.sleep(self.native_pause)

    def poll(self, client):
        own, looking = self.connect(), self.connect()
        while time.monotonic() < self.stop_at:
            asked = time.monotonic_ns()
            lock = own.lock(KEY, timeout=LEASE_MS / 1000, sleep=0.005)
            assert lock.acquire(blocking_timeout=60)
            self.hold("redis-py", client, asked, looking)
            lock.release()
            time.sleep(0.02)

    def end_late(self):
        """Acts as a Redis client whose lease ended long ago: tries to end any hold taken with
        LOCK."""
        own = self.connect()
        late = own.register_script(
            "if redis.call('get', KEYS[1]) == '' then return redis.call('del', KEYS[1]) end "
            "return 0")
        while time.monotonic() < self.stop_at:
            self.ended_natively += late(keys=[KEY])
            time.sleep(0.001)

    def start_java(self, environment):
        """Returns when all its threads are connected: to begin takes Java seconds."""
        java = subprocess.Popen(["/bin/sh", str(JAVA / "program"), "FleetOfWaiters"],
                                env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        assert java.stdout.readline() == b"ready\n", "clients/java does not start"
        return java

    def guard(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as failure:  # any failure in any thread fails the test
            self.failures.append(f"{work.__name__}: {failure!r}")

    def run(self):
        tasks = [(self.wait_natively, i) for i in range(SIZE)]
        tasks += [(self.poll, i) for i in range(SIZE)] + [(self.end_late,)]
        threads = [threading.Thread(target=self.guard, args=task) for task in tasks]
        environment = {**os.environ, "PORT": str(self.server.port), "KEY": KEY,
                       "SIZE": str(SIZE), "SECONDS": str(SECONDS), "LEASE_MS": str(LEASE_MS),
                       "NATIVE_PAUSE": str(self.native_pause)}
        java = self.start_java(environment) if HAS_JAVA else None
        self.stop_at = time.monotonic() + SECONDS
        node = subprocess.Popen(["node", str(REDLOCK)], env=environment, stdout=subprocess.PIPE)
        for thread in threads:
            thread.start()
        java_output = java.communicate(f"{SECONDS}\n".encode(), timeout=120)[0] if java else b""
        for thread in threads:
            thread.join()
        output, _ = node.communicate(timeout=60)
        assert node.returncode == 0, "redlock failed"
        assert java is None or java.returncode == 0, "clients/java failed"
        self.holds += [tuple(json.loads(line))
                       for line in (output + java_output).splitlines()]
        self.holds.sort(key=lambda hold: hold[2])


class Events:
    """Collects the server's events for the key, in order."""

    def __init__(self, server):
        self.subscription = redis.Redis(port=server.port).pubsub()
        self.subscription.subscribe(f"__lock@0__:{KEY}")
        self.all = []
        self.is_over = False
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        while not self.is_over:
            message = self.subscription.get_message(timeout=0.2)
            if message is not None and message["type"] == "message":
                self.all.append(json.loads(message["data"]))

    def stop(self):
        time.sleep(0.5)
        self.is_over = True
        self.thread.join()


# A poller that does not repeat its request within this time loses its place.
KEEP = "5s"
# While one client waits, every other client may be served once, but not twice. The extra half
# allows for requests that a client has started to send but that the server has not received yet.
ROUNDS_MAX = 1.5


class MixedFleet(unittest.TestCase):

    def play(self, native_pause, *options):
        with Server(*options) as server:
            events = Events(server)
            fleet = Fleet(server, native_pause)
            fleet.run()
            events.stop()
        self.assertEqual(fleet.failures, [])
        self.check_that_one_holds(fleet.holds)
        self.assertEqual(fleet.ended_natively, 0)
        clients = {(kind, client) for kind, client, *_ in fleet.holds}
        self.assertEqual(len(clients), KINDS * SIZE)
        return fleet, events.all

    def test_who_waits_comes_before_who_polls(self):
        # While a native client waits in the queue, pollers are not served.
        fleet, events = self.play(SIZE * 0.03)
        self.print_counts(fleet, "by default")
        self.check_that_natives_are_in_order(events)

    def test_with_keep_place_all_stand_in_one_line(self):
        fleet, events = self.play(0.02, "--compat.keep-place", KEEP)
        self.print_counts(fleet, f"with compat.keep_place {KEEP}")
        self.check_that_all_are_in_order(events)
        holds = [hold for hold in fleet.holds if hold[2] < fleet.stop_at * 1e9]
        round_seconds = SECONDS / len(holds) * KINDS * SIZE
        longest = {}
        for kind, _, begin, _, _, asked in holds:
            others = sum(asked < other[2] < begin for other in holds)
            longest[kind] = max(longest.get(kind, (0, 0)), (others, (begin - asked) / 1e9))
        print(f"fair share: {KINDS * SIZE} grants, {round_seconds:.3f} s; longest wait: "
              + ", ".join(f"{kind} {others} grants, {seconds:.3f} s"
                          for kind, (others, seconds) in longest.items()))
        for kind, (others, _) in longest.items():
            self.assertLess(others, ROUNDS_MAX * KINDS * SIZE, kind)

    def print_counts(self, fleet, how):
        counts = {}
        for kind, *_ in fleet.holds:
            counts[kind] = counts.get(kind, 0) + 1
        print(f"\nholds of {SIZE} clients each in {SECONDS:g} s {how}: {counts}")

    def check_that_one_holds(self, holds):
        """Requires that each hold ends before the next one starts, and that tokens increase."""
        for before, after in zip(holds, holds[1:]):
            self.assertLessEqual(before[3], after[2], f"{before} and {after}")
            self.assertLess(before[4], after[4], f"{before} and {after}")

    def check_that_natives_are_in_order(self, events):
        """Requires that waiters are granted the lock in the order in which they joined the queue,
        and that pollers are not granted it while anyone waits."""
        line = []
        for event in events:
            if event["event"] == "queued":
                line.append(event["owner"])
            elif event["event"] == "granted" and line:
                self.assertEqual(event["owner"], line.pop(0))
        self.assertGreater(sum(event["event"] == "queued" for event in events), SIZE)

    def check_that_all_are_in_order(self, events):
        """Requires that grants follow the order of the queue. A value joins the queue with its
        second request, but its place depends on the time of its first one."""
        asked = {}  # clients in the order of their first denial
        standing = set()
        for event in events:
            owner = event["owner"]
            if event["event"] == "denied":
                asked.setdefault(owner, None)
            elif event["event"] == "queued":
                asked.setdefault(owner, None)
                standing.add(owner)
            elif event["event"] == "granted":
                first = next((one for one in asked if one in standing or one == owner), owner)
                self.assertEqual(owner, first)
                asked.pop(owner, None)
                standing.discard(owner)
        self.assertGreater(sum(event["event"] == "queued" for event in events), 10 * SIZE)


if __name__ == "__main__":
    if not HAS_JAVA:
        print("skipped, clients/java: deploy/build-java-client.sh has not built it")
    unittest.main(verbosity=2)
