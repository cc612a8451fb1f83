"""The `expired` event of a lease is read after the lease's end, while 100,000 other leases run;
notes how soon."""

import multiprocessing
import random
import time
import unittest

from own_server import Server, note_figure
from resp import Connection, request

OTHER_LEASES = 100_000
OTHERS_AT_ONCE = 1000
SAMPLES = 2000
LEASE_MS = (100, 1500)
CHANNEL = "__keyevent@0__:expired"


def hear(port, is_ready, results):
    """Reports when each sample's event arrived; runs in its own process."""
    with Connection.to(("127.0.0.1", port)) as connection:
        connection.ask("SUBSCRIBE", CHANNEL)
        is_ready.set()
        heard = {}
        while len(heard) < SAMPLES:
            key = connection.reply()[2]
            heard[int(key.removeprefix(b"sample:"))] = time.monotonic()
        results.send(heard)


def take_others(connection):
    """Takes leases that end long after the test, at 100,000 different times."""
    for first in range(0, OTHER_LEASES, OTHERS_AT_ONCE):
        connection.send(b"".join(
            request("LOCK", f"other:{number}", "me", "PX", 600_000 + 30 * number)
            for number in range(first, first + OTHERS_AT_ONCE)))
        for _ in range(OTHERS_AT_ONCE):
            connection.reply()


def take_samples(connection):
    """Returns the earliest possible end of each lease: as if granted when it was requested."""
    chance = random.Random(1)
    ends = []
    for number in range(SAMPLES):
        lease_ms = chance.randint(*LEASE_MS)
        asked = time.monotonic()
        connection.ask("LOCK", f"sample:{number}", "me", "PX", lease_ms)
        ends.append(asked + lease_ms / 1000)
        time.sleep(0.001)
    return ends


class ExpiredEvent(unittest.TestCase):

    def test_it_comes_at_the_end_of_the_lease(self):
        with Server() as server, server.connect() as connection:
            take_others(connection)
            is_ready = multiprocessing.Event()
            results, there = multiprocessing.Pipe(duplex=False)
            ear = multiprocessing.Process(target=hear, args=(server.port, is_ready, there))
            ear.start()
            self.addCleanup(ear.kill)
            self.assertTrue(is_ready.wait(20))
            ends = take_samples(connection)
            self.assertTrue(results.poll(20), "not every event came")
            heard = results.recv()
            self.assertEqual(connection.ask("DBSIZE"), OTHER_LEASES)
        late_ms = sorted(1000 * (heard[number] - end) for number, end in enumerate(ends))
        p50_ms, p99_ms = (late_ms[SAMPLES * percent // 100] for percent in (50, 99))
        print(f"expired behind the lease's end: p50 {p50_ms:.2f} ms, p99 {p99_ms:.2f} ms, "
              f"longest {late_ms[-1]:.2f} ms; {OTHER_LEASES} other leases")
        self.assertGreater(late_ms[0], 0, "an event came before its lease's end")
        note_figure("delays.expired_event_p99_ms", p99_ms)


if __name__ == "__main__":
    unittest.main(verbosity=2)
