"""Runs soak.py for half a minute, and shows that it detects a wrong record."""

import json
import unittest

from lock_record import Broken, LockRecord
from soak import soak


def message(event, key, owner, token=None):
    return json.dumps({"event": event, "key": key, "owner": owner, "token": token})


class Soak(unittest.TestCase):

    def test_half_a_minute(self):
        text, is_good = soak(minutes=0.5, clients=40)
        self.assertTrue(is_good, text)


class Record(unittest.TestCase):

    def setUp(self):
        self.dead = set()
        self.record = LockRecord(self.dead.__contains__)

    def take(self, *messages):
        for one in messages:
            self.record.take(message(*one))

    def test_two_holders_of_one_lock(self):
        self.take(("granted", "one:1", "a", 1))
        with self.assertRaises(Broken):
            self.take(("granted", "one:1", "b", 2))

    def test_three_in_a_room_for_two(self):
        self.take(("granted", "two:1", "a", 1), ("granted", "two:1", "b", 2))
        with self.assertRaises(Broken):
            self.take(("granted", "two:1", "c", 3))

    def test_a_writer_beside_a_reader(self):
        self.take(("granted", "doc:1", "reader-1", 1), ("granted", "doc:1", "reader-2", 2))
        with self.assertRaises(Broken):
            self.take(("granted", "doc:1", "writer-1", 3))

    def test_a_token_that_does_not_rise(self):
        self.take(("granted", "one:1", "a", 5))
        with self.assertRaises(Broken):
            self.take(("granted", "one:2", "b", 5))

    def test_one_who_is_passed_over(self):
        self.take(("granted", "one:1", "a", 1), ("queued", "one:1", "b"), ("queued", "one:1", "c"),
                  ("released", "one:1", "a", 1))
        self.dead.add("b")
        self.take(("granted", "one:1", "c", 2), ("released", "one:1", "c", 2),
                  ("queued", "one:1", "d"))
        self.dead.clear()
        with self.assertRaises(Broken):
            self.take(("granted", "one:1", "d", 3))

    def test_an_end_without_a_hold(self):
        with self.assertRaises(Broken):
            self.take(("released", "one:1", "a", 1))


if __name__ == "__main__":
    unittest.main()
