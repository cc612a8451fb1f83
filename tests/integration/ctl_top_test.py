"""fairlockctl top, in a terminal inside tmux."""

import subprocess
import tempfile
import time
import unittest

from fairlockctl import PROGRAM, WRONG_USE, Fairlockctl
from own_server import Server

PATIENCE_SECONDS = 20


class Tmux:
    """A terminal with one program in it; used in a with statement."""

    def __init__(self, environment, *words, columns=100, rows=30):
        self.size = ("-x", str(columns), "-y", str(rows))
        self.folder = tempfile.TemporaryDirectory(prefix="fairlock-tmux-")
        self.environment = environment
        self.words = words

    def __enter__(self):
        self.tmux("-f", "/dev/null", "new-session", "-d", *self.size, *self.words)
        return self

    def __exit__(self, *failure):
        self.tmux("kill-server", check=False)
        self.folder.cleanup()

    def tmux(self, *words, check=True):
        done = subprocess.run(["tmux", "-S", self.folder.name + "/socket", *words], check=check,
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                              env={**self.environment, "TERM": "xterm-256color"})
        return done.stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def text(self):
        return self.tmux("capture-pane", "-p", check=False)

    def wait_for(self, *wanted):
        """Polls until all these texts are on the screen."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            text = self.text()
            if all(part in text for part in wanted):
                return text
            if time.monotonic() > give_up:
                raise AssertionError(f"{wanted} are not on the screen:\n{text}")
            time.sleep(0.05)


class TopTest(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.server.connect()
        self.addCleanup(self.own.close)
        self.ctl = Fairlockctl(self.server)

    def wait_in_line(self, key, owner, database=0):
        waiter = self.server.connect()
        waiter.ask("SELECT", str(database))
        self.addCleanup(waiter.close)
        before = self.own.ask_map("LOCKINFO", key)[b"waiters"]
        waiter.send(f"LOCK {key} {owner} WAIT 1h LABEL jobs\r\n".encode())
        while self.own.ask_map("LOCKINFO", key)[b"waiters"] == before:
            pass
        return waiter

    def start(self, *words, **size):
        return self.enterContext(
            Tmux(self.ctl.environment, str(PROGRAM), "top", "--every", "200ms", *words, **size))

    def test_the_line_of_a_contended_key_moves(self):
        self.own.ask("LOCK", "busy", "w0", "LABEL", "jobs")
        waiters = [self.wait_in_line("busy", f"w{number}") for number in range(1, 6)]
        self.own.ask("LOCK", "quiet", "a")
        screen = self.start()
        text = screen.wait_for("MOST WAITED FOR", "busy", "BUSIEST LABELS", "jobs")
        self.assertRegex(text, r"\nbusy +0 +5 +\S+ +\S+ +w0 *\n")
        self.assertIn("2 locks, 2 holders, 5 waiters", text)
        # Below it, if there is room, are locks without waiters.
        self.assertRegex(text, r"\nbusy .*\nquiet +0 +0 +- ")
        screen.type("Enter")
        text = screen.wait_for("busy, database 0: 1 holding, 5 waiting")
        self.assertRegex(text, r"\n +1 +w1 .*\n +2 +w2 .*\n +3 +w3 ")
        for number in range(3):
            self.own.ask("UNLOCK", "busy", f"w{number}")
            self.assertIsInstance(waiters[number].reply(), int)
        text = screen.wait_for("busy, database 0: 1 holding, 2 waiting")
        self.assertRegex(text, r"\nw3 +\d+ +exclusive ")
        self.assertRegex(text, r"\n +1 +w4 .*\n +2 +w5 ")
        screen.type("Escape")
        self.assertRegex(screen.wait_for("MOST WAITED FOR"), r"\nbusy +0 +2 ")
        self.assertIn("h history   / filter   s sort   b break   ? help", screen.text())

    def test_lines_are_cut_to_a_narrow_terminal(self):
        self.own.ask("LOCK", "busy", "a")
        self.wait_in_line("busy", "b")
        screen = self.start(columns=40, rows=12)
        lines = screen.wait_for("MOST", "busy ").splitlines()
        self.assertEqual(lines[0], "healthy")
        self.assertRegex(lines[1], r"^longest wait: busy, database 0: b for .*…$")
        self.assertRegex(lines[2], r"^fairlockd .*…$")
        self.assertRegex(lines[3], r"^1 locks, 1 holders, 1 waiters; .*…$")
        self.assertRegex(lines[4], r"^per second: .*…$")
        self.assertEqual(lines[11], "? help  q quit")

    def test_columns_can_be_read_at_80_and_at_50(self):
        key, owner = "reports:nightly:eu-west-1", "worker-17:4711:0a1b2c"
        self.own.ask("LOCK", key, owner, "LABEL", "reports")
        self.wait_in_line(key, "b")
        for columns, has, lacks in ((80, ("LONGEST WAIT", "HELD FOR", key[:18], owner[:18]), ()),
                                    (50, ("WAITING", key[:15], owner[:11]), ("LONGEST WAIT",))):
            screen = self.start(columns=columns, rows=20)
            text = screen.wait_for("BUSIEST LABELS", "q quit", *has)
            for title in lacks:
                self.assertNotIn(title, text)
            self.assertLessEqual(max(len(line) for line in text.splitlines()), columns)
            screen.type("Enter")
            screen.wait_for("HOLDER", "LEASE LEFT", "PLACE", "WAITED", owner[:11])

    def test_the_height_is_used(self):
        for number in range(60):
            self.own.ask("LOCK", f"key-{number:02}", "a")
        for rows in (20, 50):
            text = self.start(rows=rows).wait_for("key-00", "BUSIEST LABELS", "q quit")
            self.assertEqual(sum(line.startswith("key-") for line in text.splitlines()),
                             rows - 11, text)

    def test_keys_are_filtered(self):
        for key in ("orders:1", "orders:2", "jobs:1"):
            self.own.ask("LOCK", key, "a")
        screen = self.start()
        screen.wait_for("orders:1", "jobs:1")
        screen.type("/", "o", "r", "x", "BSpace")
        screen.wait_for("/or_")
        screen.type("Enter")
        text = screen.wait_for("only keys that match or", "orders:2")
        self.assertNotIn("jobs:1", text)
        screen.type("Escape")
        screen.wait_for("jobs:1")
        screen.type("/", "*", ":", "1", "Enter")
        self.assertNotIn("orders:2", screen.wait_for("only keys that match *:1", "jobs:1"))

    def test_the_history_of_a_key_and_the_help_are_a_key_away(self):
        self.own.ask("LOCK", "k", "a")
        self.own.ask("LOCK", "k", "b")
        screen = self.start()
        screen.wait_for("k ")
        screen.type("h")
        screen.wait_for("History of k, database 0", "granted", "denied")
        self.own.ask("UNLOCK", "k", "a")
        screen.wait_for("released")
        screen.type("?")
        screen.wait_for("show only keys that match")
        screen.type("Escape")
        screen.wait_for("History of k")
        screen.type("Escape")
        screen.wait_for("No lock is held or waited for.")

    def test_a_lease_is_broken_after_a_question(self):
        self.own.ask("SELECT", "3")
        self.own.ask("LOCK", "stuck", "a")
        waiter = self.wait_in_line("stuck", "b", database=3)
        screen = self.start()
        screen.wait_for("stuck")
        screen.type("b")
        screen.wait_for("End 1 hold on stuck by force? [y/N]   held by a; next: b")
        screen.type("n")
        screen.wait_for("nothing was done")
        self.assertEqual(self.own.ask("LOCKED", "stuck", "a"), 1)
        screen.type("b")
        screen.wait_for("[y/N]")
        screen.type("y")
        screen.wait_for("1 hold on stuck ended by force")
        self.assertIsInstance(waiter.reply(), int)
        self.assertRegex(screen.wait_for("stuck ", " b"), r"\nstuck +3 +0 ")

    def test_rows_are_chosen_and_sorted(self):
        self.own.ask("LOCK", "older", "a")
        self.wait_in_line("older", "b")
        time.sleep(0.05)  # so that the key with the most waiters does not have the longest wait
        self.own.ask("LOCK", "longer", "a")
        for owner in ("b", "c"):
            self.wait_in_line("longer", owner)
        screen = self.start()
        self.assertRegex(screen.wait_for("MOST WAITED FOR", "older"), r"\nlonger .*\nolder ")
        screen.type("s")
        self.assertRegex(screen.wait_for("LONGEST WAITS"), r"\nolder .*\nlonger ")
        screen.type("s", "s")
        screen.wait_for("MOST WAITED FOR")
        screen.type("Down", "Enter")
        screen.wait_for("older, database 0: ")

    def test_a_server_that_goes_away_is_told_and_found_again(self):
        screen = self.start()
        screen.wait_for("No lock is held or waited for.")
        self.own.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        self.own.ask("LOCK", "k", "a")
        self.wait_in_line("k", "b")
        screen.wait_for("\nk ")
        screen.type("q")
        give_up = time.monotonic() + PATIENCE_SECONDS
        while screen.tmux("list-sessions", check=False) and time.monotonic() < give_up:
            time.sleep(0.05)
        self.assertEqual(screen.tmux("list-sessions", check=False), "")

    def test_it_wants_a_terminal(self):
        done = self.ctl.run("top")
        self.assertEqual(done.returncode, WRONG_USE)
        self.assertIn("top needs a terminal", done.stderr)


if __name__ == "__main__":
    unittest.main()
