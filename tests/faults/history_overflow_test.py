"""HISTORY while its memory overflows many times over: its pages match what the clients did."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import own_server  # noqa: E402
import resp  # noqa: E402
from longest_ping import LongestPing  # noqa: E402
from own_server import Server  # noqa: E402

MEMORY = 1 << 20
KEYS = 100
PAIRS_PER_ROUND = 1000
ROUNDS = 4
PAGE = 1000
GROWTH_BYTES_MAX = 8 << 20


class Overflow(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server("--history-memory", str(MEMORY)))
        self.client = self.enterContext(self.server.connect())
        self.done = []  # (event, key, owner, token), oldest first

    def work(self, pairs):
        """Takes and releases locks in a known order."""
        first = len(self.done) // 2
        steps = [(f"key:{number % KEYS}".encode(), f"owner-{number}".encode())
                 for number in range(first, first + pairs)]
        self.client.send(b"".join(resp.request("LOCK", key, owner) +
                                  resp.request("UNLOCK", key, owner) for key, owner in steps))
        for key, owner in steps:
            token = self.client.reply()
            self.assertEqual(self.client.reply(), 1)
            self.done += [(b"granted", key, owner, token), (b"released", key, owner, token)]

    def page(self, key, before):
        reply = self.client.ask_map("HISTORY", key, "COUNT", PAGE, "BEFORE", before)
        events = [dict(zip(event[::2], event[1::2])) for event in reply[b"events"]]
        return ([(event[b"event"], event[b"key"], event[b"owner"], event[b"token"])
                 for event in events], reply[b"next_before"])

    def pages(self, key="*", work_between=0):
        """Returns all events, newest first, with new events happening between the pages."""
        events, before = self.page(key, 0)
        while before is not None:
            self.work(work_between)
            more, before = self.page(key, before)
            events += more
        return events

    def test_pages_are_the_end_of_what_was_done(self):
        self.work(PAIRS_PER_ROUND * 5)
        memory = self.server.resident_bytes()
        with LongestPing(self.server) as others:
            for _ in range(ROUNDS):
                self.work(PAIRS_PER_ROUND)
                told = self.pages()
                self.assertEqual(told, self.done[:-len(told) - 1:-1])
                self.assertGreater(len(told), MEMORY // 200)
            for key in (b"key:0", b"key:99"):
                told_of_key = [event for event in told if event[1] == key]
                self.assertEqual(self.pages(key), told_of_key)
        growth = self.server.resident_bytes() - memory
        print(f"{len(self.done)} events, {len(told)} of which fit into {MEMORY >> 20} MB: "
              f"{ROUNDS} times all pages without a gap; memory grew by {growth >> 20} MB; longest "
              f"PING of another connection {others.milliseconds:.1f} ms", flush=True)
        if own_server.IS_MEASURED:
            self.assertLess(growth, GROWTH_BYTES_MAX)

    def test_pages_that_are_read_while_their_events_are_forgotten(self):
        self.work(PAIRS_PER_ROUND * 10)
        done_at_first = len(self.done)
        told = self.pages(work_between=PAIRS_PER_ROUND // 5)
        # No event is repeated or out of order, and none is missing except those dropped meanwhile.
        self.assertEqual(told, self.done[done_at_first - len(told):done_at_first][::-1])
        self.assertGreater(len(told), PAGE)
        # Once its next events have been dropped, a slow reader gets an empty last page, and no
        # wrong events.
        _, before = self.page("*", 0)
        self.work(PAIRS_PER_ROUND * 10)
        self.assertEqual(self.page("*", before), ([], None))

    def test_what_was_forgotten_is_not_told_wrong(self):
        self.client.ask("LOCK", "early", "someone")
        self.client.ask("UNLOCK", "early", "someone")
        self.assertEqual(len(self.client.ask_map("HISTORY", "early")[b"events"]), 2)
        oldest = self.client.ask_map("HISTORY", "early")[b"oldest"]
        self.work(PAIRS_PER_ROUND * 10)
        reply = self.client.ask_map("HISTORY", "early")
        self.assertEqual(reply[b"events"], [])
        self.assertGreaterEqual(reply[b"oldest"], oldest)


if __name__ == "__main__":
    unittest.main()
