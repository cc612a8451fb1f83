"""Histories written by hand, for tests of the checker."""

import unittest

import fleet_checker
from fleet_holds import MS
from records import Closed, History, Request


class Tale(unittest.TestCase):
    """A history written by hand, with times in milliseconds."""

    def setUp(self):
        self.history = History()

    def ask(self, sent, answered, text, reply=None, client=1, connection=1):
        """Adds a request; `answered` None: the client lost its connection 1 ms later."""
        words = [int(word) if word.isdigit() else word for word in text.split()]
        self.history.requests.append(Request(
            client, connection, sent * MS, words,
            None if answered is None else answered * MS, reply))

    def lose(self, sent, at, text, client=1):
        self.ask(sent, None, text, client=client)
        self.history.closes.append(Closed(client, 1, at * MS, "reset"))

    def look(self, sent, answered, *owners, client=9):
        """Adds a QUEUE of key k; owners in lower case wait, and those in upper case are absent."""
        places = [["owner", owner.lower(), "state", "waiting" if owner.islower() else "absent"]
                  for owner in owners]
        self.ask(sent, answered, "QUEUE k", places, client)

    def assert_found(self, *rules):
        self.assertEqual(sorted(fleet_checker.summary(fleet_checker.judge(self.history))),
                         sorted(rules))

    def assert_clean(self):
        self.assertEqual([str(finding) for finding in fleet_checker.judge(self.history)], [])

    def held(self, owner="a", token=10, at=100, lease=20_000, more="", client=1):
        self.ask(at, at + 1, f"LOCK k {owner} PX {lease} {more}", token, client)
