"""fairlockctl says who blocks whom, through locks and multi-locks, up to the root."""

import unittest

from fairlockctl import Fairlockctl, NOT_OBTAINED
from own_cluster import PartitionedFleet
from own_server import Server
import resp


class Chains(unittest.TestCase):

    OPTIONS = ()

    def setUp(self):
        self.server = self.enterContext(Server(*self.OPTIONS))
        self.own = self.enterContext(self.server.connect())
        self.ctl = Fairlockctl(self.server)

    def hold(self, key, owner, *options):
        self.assertIsInstance(self.own.ask("LOCK", key, owner, "EX", "600", *options), int)

    def wait(self, keys, owner, *options):
        connection = self.enterContext(self.server.connect())
        command = ["LOCK"] if len(keys) == 1 else ["MLOCK", str(len(keys))]
        connection.send(resp.request(*command, *keys, owner, "WAIT", "100s", *options))
        while self.own.ask("POSITION", keys[0], owner) in (None, 0):
            pass

    def links(self, *words):
        return [(link["depth"], link["reason"], link["key"], link.get("owner"))
                for link in self.ctl.json("why", *words)["chain"]]


class HeadOfTheLine(Chains):

    JOB1 = r"job1 has held node-120 for \d+ms, lease left 9m59s, from 127\.0\.0\.1:\d+\n"

    def setUp(self):
        super().setUp()
        self.hold("node-120", "job1")
        self.wait(["node-120", "node-110"], "job2")
        self.wait(["node-110"], "job3")

    def test_a_waiter_stands_behind_a_multi_lock(self):
        chain = ("\njob3 waits for node-110:\n"
                 "  job2 is ahead and waits for node-110 and node-120 as one:\n"
                 "    " + self.JOB1)
        self.assertRegex(self.ctl.text("why", "node-110", "job3"), chain)
        self.assertRegex(self.ctl.text("owner", "job3"), chain)
        (wait,) = self.ctl.json("owner", "job3")["waits"]
        self.assertEqual((wait["key"], wait["db"]), ("node-110", 0))
        self.assertEqual([link["owner"] for link in wait["chain"]], ["job2", "job1"])
        self.assertEqual([link["owner"] for link in self.ctl.json("show", "node-110")["chain"]],
                         ["job1"])
        self.assertEqual(self.links("node-110", "job3"),
                         [(0, "line", "node-110", "job2"), (1, "held", "node-120", "job1")])

    def test_a_key_that_nobody_holds_is_not_free(self):
        chain = "\njob2 waits for node-110 and node-120 as one:\n  " + self.JOB1
        text = self.ctl.text("why", "node-110")
        self.assertTrue(text.startswith("Nobody holds it, but a new request must wait in the "
                                        "queue.\n2 waiters are in the queue.\n"), text)
        self.assertRegex(text, chain)
        text = self.ctl.text("show", "node-110")
        self.assertIn("node-110, database 0: held by nobody, 2 waiting\n", text)
        self.assertRegex(text, chain)
        self.assertRegex(self.ctl.text("owner", "job2"), chain)
        # The tables of most keys say everything already.
        self.hold("k", "a")
        self.wait(["k"], "b")
        self.assertNotIn("waits for", self.ctl.text("show", "k"))

    def test_a_denial_says_what_it_stands_behind(self):
        chain = (r"'job2' is ahead and waits for 'node-110' and 'node-120' as one; "
                 r"'job1' has held 'node-120' for \d+ms, lease left 9m59s; ")
        hint = "`fairlockctl why node-110` says more\n"
        denied = self.ctl.run("lock", "node-110", "job4")
        self.assertEqual(denied.returncode, NOT_OBTAINED)
        self.assertRegex(denied.stderr, f"not obtained: line; {chain}2 waiting; {hint}")
        for words, reason in ((["-n"], "line"), (["--wait", "10ms"], "the wait timed out")):
            denied = self.ctl.run("run", "node-110", *words, "--", "true")
            self.assertEqual(denied.returncode, NOT_OBTAINED)
            self.assertRegex(denied.stderr, f"not obtained: {reason}; {chain}{hint}")

    def test_the_report_of_a_wait_says_it_too(self):
        denied = self.ctl.run("run", "node-110", "--wait", "2s", "--report-every", "500ms", "--",
                              "true")
        self.assertRegex(denied.stderr, r"waiting for 'node-110' for \d+ms, place 3; 'job2' is "
                                        "ahead and waits for 2 keys as one\n")

    def test_a_break_says_that_more_keys_are_needed(self):
        self.assertIn("1 waiter: job2, the first in the queue, gets it only together with the "
                      "other key of its request\n",
                      self.ctl.text("break", "node-120", "--dry-run"))
        self.own.ask("MLOCK", "3", "m1", "m2", "m3", "all")
        self.assertIn("; one of 3 keys that it took as one, each of which ends by itself\n",
                      self.ctl.text("break", "m2", "--dry-run"))

    def test_clients_shows_what_each_waits_for(self):
        text = self.ctl.text("clients", "--waiting")
        self.assertRegex(text, r"WAITS FOR +WAITED\n.* mlock +node-120 +\d+ms\n"
                               r".* lock +node-110 +\d+ms\n")


class Roots(Chains):

    def test_holders_that_wait_lead_on(self):
        self.hold("k1", "a")
        self.hold("k2", "b")
        self.wait(["k1"], "b")
        self.wait(["k2"], "c")
        self.assertRegex(self.ctl.text("why", "k2", "c"),
                         r"\nc waits for k2:\n  b has held it for .*, and waits for k1:\n"
                         "    a has held it for ")
        self.assertEqual(self.links("k2"), [(0, "held", "k2", "b"), (1, "held", "k1", "a")])
        self.assertIn("    a has held it for ", self.ctl.text("show", "k2"))

    def test_a_loop_is_named(self):
        # The server does not search for a loop when a hold is transferred.
        self.hold("k1", "a")
        self.hold("k2", "c")
        self.wait(["k2"], "a")
        self.wait(["k1"], "b")
        self.own.ask("TRANSFER", "k2", "c", "b")
        self.assertRegex(self.ctl.text("why", "k2", "a"),
                         r"\na waits for k2:\n  b has held it for .*, and waits for k1:\n"
                         r"    a has held it for .*, and waits for k2: this closes a loop\n")
        self.assertEqual([link["is_loop"] for link in self.ctl.json("why", "k2", "a")["chain"]],
                         [False, True])

    def test_an_absent_owner_is_named(self):
        self.hold("k", "a")
        self.own.ask("LOCK", "k", "gone", "KEEP", "40s")
        self.assertEqual(self.links("k", "gone"), [(0, "held", "k", "a")])
        self.own.ask("UNLOCK", "k", "a")
        self.assertRegex(self.ctl.text("why", "k"), r"  it is reserved for gone, which is absent, "
                                                    r"for another 39\.\ds\n")
        self.assertIn("reserved; it is reserved for 'gone', which is absent, for another 3",
                      self.ctl.run("lock", "k", "b").stderr)
        self.wait(["k"], "b")
        self.assertEqual(self.links("k", "b"), [(0, "reserved", "k", "gone")])

    def test_a_limit_says_whose_it_is(self):
        self.hold("pool", "x", "LIMIT", "5")
        self.hold("pool", "y", "LIMIT", "2")
        self.assertRegex(self.ctl.run("lock", "pool", "z", "--limit", "5").stderr,
                         "held; 'y' has held it for .*; its LIMIT 2 admits no more; 0 waiting")
        self.own.ask("UNLOCK", "pool", "y")
        self.own.ask("LIMIT", "SET", "po*", "1")
        self.assertRegex(self.ctl.run("lock", "pool", "z", "--limit", "5").stderr,
                         r"held; 'x' has held it for .*; an operator's LIMIT 1 admits no more "
                         r"\(`fairlockctl limit list`\); 0 waiting")

    def test_every_other_reason_is_explained(self):
        self.hold("cool", "a", "MINHOLD", "1m")
        self.own.ask("UNLOCK", "cool", "a")
        self.own.ask("LIMIT", "SET", "drained", "0")
        self.hold("read", "a", "SHARED")
        self.hold("full", "a")
        self.hold("left", "a")
        self.own.ask("BREAK", "left", "GRACE", "60s")
        for words, text in ((["cool", "b"], "cooling; it is in cooldown for another 5"),
                            (["drained", "b"], "drained; an operator has drained it "),
                            (["read", "b"], "shared; 'a' has held it for "),
                            (["full", "b", "--max-waiters", "0", "--wait", "9s"],
                             "full; --max-waiters permits no more waiters; 'a' has held it "),
                            (["left", "a"], "leaving; an operator wants it back from this owner")):
            self.assertIn(f"not obtained: {text}", self.ctl.run("lock", *words).stderr)

    def test_owners_wait_in_one_database_only(self):
        self.hold("k", "a")
        other = self.enterContext(self.server.connect())
        other.ask("SELECT", "3")
        other.ask("LOCK", "k", "b")
        connection = self.enterContext(self.server.connect())
        connection.ask("SELECT", "3")
        connection.send(resp.request("LOCK", "k", "a", "WAIT", "100s"))
        while other.ask("POSITION", "k", "a") is None:
            pass
        self.assertEqual(self.links("k"), [(0, "held", "k", "a")])
        self.assertRegex(self.ctl.text("owner", "a"), r"\na waits for k:\n  b has held it ")
        self.assertEqual(self.links("k", "a", "--db", "3"), [(0, "held", "k", "b")])

    def test_a_key_is_named_so_that_a_shell_takes_it(self):
        for key, word in (("a b", "'a b'"), ("-k", "-- -k"), ("it's", r"$'it\x27s'")):
            self.hold(key, "a")
            denied = self.ctl.run("lock", "--key", key, "--owner", "b")
            self.assertIn(f"`fairlockctl why {word}` says more\n", denied.stderr)


class Starting(Chains):

    OPTIONS = ("--start-delay", "100s", "--durability", "none")

    def test_a_server_that_has_just_started_is_not_drained(self):
        denied = self.ctl.run("lock", "k", "a")
        self.assertIn("starting; the server has started, and leases that were granted before may "
                      "still be running", denied.stderr)
        self.assertTrue(self.ctl.text("why", "k").startswith("The server started a short time "
                                                             "ago: nobody gets it"))
        self.assertEqual(self.ctl.json("why", "k")["reason"], "starting")
        self.assertIn("; the server has just started: nobody gets it yet",
                      self.ctl.text("show", "k"))


class Permissions(Chains):

    def test_what_may_not_be_read_is_left_out_with_the_reason(self):
        users = self.server.directory / "users.acl"
        users.write_text("user default on nopass +@all ~* &* owner:*\n"
                         "user reader on nopass ~* +@read +@connection -locks\n"
                         "user locker on nopass ~* owner:* +@lock +@connection -@read\n")
        with Server("--acl-file", str(users)) as server, server.connect() as own:
            own.ask("LOCK", "k", "a")
            ctl = Fairlockctl(server)
            text = ctl.text("--user", "reader", "why", "k")
            self.assertRegex(text, r"^It is held by a (.*\n)+\nThe chain may be incomplete: "
                                   ".* NOPERM")
            for words in (("lock", "k", "b"), ("run", "k", "-n", "--", "true")):
                denied = ctl.run("--user", "locker", *words).stderr
                self.assertIn("not obtained: held; 'a' has held it for ", denied)
            # One request is enough to learn that nothing may be read.
            self.assertIn(b"\r\nacl_access_denied_cmd:3\r\n", own.ask("INFO", "stats"))


class Partitions(unittest.TestCase):

    def test_a_chain_leads_from_partition_to_partition(self):
        with PartitionedFleet(partitions=2, nodes_each=1) as fleet:
            keys = [f"chain{i}" for i in range(4)]
            self.assertEqual({fleet.partition_of(key) for key in keys}, {0, 1})
            ctl = Fairlockctl(FAIRLOCK_HOST=f"127.0.0.1:{fleet.nodes[0].port}",
                              HOME=str(fleet.directory))
            for number, key in enumerate(keys):
                ctl.text("lock", key, f"o{number}", "--ttl", "10m")
            for number, key in enumerate(keys):
                waiter = ctl.start("lock", key, f"o{number + 1}", "--wait", "100s")
                self.addCleanup(waiter.wait)
                self.addCleanup(waiter.terminate)
                while not ctl.json("queue", key)["queue"]:
                    pass
            chain = ctl.json("why", keys[3], "o4")["chain"]
            self.assertEqual([(link["key"], link["owner"]) for link in chain],
                             [(f"chain{i}", f"o{i}") for i in (3, 2, 1, 0)])


if __name__ == "__main__":
    unittest.main()
