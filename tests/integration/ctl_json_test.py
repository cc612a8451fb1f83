"""fairlockctl --json for every command, and the escaping of text that reaches a terminal."""

import json
import unittest

from fairlockctl import Fairlockctl, PROGRAM
from own_server import Server
from terminal import Terminal


class WithServer(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())
        self.ctl = Fairlockctl(self.server)


class OfEveryCommand(WithServer):

    def test_every_command_answers_programs(self):
        ask = lambda *words: self.answer(*words, "--json")
        ask("lock", "k", "me")
        self.assertEqual(ask("renew", "k", "me")["renewed"], 1)
        self.assertEqual(ask("break", "k", "--dry-run")["targets"][0]["holders"][0]["owner"], "me")
        self.assertEqual(ask("break", "k", "--yes")["ended"],
                         {"holds": 1, "reservations": 0, "coolings": 0})
        self.assertEqual(ask("wait", "k"), {"key": "k", "free": 1})
        self.assertEqual(ask("limit", "set", "k*", "3"), {"pattern": "k*", "db": 0, "limit": 3})
        self.assertEqual(ask("limit", "del", "k*")["deleted"], 1)
        self.assertEqual(ask("drain", "k*"), {"pattern": "k*", "db": 0, "held": 0,
                                              "waited_for": 0})
        self.assertEqual(ask("resume", "k*")["deleted"], 1)
        self.assertEqual(ask("config", "set", "max_keep", "30s"),
                         {"option": "max_keep", "value": "30s"})
        self.assertEqual(ask("complete", "options", "max_ke")["names"], ["max_keep"])
        for words in (("cancel", "k", "me"), ("unlock", "k", "me"), ("kill", "4711")):
            self.assertIn(0, ask(*words).values(), words)
        help_text = self.ctl.text("--help")
        for name in ("unlock", "break", "drain", "kill", "run", "wait"):
            self.assertIn("--json", self.ctl.text(name, "--help"))
            self.assertIn(name, help_text)

    def answer(self, *words):
        return json.loads(self.ctl.run(*words).stdout)


class OnATerminal(WithServer):

    def start(self, *words):
        return self.enterContext(
            Terminal(str(PROGRAM), *words, environment=self.ctl.environment))

    # Characters that terminals act on or do not show: CSI as a C1 control, changes of direction, a
    # joiner, a filler, a tag, DEL.
    OBEYED = ("\x9b", "\u202e", "\u2066", "\u200d", "\u115f", "\U000e0041", "\x7f")

    def test_json_has_nothing_that_it_would_obey(self):
        key = "k" + "".join(self.OBEYED) + "e\u0301ü"
        self.own.ask("LOCK", key, "o" + self.OBEYED[0], "META", "m" + self.OBEYED[1])
        for words in (("locks",), ("show", key), ("why", key), ("history", key), ("status",),
                      ("owner", "o" + self.OBEYED[0])):
            terminal = self.start(*words, "--json")
            terminal.wait_for("}\r\n")
            drawn = terminal.drawn.decode()
            for character in self.OBEYED:
                self.assertNotIn(character, drawn, (words, hex(ord(character))))
            json.loads(drawn)
            if words[0] == "locks":
                self.assertEqual(json.loads(drawn)["locks"][0]["key"], key)
                self.assertIn("ü", drawn)
        # JSON output contains the characters unchanged, for programs.
        self.assertIn(self.OBEYED[0], self.ctl.text("locks", "--json"))

    def test_events_as_json_have_nothing_that_it_would_obey(self):
        terminal = self.start("watch", "--json", "--count", "1")
        while self.own.ask("PUBSUB", "NUMPAT") == 0:
            pass
        self.own.ask("LOCK", "k\x9b2J", "a")
        drawn = terminal.wait_for("}\r\n")
        self.assertNotIn("\x9b", drawn)
        self.assertEqual(json.loads(drawn)["key"], "k\x9b2J")


if __name__ == "__main__":
    unittest.main()
