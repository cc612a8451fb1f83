"""Runs a few cycles of crash_cycles.py, and proves that its checker detects faults."""

import dataclasses
import os
import time
import unittest

from crash_contenders import Grant
from crash_cycles import ENDS, Cycles
from crash_history import Broken, Held, Key, Line, Tokens
from kept_server import KeptServer

CYCLES = int(os.environ.get("CRASH_CYCLES", "6"))


class CrashCycles(unittest.TestCase):

    def check(self, durability):
        server = self.enterContext(KeptServer("--durability", durability, "--log-level", "error"))
        cycles = Cycles(server, seed=7)
        for cycle in range(CYCLES):
            cycles.run(cycles.chance.uniform(0.05, 0.3), ENDS[(cycle + 1) % len(ENDS)])
        self.assertGreater(cycles.answered, 0)
        self.assertGreater(cycles.checked, 0)
        self.check_planted_grant(cycles)

    def check_planted_grant(self, cycles):
        """Detects that a token which a client has received holds nothing."""
        cycles.contenders.all[0].grants = [Grant(["contended:0"], "planted", 1)]
        with cycles.server.connect() as client, self.assertRaises(Broken):
            cycles.contenders.check(client)

    def test_async_loses_nothing_when_the_process_ends(self):
        self.check("async")

    def test_sync_loses_nothing_when_the_process_ends(self):
        self.check("sync")


class Checker(unittest.TestCase):
    """Each planted fault is one that a real server could have."""

    def setUp(self):
        self.tokens = Tokens()
        self.key = Key("k", self.tokens)
        self.key.ask(("LOCK", "a", 60_000))
        self.key.answer(100)
        self.held = Held("a", 100, 59_999)

    def assert_found(self, *holders):
        with self.assertRaises(Broken):
            self.key.compare(list(holders), 10)

    def test_what_is_right_is_right(self):
        self.key.compare([self.held], 10)

    def test_a_lost_grant(self):
        self.assert_found()

    def test_a_lost_release(self):
        self.key.ask(("UNLOCK", "a", 0))
        self.key.answer(1)
        self.assert_found(self.held)

    def test_a_second_holder(self):
        self.assert_found(self.held, Held("b", 101, 60_000))

    def test_another_owner_or_token(self):
        self.assert_found(dataclasses.replace(self.held, owner="b"))
        self.assert_found(dataclasses.replace(self.held, token=101))

    def test_a_lost_length(self):
        self.key.ask(("RENEW", "a", 90_000))
        self.key.answer(1)
        self.assert_found(self.held)
        self.assert_found(dataclasses.replace(self.held, lease_ms=91_000))

    def test_a_lease_that_a_clean_stop_cut_short(self):
        self.key.state = dataclasses.replace(self.key.state, begun=time.monotonic() - 1)
        self.key.compare([dataclasses.replace(self.held, lease_ms=59_100)], 10, is_clean=True)
        with self.assertRaises(Broken):
            self.key.compare([dataclasses.replace(self.held, lease_ms=57_000)], 10, is_clean=True)

    def test_what_was_not_answered_may_have_happened_or_not_but_nothing_else(self):
        self.key.ask(("UNLOCK", "a", 0))
        self.assert_found(Held("b", 101, 60_000))
        self.key.compare([], 10)
        self.key.ask(("LOCK", "b", 60_000))
        self.key.compare([Held("b", 101, 60_000)], 10)

    def test_a_repeated_token_and_one_out_of_order(self):
        for token in (100, 99):
            other = Key("other", self.tokens)
            other.ask(("LOCK", "b", 60_000))
            with self.assertRaises(Broken):
                other.answer(token)
        unanswered = Key("unanswered", self.tokens)
        unanswered.ask(("LOCK", "c", 60_000))
        with self.assertRaises(Broken):
            unanswered.compare([Held("c", 100, 60_000)], 10)

    def test_a_line_that_lost_or_moved_a_place(self):
        line = Line("l")
        for owner in "abc":
            line.ask(("JOIN", owner))
            line.answer(None)
        for found in (["a", "b"], ["b", "a", "c"], ["a", "b", "c", "d"]):
            with self.assertRaises(Broken):
                line.compare(found)
        line.ask(("CANCEL", "b"))
        line.compare(["a", "c"])


if __name__ == "__main__":
    unittest.main()
