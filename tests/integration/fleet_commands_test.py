"""What an operator asks of a fleet: its state, a hand-over, and what it refuses."""

import json
import time
import unittest

import own_server
import resp
from fairlockctl import Fairlockctl
from own_fleet import Fleet, Node


def as_map(pairs):
    """Returns what a flat array, the map of RESP2, contains; texts are decoded."""
    words = [one.decode() if isinstance(one, bytes) else one for one in pairs]
    return dict(zip(words[::2], words[1::2]))


class FleetCommands(unittest.TestCase):

    def fleet(self, *options, **sizes):
        return self.enterContext(Fleet(options=options, **sizes))

    @staticmethod
    def status(node):
        with node.connect() as client:
            report = as_map(client.ask("CLUSTER", "STATUS"))
        report["nodes"] = [as_map(one) for one in report["nodes"]]
        report["etcd"] = [as_map(one) for one in report["etcd"]]
        return report

    def await_status(self, node, condition, seconds=15):
        end = time.monotonic() + seconds
        report = {}
        while time.monotonic() < end:
            try:
                report = self.status(node)
            except (OSError, resp.Ended):  # the node starts again
                report = None
            if report and condition(report):
                return report
            time.sleep(0.05)
        log = node.log.read_text()[-2000:]
        raise AssertionError(f"not as expected: {report}; {node.name}: {log}")

    @staticmethod
    def knows_all(report):
        return (len(report["nodes"]) == 3 and len(report["etcd"]) == 3
                and sum(one["role"] == "leader" for one in report["nodes"]) == 1
                and all(one["in_sync"] for one in report["nodes"] if one["role"] == "standby"))

    def test_status_shows_the_nodes_and_the_members_of_etcd(self):
        fleet = self.fleet()
        leader = fleet.await_leader()
        report = self.await_status(leader, self.knows_all)
        self.assertEqual(report["fleet"], "main")
        self.assertEqual(report["node"], leader.name)
        self.assertEqual(report["role"], "leader")
        self.assertEqual(report["leader"], leader.name)
        self.assertEqual(report["leader_address"], f"127.0.0.1:{leader.port}")
        self.assertEqual(report["epoch"], 1)
        self.assertEqual((report["unsure"], report["awaits_acceptance"], report["no_space"]),
                         (0, 0, 0))
        self.assertGreater(report["commits"], 0)
        self.assertEqual([one["name"] for one in report["nodes"]], ["n0", "n1", "n2"])
        self.assertEqual(sum(one["leader"] for one in report["etcd"]), 1)
        self.assertTrue(all(one["size_bytes"] > 0 for one in report["etcd"]), report)

        standby = fleet.standby()
        seen = self.await_status(standby, lambda one: one["leader"] == leader.name
                                 and self.knows_all(one))
        self.assertEqual(seen["role"], "standby")
        self.assertEqual(seen["epoch"], 1)

        # A node that was killed is no longer listed after a few seconds.
        standby.kill()
        self.await_status(leader, lambda one: len(one["nodes"]) == 2, seconds=20)

    def test_a_hand_over_moves_the_locks_to_the_named_node(self):
        fleet = self.fleet()
        old = fleet.await_leader()
        self.await_status(old, self.knows_all)
        successor = fleet.standby()
        with old.connect() as client:
            token = client.ask("LOCK", "key", "owner", "PX", 600_000)
            waiter = self.enterContext(old.connect(20))
            waiter.send(resp.request("LOCK", "key", "waiter", "WAIT", "60s"))
            while client.ask("POSITION", "key", "waiter") is None:
                time.sleep(0.01)
            wrong = client.ask("CLUSTER", "FAILOVER", "TO", "nobody")
            self.assertIsInstance(wrong, resp.ErrorReply)
            self.assertIn("nobody", wrong)
            began = time.monotonic()
            self.assertEqual(client.ask("CLUSTER", "FAILOVER", "TO", successor.name), "OK")
        process = old.process.pid
        with self.assertRaises((resp.Ended, ConnectionError)):
            waiter.reply()
        while fleet.leader() is not successor:
            self.assertLess(time.monotonic() - began, 30, fleet.logs())
        with successor.connect() as client:
            self.assertEqual(client.ask("CHECK", "key", token), 1)
            self.assertEqual(client.ask("POSITION", "key", "waiter"), 1)
        # The old leader is now a standby, in the same process.
        seen = self.await_status(old, lambda one: one["leader"] == successor.name)
        self.assertEqual((seen["role"], seen["epoch"]), ("standby", 2))
        self.assertEqual(old.process.pid, process)
        self.assertTrue(old.is_running)
        with old.connect() as client:
            refused = client.ask("CLUSTER", "FAILOVER")
        self.assertIsInstance(refused, resp.ErrorReply)
        self.assertIn(successor.name, refused)

    def test_no_hand_over_goes_to_a_node_that_the_others_cannot_reach(self):
        fleet = self.fleet(starts_nodes=False)
        unreached, *others = fleet.nodes
        words = unreached.words
        words[words.index("--cluster-announce") + 1] = "127.0.0.1:1"
        for node in others:
            node.start()
        old = fleet.await_leader()
        unreached.start()

        def is_known(one):
            nodes = {row["name"]: row for row in one["nodes"]}
            return (len(nodes) == 3 and all(row["in_sync"] for row in nodes.values()) and
                    [name for name in nodes if nodes[name]["unreachable"]] == [unreached.name])

        for node in fleet.nodes:
            self.await_status(node, is_known)
        with old.connect() as client:
            refused = client.ask("CLUSTER", "FAILOVER", "TO", unreached.name)
            self.assertRegex(refused, "accepts no connections at 127.0.0.1:1")
            self.assertEqual(client.ask("CLUSTER", "FAILOVER"), "OK")
        successor = next(node for node in others if node is not old)
        self.await_status(old, lambda one: one["leader"] == successor.name)
        # Nor does it take over before one that is reached, although its name comes first.
        self.await_status(successor, is_known)
        successor.kill()
        self.await_status(old, lambda one: one["leader"] == old.name)
        # If there is no other one, it does. With FORCE it can be named.
        with old.connect() as client:
            self.assertEqual(client.ask("CLUSTER", "FAILOVER", "TO", unreached.name, "FORCE"), "OK")
        self.await_status(unreached, lambda one: one["leader"] == unreached.name)

    def test_fairlockctl_shows_the_fleet_and_hands_over(self):
        fleet = self.fleet(relays=True)
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in fleet.nodes)

        control = Fairlockctl(HOME=str(fleet.directory))

        def ctl(*words):
            return control.run("--host", hosts, *words)

        end = time.monotonic() + 15
        while True:
            shown = ctl("cluster", "status", "--json")
            report = json.loads(shown.stdout)
            if self.knows_all(report) or time.monotonic() > end:
                break
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertTrue(self.knows_all(report), report)
        text = ctl("cluster", "status").stdout
        for word in ("n0", "n1", "n2", report["leader"], "3.", "epoch"):
            self.assertIn(word, text)
        moved = ctl("cluster", "failover")
        self.assertEqual(moved.returncode, 0, moved.stderr)
        after = json.loads(ctl("cluster", "status", "--json").stdout)
        self.assertNotEqual(after["leader"], report["leader"])
        self.assertIn(after["leader"], moved.stdout)

    def test_a_second_node_of_one_name_ends_with_a_message(self):
        fleet = self.fleet(nodes=2)
        # Both have written that the names are theirs.
        self.await_status(fleet.await_leader(), lambda one: len(one["nodes"]) == 2)
        words = list(fleet.nodes[1].words)
        port, sentinel_port = own_server.free_port(), own_server.free_port()
        for option, value in (("--port", port), ("--cluster-announce", f"127.0.0.1:{port}"),
                              ("--cluster-node", "n0"), ("--sentinel-port", sentinel_port),
                              ("--unix-socket", "")):
            words[words.index(option) + 1] = str(value)
        log = fleet.directory / "n-again.log"
        again = Node("again", (port, sentinel_port, 0), words, log)
        again.start()
        self.assertEqual(again.process.wait(timeout=60), 1)
        self.assertIn(f"another node named n0 runs at 127.0.0.1:{fleet.nodes[0].port}",
                      log.read_text())

    def test_new_locks_are_refused_before_the_quota_of_etcd_is_reached(self):
        fleet = self.fleet("--cluster-etcd-quota", "16kb", nodes=1, members=1)
        leader = fleet.await_leader()
        report = self.await_status(leader, lambda one: one["short_of_quota"])
        self.assertEqual(report["quota_bytes"], 16 * 1024)
        end = time.monotonic() + 10
        with leader.connect() as client:
            while True:
                refused = client.ask("LOCK", f"key{time.monotonic()}", "owner")
                if isinstance(refused, resp.ErrorReply) or time.monotonic() > end:
                    break
            self.assertIsInstance(refused, resp.ErrorReply)
            self.assertEqual(refused.split()[0], "STORAGE")


if __name__ == "__main__":
    unittest.main()
