"""fairlockctl history: times, globs, kinds of events, following, and the file of a server."""

import json
import re
import subprocess
import time
import unittest

from fairlockctl import Fairlockctl, REFUSED, WRONG_USE
from own_server import Server

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00"


class History(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server("--history-file", "history"))
        self.ctl = Fairlockctl(self.server)
        with self.server.connect() as client:
            for key, owner in (("order:1", "a"), ("order:2", "b"), ("other", "a"), ("[x]", "a")):
                client.ask("LOCK", key, owner, "PX", "60000")
            client.ask("LOCK", "order:1", "late")
            # The times of these grants, in milliseconds, are earlier than that of the next event.
            time.sleep(0.01)
            client.ask("BREAK", "order:2", "REASON", "stuck")
            self.now_s = int(client.ask("TIME")[0])

    def events(self, *words):
        page = self.ctl.json("history", *words)
        return [(event["event"], event["key"]) for event in page["events"]]

    def test_globs_and_kinds_and_owners_narrow_it(self):
        all_of_orders = [("broken", "order:2"), ("denied", "order:1"), ("granted", "order:2"),
                         ("granted", "order:1")]
        self.assertEqual(self.events("order:*"), all_of_orders)
        self.assertEqual(self.events("--event", "broken,denied"), all_of_orders[:2])
        self.assertEqual(self.events("*", "-e", "granted", "-o", "a"),
                         [("granted", "[x]"), ("granted", "other"), ("granted", "order:1")])
        self.assertEqual(self.events("[x]"), [])
        self.assertEqual(self.events("[x]", "--exact"), [("granted", "[x]")])
        done = self.ctl.run("history", "--event", "broken,nonsense")
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("allowed values, separated by commas: granted, ", done.stderr)

    def test_times_are_shown_with_their_zone_and_read_in_many_forms(self):
        lines = self.ctl.text("history", "order:2").splitlines()
        self.assertRegex(lines[1], f"^{TIME}  granted ")
        first = lines[1].split()[0]
        self.assertEqual(len(self.events("order:2", "--since", first)), 2)
        self.assertEqual(len(self.events("order:2", "--until", first)), 1)
        day = time.strftime("%Y-%m-%d", time.gmtime(self.now_s))
        for since in ("1h", "1h30m", "today", "yesterday", day, f"{day} 00:00", "00:00",
                      str(self.now_s * 1000 - 3_600_000)):
            self.assertEqual(len(self.events("order:2", "--since", since)), 2, since)
        self.assertEqual(self.events("order:2", "--until", "yesterday"), [])
        self.assertEqual(self.events("order:2", "--until", "1h"), [])
        done = self.ctl.run("history", "k", "--since", "noon")
        self.assertEqual(done.returncode, WRONG_USE)
        self.assertIn("--since is 'noon'; it must be a time: 2h (ago), 20:06, ", done.stderr)

    def test_goes_on_with_new_events(self):
        follower = self.ctl.start("history", "order:*", "-f", "-n", "1", stdout=subprocess.PIPE)
        with follower, self.server.connect() as client:
            self.assertRegex(follower.stdout.readline(), f"^{TIME}  broken +order:2  b  token ")
            client.ask("LOCK", "order:3", "c", "PX", "60000")
            client.ask("LOCK", "unrelated", "c", "PX", "60000")
            client.ask("UNLOCK", "order:3", "c")
            self.assertRegex(follower.stdout.readline(), f"^{TIME}  granted +order:3  c  token ")
            self.assertRegex(follower.stdout.readline(), f"^{TIME}  released +order:3  c  token ")
            follower.kill()
        lines = self.ctl.text("history", "--follow", "--for", "1ms", "--json").splitlines()
        self.assertEqual([json.loads(line)["event"] for line in lines][-1], "released")
        self.assertEqual(len(lines), 9)

    def test_no_event_is_shown_twice_or_left_out_while_following(self):
        follower = self.ctl.start("history", "many:*", "-f", "--json", stdout=subprocess.PIPE)
        with follower, self.server.connect() as client:
            for number in range(2000):
                client.ask("LOCK", f"many:{number}", "o", "PX", "60000")
            keys = []
            while not keys or keys[-1] != "many:1999":
                keys.append(json.loads(follower.stdout.readline())["key"])
            follower.kill()
        self.assertEqual(keys, [f"many:{number}" for number in range(2000 - len(keys), 2000)])

    def test_reads_the_file_of_a_server_that_has_stopped(self):
        self.assertEqual(self.server.stop(), 0)
        path = str(self.server.directory / "history")
        text = self.ctl.text("history", "order:*", "--file", path, "--event", "broken,denied")
        self.assertRegex(text, f"(?m)^{TIME}  denied +order:1 ")
        self.assertRegex(text, f"(?m)^{TIME}  broken +order:2 .*'stuck'")
        self.assertEqual(len(text.splitlines()), 3)
        self.assertEqual(self.events("--file", path, "-n", "2"),
                         [("broken", "order:2"), ("denied", "order:1")])
        self.assertEqual(self.events("--file", path, "--until", "yesterday"), [])
        self.assertEqual(self.ctl.text("history", "nix", "--file", path),
                         "No known events of nix.\n")
        for words in (("-f",), ("--before", "7")):
            self.assertEqual(self.ctl.run("history", "--file", path, *words).returncode, WRONG_USE)
        done = self.ctl.run("history", "--file", path + "2")
        self.assertEqual(done.returncode, REFUSED)
        self.assertRegex(done.stderr, "cannot read '.*history2': No such file")

    def test_what_is_not_known_any_more_is_said(self):
        with Server("--history-memory", "256kb") as server, server.connect() as client:
            ctl = Fairlockctl(server)
            self.assertEqual(ctl.run("history").stderr, "")
            client.ask("LOCK", "k", "holder", "PX", "60000")
            for number in range(6000):
                client.ask("LOCK", "busy", str(number), "PX", "60000")
                client.ask("UNLOCK", "busy", str(number))
            done = ctl.run("history", "k")
            self.assertRegex(done.stdout, "granted  holder .* says the lock")
            self.assertRegex(done.stderr, f"not all events before {TIME} are known")
            self.assertRegex(ctl.text("history", "nix"),
                             f"^No known events of nix; not all events before {TIME} are known.$")
            self.assertRegex(ctl.text("why", "k"), f"Not all events before {TIME} are known.\n$")


if __name__ == "__main__":
    unittest.main()
