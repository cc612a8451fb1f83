"""fairlockctl run refuses to wait in a queue that is too long, and for a run that it is part of."""

import json
import subprocess
import unittest

from fairlockctl import DONE, Fairlockctl, NOT_OBTAINED, PROGRAM
from own_server import Server
import resp


class Refusals(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())
        self.ctl = Fairlockctl(self.server)

    def wait_in_line(self, key, owner):
        connection = self.enterContext(self.server.connect())
        connection.send(resp.request("LOCK", key, owner, "WAIT", "100s"))
        while self.own.ask("POSITION", key, owner) is None:
            pass

    def test_a_queue_may_be_too_long(self):
        self.own.ask("LOCK", "k", "a")
        self.wait_in_line("k", "w")
        denied = self.ctl.run("run", "k", "--max-waiters", "1", "--", "echo", "done")
        self.assertEqual((denied.returncode, denied.stdout), (NOT_OBTAINED, ""))
        self.assertRegex(denied.stderr, "'k' was not obtained: full; --max-waiters permits no more "
                                        "waiters; 'w' is ahead; 'a' has held it for .*; "
                                        "`fairlockctl why k` says more\n")
        denied = self.ctl.run("run", "k", "--max-waiters", "2", "--wait", "100ms", "--", "true")
        self.assertIn("the wait timed out", denied.stderr)

    def test_only_the_newest_of_those_that_wait_remains(self):
        self.own.ask("LOCK", "k", "a")
        words = ["run", "k", "--max-waiters", "1", "--replace", "-E", "3", "--"]
        waiting = []
        for i in range(3):
            waiting.append(self.ctl.start(*words, "echo", f"deployed {i}",
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            if i > 0:
                output, errors = waiting[i - 1].communicate(timeout=30)
                self.assertEqual((waiting[i - 1].returncode, output), (3, ""))
                self.assertRegex(errors, "replaced by ")
            while not self.own.ask("QUEUE", "k"):
                pass
        self.own.ask("UNLOCK", "k", "a")
        self.assertEqual(waiting[2].communicate(timeout=30)[0], "deployed 2\n")
        refused = self.ctl.run("run", "k", "--replace", "--", "true")
        self.assertIn("--replace needs --max-waiters", refused.stderr)

    def test_a_denial_in_json_names_the_holder_too(self):
        self.own.ask("LOCK", "a key", "a")
        denied = self.ctl.run("run", "a key", "-n", "--json", "--", "true")
        failed = json.loads(denied.stderr)
        self.assertEqual(failed["event"], "failed")
        self.assertRegex(failed["message"], "held; 'a' has held it for .*; "
                                            "`fairlockctl why 'a key'` says more$")

    def nested(self, outer, inner, between=()):
        """Runs a run in a run, with words between them, such as a third one."""
        return self.ctl.run("run", *outer, "--", *between, PROGRAM, "run", *inner, "--",
                            "echo", "done")

    def test_a_run_in_a_run_of_the_same_key_is_refused(self):
        for inner in (["k"], ["k", "-n"], ["other", "k"], ["k", "--limit", "5"], ["k", "--shared"]):
            refused = self.nested(["k"], inner)
            self.assertEqual((refused.returncode, refused.stdout), (NOT_OBTAINED, ""), inner)
            self.assertRegex(refused.stderr, "not obtained: this `run` is part of the command of "
                                             "'.*', which holds 'k' until that command has ended")
        self.assertEqual(self.nested(["k"], ["k", "-E", "3"]).returncode, 3)
        self.assertIn("which holds 'k'", self.nested(["k", "x"], ["x2", "k"]).stderr)

    def test_the_outermost_run_counts_too(self):
        refused = self.nested(["k"], ["k"], between=[PROGRAM, "run", "other", "--"])
        self.assertIn("which holds 'k' until", refused.stderr)

    def test_a_run_in_a_run_that_does_not_exclude_it_is_granted(self):
        for outer, inner in ((["k"], ["other"]), (["k", "--shared"], ["k", "--shared"]),
                             (["k", "--limit", "2"], ["k", "--limit", "2"])):
            done = self.nested(outer, inner)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (DONE, "done\n", ""))

    def test_a_run_that_has_ended_is_no_outer_run(self):
        variable = self.ctl.run("run", "k", "--", "sh", "-c", "echo $FAIRLOCK_TOKENS")
        self.ctl.environment["FAIRLOCK_TOKENS"] = variable.stdout.strip() + " no-number"
        self.assertEqual(self.ctl.text("run", "k", "--", "echo", "done"), "done\n")
        self.own.ask("LOCK", "k", "a")
        self.assertIn("not obtained: held;", self.ctl.run("run", "k", "-n", "--", "true").stderr)


if __name__ == "__main__":
    unittest.main()
