"""What the nodes of a fleet report over HTTP: metrics, the cluster, and what Prometheus makes of
them."""

import json
import re
import unittest

import jsonschema

from own_fleet import Fleet
from own_prometheus import Prometheus, eventually, promtool, values_of

LEADERS = ("sum by (fleet, partition) (fairlock_fleet_leader * on (job, instance) "
           "group_left (fleet) fairlock_fleet_info)")


def without_partition(values, partition=0):
    """Returns the samples without their label `partition`, which all of them must have."""
    label = re.compile(rf',?partition="{partition}"')
    lacking = [name for name in values if not label.search(name)]
    if lacking:
        raise AssertionError(f"these samples lack partition={partition}: {lacking}")
    return {label.sub("", name).removesuffix("{}"): value for name, value in values.items()}


def metrics_of(node):
    return without_partition(values_of(node.get("/metrics")))


def cluster_of(node):
    return json.loads(node.get("/api/v1/cluster"))["cluster"]


def sum_of(values, name):
    return sum(value for sample, value in values.items() if sample.startswith(name + "{"))


def knows_the_fleet(cluster):
    return (len(cluster["nodes"]) == 3 and cluster["etcd"]
            and sum(one["in_sync"] for one in cluster["nodes"]) == 3)


class OverHttp(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(Fleet(http=True))
        # Etcd's members are asked every few seconds.
        eventually(lambda: all(knows_the_fleet(cluster_of(node)) for node in cls.fleet.nodes))
        cls.leader = cls.fleet.await_leader()
        cls.standbys = [node for node in cls.fleet.nodes if node is not cls.leader]

    def test_each_node_reports_its_own_role_and_the_same_fleet(self):
        for node in self.fleet.nodes:
            page = node.get("/metrics")
            checked = promtool("check", "metrics", input=page)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))
            values = without_partition(values_of(page))
            info = f'fairlock_fleet_info{{fleet="main",node="{node.name}"}}'
            self.assertEqual(values[info], 1)
            self.assertEqual(values["fairlock_fleet_leader"], 1 if node is self.leader else 0)
            self.assertEqual(values['fairlock_fleet_nodes{role="leader"}'], 1)
            self.assertEqual(values['fairlock_fleet_nodes{role="standby"}'], 2)
            self.assertEqual(values["fairlock_fleet_in_sync"], 1)
            self.assertEqual(values["fairlock_etcd_quota_bytes"], 2 * 1024**3)
            self.assertEqual(sum_of(values, "fairlock_etcd_member_up"), 3)
            for endpoint in self.fleet.endpoints.split(","):
                size = values[f'fairlock_etcd_database_bytes{{endpoint="{endpoint}"}}']
                in_use = values[f'fairlock_etcd_database_in_use_bytes{{endpoint="{endpoint}"}}']
                self.assertGreater(in_use, 0)
                self.assertGreaterEqual(size, in_use)
        epochs = {metrics_of(node)["fairlock_fleet_epoch"] for node in self.fleet.nodes}
        self.assertEqual(len(epochs), 1)

    def test_commits_are_counted_at_the_leader(self):
        before = metrics_of(self.leader)
        with self.leader.connect() as client:
            for number in range(20):
                client.ask("LOCK", f"k{number}", "o", "PX", 60_000)
        # A page may be half a second old.
        eventually(lambda: metrics_of(self.leader)["fairlock_etcd_commits_total"] >=
                   before["fairlock_etcd_commits_total"] + 20)
        after = metrics_of(self.leader)
        self.assertEqual(after["fairlock_etcd_commits_total"],
                         after["fairlock_etcd_commit_seconds_count"])
        for name in ("commit_seconds_sum", "committed_bytes_total"):
            self.assertGreater(after["fairlock_etcd_" + name], before["fairlock_etcd_" + name])
        for standby in self.standbys:
            self.assertEqual(metrics_of(standby)["fairlock_etcd_commits_total"], 0)

    def test_every_node_shows_the_cluster_as_the_description_says(self):
        description = json.loads(self.leader.get("/api/v1/openapi.json"))
        schema = {"$ref": "#/components/schemas/Cluster", "components": description["components"]}
        for node in self.fleet.nodes:
            answer = json.loads(node.get("/api/v1/cluster"))
            jsonschema.validate(answer, schema, jsonschema.Draft202012Validator)
            self.assertEqual(answer["cluster"]["node"], node.name)
            self.assertEqual(answer["cluster"]["leader"], self.leader.name)
            self.assertEqual(answer["cluster"]["leader_address"], f"127.0.0.1:{self.leader.port}")
            self.assertEqual([one["role"] for one in answer["cluster"]["nodes"]],
                             ["leader" if one is self.leader else "standby"
                              for one in self.fleet.nodes])
            self.assertEqual([one["endpoint"] for one in answer["cluster"]["etcd"]],
                             self.fleet.endpoints.split(","))
        # A node without its fields is not described.
        del answer["cluster"]["nodes"][0]["role"]
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(answer, schema, jsonschema.Draft202012Validator)


class Watched(unittest.TestCase):

    def test_prometheus_counts_leaders_and_notices_what_is_lost(self):
        fleet = self.enterContext(Fleet(nodes=2, http=True))
        prometheus = self.enterContext(Prometheus(*[node.http_port for node in fleet.nodes]))
        eventually(lambda: prometheus.value_of("count(fairlock_fleet_info)") == 2)
        self.assertEqual(prometheus.value_of(LEADERS), 1)
        eventually(lambda: prometheus.value_of("max(fairlock_fleet_nodes{role='standby'})") == 1)
        eventually(lambda: prometheus.rules() and all(
            rule["health"] == "ok" for rule in prometheus.rules()))
        # A standby takes no locks, but that is not an alert.
        self.assertEqual(prometheus.value_of("min(fairlock_ready)"), 0)
        eventually(lambda: not [name for name in prometheus.alerts()
                                if re.search("NotReady|Fleet|Etcd", name)])
        fleet.members[2].kill()
        eventually(lambda: "FairlockEtcdMemberDown" in prometheus.alerts())
        fleet.standby().kill()
        eventually(lambda: "FairlockFleetWithoutStandby" in prometheus.alerts())
        self.assertNotIn("FairlockFleetWithoutLeader", prometheus.alerts())


if __name__ == "__main__":
    unittest.main()
