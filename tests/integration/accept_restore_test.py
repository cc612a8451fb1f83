"""`fairlockctl cluster accept-restore --all`: all partitions continue on an older etcd."""

import time
import unittest

import own_cluster
import own_fleet
import resp
from fairlockctl import DONE, REFUSED, UNREACHABLE, Fairlockctl
from own_fleet import etcdctl

PARTITIONS = 2
KEYS = [f"key{i}" for i in range(20)]


class AcceptRestore(unittest.TestCase):

    def setUp(self):
        self.fleet = self.enterContext(own_cluster.PartitionedFleet(partitions=PARTITIONS))
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.fleet.nodes)
        self.ctl = Fairlockctl(HOME=str(self.fleet.directory), FAIRLOCK_HOST=hosts)

    def lock_all(self, owner):
        """Returns how many were granted."""
        granted = 0
        for node in self.fleet.leaders().values():
            with node.connect() as client:
                for key in KEYS:
                    reply = client.ask("LOCK", key, owner, "PX", 600_000)
                    if not isinstance(reply, resp.ErrorReply) and reply is not None:
                        granted += 1
        return granted

    def await_waiting_nodes(self):
        """Waits until a node of each partition awaits that the restore is accepted."""
        end = time.monotonic() + own_fleet.START_SECONDS_MAX
        while True:
            waiting = {status[b"partition"] for status in self.fleet.statuses().values()
                       if status[b"awaits_acceptance"]}
            if len(waiting) == PARTITIONS:
                return
            if time.monotonic() > end:
                raise AssertionError(f"only {waiting} wait: {self.fleet.logs()}")
            time.sleep(0.1)

    def test_every_partition_continues(self):
        done = self.ctl.run("cluster", "accept-restore", "--all", "--yes")
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("there is nothing to accept", done.stderr)

        backup = self.fleet.directory / "backup"
        etcdctl("--endpoints", self.fleet.endpoints, "snapshot", "save", backup)
        self.assertEqual(self.lock_all("lost"), len(KEYS))
        self.fleet.restore(backup, "restored")
        self.await_waiting_nodes()
        self.assertEqual(self.fleet.leaders(), {})

        done = self.ctl.run("cluster", "accept-restore", "--all", "--yes")
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(done.stdout, "partition 0: accepted\npartition 1: accepted\n")
        self.fleet.await_whole(own_fleet.START_SECONDS_MAX)
        self.assertEqual(self.lock_all("next"), len(KEYS))

    def test_a_partition_without_a_node_is_named(self):
        lost = next(node for node, status in self.fleet.statuses().items()
                    if status[b"partition"] == 1)
        for node, status in self.fleet.statuses().items():
            if status[b"partition"] == 1:
                node.kill()
        done = self.ctl.run("cluster", "accept-restore", "--all", "--yes", "--json")
        self.assertEqual(done.returncode, UNREACHABLE, done.stdout)
        self.assertRegex(done.stderr, f"partition 1 failed: (.*{lost.port}|the fleet has no node)")
        self.assertIn('"partition":1', done.stdout.replace(" ", ""))


if __name__ == "__main__":
    unittest.main()
