"""fairlockctl run: a lost hold is noticed before the next renewal; notes how soon.

FAIRLOCK_LOSS_ROUNDS=200 runs that many rounds of each kind instead of a few.
"""

import os
import re
import select
import subprocess
import time
import unittest

from fairlockctl import LOST, Fairlockctl
from own_server import Server, hash_of, note_figure

ROUNDS = int(os.environ.get("FAIRLOCK_LOSS_ROUNDS", "3"))
PATIENCE_SECONDS = 30
RENEWALS = re.compile(r"cmdstat_m?renew:calls=(\d+)")


class Runs(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())
        self.ctl = Fairlockctl(self.server)

    def start(self, *words, ctl=None):
        """Returns a runner whose command has started."""
        runner = (ctl or self.ctl).start(
            "run", *words, "--owner", "me", "--", "sh", "-c", "echo begun; exec sleep 60",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, runner)
        self.assertTrue(select.select([runner.stdout], [], [], PATIENCE_SECONDS)[0])
        self.assertEqual(runner.stdout.readline(), "begun\n")
        return runner

    @staticmethod
    def end(runner):
        if runner.poll() is None:
            runner.kill()
        runner.communicate(timeout=PATIENCE_SECONDS)

    def renewals(self):
        """Returns how many renewals there have been."""
        return sum(map(int, RENEWALS.findall(self.own.ask("INFO", "commandstats").decode())))

    def lose(self, runner, *request):
        """Returns the seconds from the request to the SIGTERM, which is sent before the loss is
        printed."""
        # After a transfer, a renewal shows whether the hold is still its own.
        before = self.renewals() + (request[0] in ("RENEW", "TRANSFER"))
        begin = time.monotonic()
        self.own.ask(*request)
        said = runner.stderr.readline()
        took = time.monotonic() - begin
        self.is_told = self.renewals() == before
        self.assertIn("ending the command", said)
        runner.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(runner.returncode, LOST)
        return took, said


class AtOnce(Runs):

    KINDS = {"broken": ("BREAK", "k"), "expired": ("RENEW", "k", "me", "PX", "1"),
             "transferred": ("TRANSFER", "k", "me", "other"), "released": ("UNLOCK", "k", "me")}

    def rounds(self, words, request):
        times, is_told = [], []
        for _ in range(ROUNDS):
            took, said = self.lose(self.start(*words), *request)
            times.append(took)
            is_told.append(self.is_told)
            for key in ("a", "k"):
                self.own.ask("BREAK", key)
        # A renewal may come in between by chance, but not in every round.
        self.assertIn(True, is_told, "only a renewal noticed it")
        return sorted(times), said

    def judge(self, name, times):
        p99 = times[len(times) * 99 // 100 - (0 if len(times) % 100 else 1)]
        print(f"{name}: median {times[len(times) // 2] * 1000:.1f} ms, "
              f"most {times[-1] * 1000:.1f} ms of {len(times)}")
        note_figure("delays.loss_noticed_by_run_p99_ms", p99 * 1000)

    def test_however_the_hold_ends(self):
        for name, request in self.KINDS.items():
            with self.subTest(name):
                times, said = self.rounds(("k", "--ttl", "1h"), request)
                wanted = "no longer holds it" if name == "transferred" else f"its hold was {name}"
                self.assertIn(wanted, said)
                self.judge(name, times)

    def test_of_a_session(self):
        times, _ = self.rounds(("k", "--session"), ("BREAK", "k"))
        self.judge("session", times)

    def test_of_one_of_several_keys(self):
        times, _ = self.rounds(("--key", "a", "--key", "k", "--ttl", "1h"), ("BREAK", "k"))
        self.judge("several keys", times)

    def test_after_the_connection_was_another_one(self):
        runner = self.start("k", "--ttl", "1h")
        connections = self.ctl.json("clients")["clients"]
        self.own.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        self.own.ask("CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")
        ids = {connection["id"] for connection in connections}
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not [connection for connection in self.ctl.json("clients")["clients"]
                   if connection["sub"] == "1" and connection["id"] not in ids]:
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.01)
        self.lose(runner, "BREAK", "k")
        self.assertTrue(self.is_told)


class Leaving(Runs):
    """With a grace, the next owner gets the lock when the command has ended, and not before."""

    ROLLS_BACK = ("-c", "trap 'sleep 0.5; exit 0' TERM; echo ready; sleep 600 & wait")
    LASTS = ("-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")

    def begin(self, words, script):
        return self.enterContext(self.ctl.start("run", *words, "--owner", "me", "--", "sh", *script,
                                                stdout=subprocess.PIPE, stderr=subprocess.PIPE))

    def ask_for(self, words, script, grace):
        runner = self.begin(words, script)
        self.assertEqual(runner.stdout.readline(), "ready\n")
        self.assertEqual(self.own.ask("BREAK", "k", "GRACE", grace), 1)
        asked = time.monotonic()
        with self.server.connect() as next_owner:
            self.assertIsInstance(next_owner.ask("LOCK", "k", "next", "WAIT", "10m"), int)
        took = time.monotonic() - asked
        said = runner.communicate(timeout=PATIENCE_SECONDS)[1]
        self.assertEqual(runner.returncode, LOST)
        self.assertIn("an operator wants it back", said)
        past = self.own.ask("HISTORY", "k", "OWNER", "me")
        events = past[past.index(b"events") + 1]
        return took, [event[event.index(b"event") + 1] for event in events]

    def test_it_is_released_when_the_command_has_rolled_back(self):
        for words in (("k", "--ttl", "1h", "--kill-after", "10m"), ("k", "--session"),
                      ("--key", "a", "--key", "k", "--ttl", "1h")):
            with self.subTest(words):
                took, events = self.ask_for(words, self.ROLLS_BACK, "1h")
                self.assertGreaterEqual(took, 0.5)
                self.assertEqual(events[:2], [b"released", b"leaving"])
                self.own.ask("BREAK", "k")

    def test_the_command_has_ended_before_the_grace(self):
        took, events = self.ask_for(("k", "--ttl", "1h", "--kill-after", "10m"), self.LASTS, "2s")
        self.assertLess(took, PATIENCE_SECONDS)
        self.assertEqual(events[:2], [b"released", b"leaving"])


class OtherHolds(Runs):

    def test_what_others_of_a_semaphore_do_is_no_loss(self):
        runner = self.start("k", "--limit", "3", "--ttl", "1h")
        self.own.ask("LOCK", "k", "other", "LIMIT", "3")
        self.own.ask("TRANSFER", "k", "other", "third")
        self.own.ask("BREAK", "k", "third")
        self.own.ask("LOCK", "k", "third", "LIMIT", "3", "PX", "1")
        time.sleep(0.1)
        self.assertEqual(self.own.ask("LOCKED", "k", "me"), 1)
        self.assertIsNone(runner.poll())

    def test_the_other_keys_are_free_once_the_command_has_ended(self):
        runner = self.start("--key", "a", "--key", "b", "--ttl", "1h")
        self.lose(runner, "BREAK", "a")
        self.assertEqual(self.own.ask("LOCKED", "b"), 0)


class WhoMayNotListen(Runs):

    def setUp(self):
        super().setUp()
        self.folder = self.server.directory
        users = self.folder / "users.acl"
        users.write_text(f"user default on nopass ~* &* +@all\n"
                         f"user job on {hash_of('secret')} ~k owner:* +@lock +@connection\n")
        (self.folder / "password").write_text("secret\n")
        self.server = self.enterContext(Server("--acl-file", str(users)))
        self.own = self.enterContext(self.server.connect())
        self.ctl = Fairlockctl(self.server, FAIRLOCK_USER="job",
                               FAIRLOCK_PASSWORD_FILE=str(self.folder / "password"))

    def test_it_finds_the_loss_by_its_next_renewal(self):
        _, said = self.lose(self.start("k", "--ttl", "900ms"), "BREAK", "k")
        self.assertIn("no longer holds it", said)
        self.assertFalse(self.is_told)


if __name__ == "__main__":
    unittest.main()
