"""Time on a running server: nothing ends early. Notes how late it ends."""

import random
import statistics
import time
import unittest

from own_server import Server, note_figure

SAMPLES = 150


class Time(unittest.TestCase):

    def setUp(self):
        server = self.enterContext(Server())
        self.holder = self.enterContext(server.connect())
        self.waiter = self.enterContext(server.connect())
        self.chance = random.Random(4711)

    def check(self, milliseconds, lasted):
        """`lasted` is measured from before the request was sent until after the end was
        received."""
        early = [milliseconds / 1000 - seconds for seconds in lasted]
        print(f"{len(lasted)} samples: at most {max(early) * 1000:.3f} ms early, median "
              f"{-statistics.median(early) * 1000:.3f} ms late")
        self.assertLessEqual(max(early), 0)
        note_figure("delays.end_of_time_median_ms", -statistics.median(early) * 1000)

    def at_any_part_of_a_millisecond(self):
        time.sleep(self.chance.random() / 1000)

    def test_a_lease_does_not_end_early(self):
        lasted = []
        for number in range(SAMPLES):
            self.at_any_part_of_a_millisecond()
            begin = time.monotonic()
            self.holder.ask("LOCK", f"k{number}", "holder", "PX", 5)
            self.waiter.ask("LOCK", f"k{number}", "waiter", "WAIT", "10s")
            lasted.append(time.monotonic() - begin)
        self.check(5, lasted)

    def test_a_renewed_lease_does_not_end_early(self):
        lasted = []
        for number in range(SAMPLES):
            self.holder.ask("LOCK", f"k{number}", "holder", "EX", 60)
            self.at_any_part_of_a_millisecond()
            begin = time.monotonic()
            self.assertEqual(self.holder.ask("RENEW", f"k{number}", "holder", "PX", 5), 1)
            self.assertEqual(self.waiter.ask("WAIT", f"k{number}", "TIMEOUT", "10s"), 1)
            lasted.append(time.monotonic() - begin)
        self.check(5, lasted)

    def test_a_lease_that_nobody_waits_for_does_not_end_early(self):
        lasted = []
        for number in range(SAMPLES):
            self.at_any_part_of_a_millisecond()
            begin = time.monotonic()
            token = self.holder.ask("LOCK", f"k{number}", "holder", "PX", 2)
            while self.waiter.ask("CHECK", f"k{number}", token) == 1:
                pass
            lasted.append(time.monotonic() - begin)
        self.check(2, lasted)

    def test_a_wait_does_not_end_early(self):
        self.holder.ask("LOCK", "k", "holder", "EX", 600)
        lasted = []
        for _ in range(SAMPLES):
            self.at_any_part_of_a_millisecond()
            begin = time.monotonic()
            self.assertIsNone(self.waiter.ask("LOCK", "k", "waiter", "WAIT", "5ms"))
            lasted.append(time.monotonic() - begin)
        self.check(5, lasted)


if __name__ == "__main__":
    unittest.main()
