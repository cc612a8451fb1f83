"""A holder with NOTIFY learns that its hold was broken, has expired or was transferred, and not
before that; notes how soon."""

import json
import random
import time
import unittest

from own_server import Server, note_figure

SAMPLES = 1000
LEASE_MS = (20, 60)


class NotifyDelay(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.client = self.enterContext(self.server.connect())
        self.ear = self.enterContext(self.server.connect())
        self.ear.ask("SUBSCRIBE", "losses")

    def hear(self, key, reason):
        """Reads the next message, which must report this loss; returns its time of arrival."""
        kind, channel, text = self.ear.reply()
        heard = time.monotonic()
        message = json.loads(text)
        self.assertEqual((kind, channel), (b"message", b"losses"))
        self.assertEqual((message["event"], message["key"], message["owner"], message["reason"]),
                         ("lost", key, "holder", reason))
        return heard

    def judge(self, what, late_seconds):
        late_ms = sorted(1000 * seconds for seconds in late_seconds)
        p50_ms, p99_ms = (late_ms[len(late_ms) * percent // 100] for percent in (50, 99))
        print(f"lost, {what}: p50 {p50_ms:.2f} ms, p99 {p99_ms:.2f} ms, "
              f"longest {late_ms[-1]:.2f} ms")
        self.assertGreater(late_ms[0], 0, "a loss was told before it happened")
        note_figure(f"delays.lost_{what}_p99_ms", p99_ms)

    def hold(self, key, *options):
        token = self.client.ask("LOCK", key, "holder", *options, "NOTIFY", "losses")
        self.assertIsInstance(token, int)

    def test_broken(self):
        late = []
        for number in range(SAMPLES):
            self.hold(f"key:{number}", "EX", 600)
            asked = time.monotonic()
            self.assertEqual(self.client.ask("BREAK", f"key:{number}"), 1)
            late.append(self.hear(f"key:{number}", "broken") - asked)
        self.judge("broken", late)

    def test_transferred(self):
        late = []
        for number in range(SAMPLES):
            self.hold(f"key:{number}", "EX", 600)
            asked = time.monotonic()
            self.assertIsInstance(
                self.client.ask("TRANSFER", f"key:{number}", "holder", "heir"), int)
            late.append(self.hear(f"key:{number}", "transferred") - asked)
        self.judge("transferred", late)

    def test_expired(self):
        chance = random.Random(1)
        late = []
        for number in range(SAMPLES // 4):
            lease_ms = chance.randint(*LEASE_MS)
            asked = time.monotonic()
            self.hold(f"key:{number}", "PX", lease_ms)
            late.append(self.hear(f"key:{number}", "expired") - asked - lease_ms / 1000)
        self.judge("expired", late)


if __name__ == "__main__":
    unittest.main(verbosity=2)
