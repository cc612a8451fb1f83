"""redis-cli on a terminal: its completion and hints come from the server's own table."""

import unittest

from own_server import Server
from terminal import Terminal

LOCK_BEGIN = "key owner [EX seconds|PX milliseconds]"


class Help(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.prompt = f"127.0.0.1:{self.server.port}> "
        self.terminal = self.start()

    def start(self, *options):
        """Returns a redis-cli that is ready for input."""
        # Uses neither the tester's history nor preferences.
        home = {"HOME": str(self.server.directory)}
        address = ("-h", "127.0.0.1", "-p", str(self.server.port))
        terminal = self.enterContext(
            Terminal("redis-cli", *address, *options, environment=home))
        terminal.wait_for(self.prompt)
        return terminal

    def test_what_follows_is_hinted_behind_the_cursor(self):
        self.terminal.type("LOCK ")
        self.terminal.wait_for(f"{self.prompt}LOCK {LOCK_BEGIN}")
        self.terminal.type("order:42 ")
        hint = self.terminal.wait_for("order:42 owner [EX")
        self.assertIn("[META blob]", hint)

    def test_names_are_completed(self):
        self.terminal.type("lockin\t")
        self.terminal.wait_for("LOCKINFO key")

    def test_help_explains_a_command(self):
        self.terminal.type("HELP LOCK\r")
        text = self.terminal.wait_for("group: lock")
        self.assertIn(f"LOCK {LOCK_BEGIN}", text)
        self.assertIn("summary: Takes a lock", text)
        self.assertIn("since: 0.1.0", text)

    def test_help_explains_a_subcommand(self):
        self.terminal.type("HELP CONFIG SET\r")
        text = self.terminal.wait_for("group: server")
        self.assertIn("CONFIG SET setting value [setting value ...]", text)

    def test_help_lists_a_group(self):
        self.terminal.type("HELP @lock\r")
        text = self.terminal.wait_for("Waits until every hold")
        for name in ("BREAK", "LOCK", "LOCKS", "RENEW", "UNLOCK"):
            self.assertIn(f"\n  {name} ", text)

    def test_help_is_the_same_in_resp3(self):
        terminal = self.start("-3")
        terminal.type("HELP LOCK\r")
        self.assertIn(f"LOCK {LOCK_BEGIN}", terminal.wait_for("group: lock"))

    def test_a_lock_is_taken_by_typing(self):
        self.terminal.type("LOCK k w\r")
        self.terminal.wait_for("(integer) ")
        # Input that is typed before the next prompt appears is lost.
        self.terminal.wait_for(f"\n{self.prompt}")
        self.terminal.type("LOCKED k w\r")
        self.terminal.wait_for("(integer) 1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
