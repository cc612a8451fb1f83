"""A fleet uses one etcd cluster: a second one in cluster_etcd is refused, and one that was restored
from a backup is noticed by every node, even by those that start later."""

import time
import unittest

import own_fleet
import resp
from own_fleet import etcdctl

SECONDS_MAX = 60


def lock(node, key, owner):
    """The reply to LOCK, or None if there is none."""
    try:
        with node.connect(2) as client:
            return client.ask("LOCK", key, owner, "PX", 600_000)
    except (OSError, resp.Ended):
        return None


def status(node):
    try:
        with node.connect(2) as client:
            return client.ask_map("CLUSTER", "STATUS")
    except (OSError, resp.Ended):
        return {}


def rows(answer):
    """The nodes in the answer of `status`."""
    return [dict(zip(one[::2], one[1::2])) for one in answer.get(b"nodes", [])]


def await_true(condition, fleet):
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(fleet.logs())
        time.sleep(0.1)


class EtcdIdentity(unittest.TestCase):

    def test_a_node_with_the_members_of_two_clusters_uses_one_of_them(self):
        fleet = self.enterContext(own_fleet.Fleet(nodes=2, members=3, starts_nodes=False))
        other = self.enterContext(own_fleet.Fleet(nodes=1, members=1))
        mixed, right = fleet.nodes
        first = fleet.endpoints.split(",")[0]
        at = mixed.words.index("--cluster-etcd") + 1
        mixed.words[at] = first + "," + other.endpoints
        mixed.start()
        await_true(lambda: isinstance(lock(mixed, "key", "one"), int), fleet)
        right.start()
        await_true(lambda: status(right).get(b"leader") == mixed.name.encode(), fleet)
        await_true(lambda: any(b"belongs to the etcd cluster" in (member[3] or b"")
                               for member in status(mixed).get(b"etcd", [])), fleet)
        # The only member that `mixed` uses dies, but the others of that cluster go on, with another
        # node.
        fleet.members[0].kill()
        await_true(lambda: status(right).get(b"role") == b"leader", fleet)
        with right.connect() as client:
            self.assertEqual(client.ask("LOCKED", "key"), 1)
        for _ in range(20):
            self.assertNotIsInstance(lock(mixed, "key", "three"), int)
            time.sleep(0.1)
        self.assertEqual(status(other.nodes[0])[b"leader"], b"n0")
        with other.nodes[0].connect() as client:
            self.assertEqual(client.ask("LOCKED", "key"), 0)

    def check_restore(self, token, is_a_node_running):
        """With the usual token, the restored cluster has the same id as the lost one."""
        fleet = self.enterContext(own_fleet.Fleet(nodes=2, members=1))
        leader = fleet.leader()
        standby = fleet.standby()
        # The leader alone counts as in sync too.
        await_true(lambda: [one[b"in_sync"] for one in rows(status(leader))] == [1, 1], fleet)
        backup = fleet.directory / "backup"
        etcdctl("--endpoints", fleet.endpoints, "snapshot", "save", backup)
        # The standby has seen some of what is lost, but need not have seen the last of it.
        for _ in range(10):
            self.assertIsInstance(lock(leader, "lost", "owner"), int)
            time.sleep(0.05)
        leader.kill()
        if not is_a_node_running:
            standby.kill()
        fleet.restore(backup, token)
        if is_a_node_running:
            await_true(lambda: status(standby).get(b"awaits_acceptance") == 1, fleet)
            # The standby says so before it has written it down.
            await_true(lambda: etcdctl("--endpoints", fleet.endpoints, "get",
                                       "/fairlock/main/p/00/restored"), fleet)
            standby.kill()
        # This node has seen nothing of what was lost.
        leader.start()
        await_true(lambda: status(leader).get(b"awaits_acceptance") == 1, fleet)
        self.assertNotIsInstance(lock(leader, "lost", "thief"), int)
        with leader.connect() as client:
            self.assertEqual(client.ask("CLUSTER", "ACCEPT-RESTORE"), "OK")
        await_true(lambda: isinstance(lock(leader, "lost", "thief"), int), fleet)
        # Later starts need no acceptance.
        standby.start()
        await_true(lambda: status(standby).get(b"leader") == leader.name.encode(), fleet)
        leader.kill()
        await_true(lambda: status(standby).get(b"role") == b"leader", fleet)

    def test_a_restored_cluster_with_another_id_is_noticed_by_every_node(self):
        self.check_restore("restored", is_a_node_running=False)

    def test_a_node_that_notices_a_restore_tells_those_that_start_later(self):
        self.check_restore("etcd-cluster", is_a_node_running=True)


if __name__ == "__main__":
    unittest.main()
