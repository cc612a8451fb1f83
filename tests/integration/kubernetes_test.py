"""The examples for Kubernetes: their options exist, and their parts refer to each other."""

import pathlib
import re
import subprocess
import unittest

import yaml

from own_server import PROGRAM

EXAMPLES = pathlib.Path(__file__).parents[2] / "deploy" / "kubernetes"


def resources(name):
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def of_kind(name, kind):
    return [one for one in resources(name) if one["kind"] == kind]


class Kubernetes(unittest.TestCase):

    def container(self, name):
        [stateful_set] = of_kind(name, "StatefulSet")
        [container] = stateful_set["spec"]["template"]["spec"]["containers"]
        return stateful_set, container

    def check_options(self, name):
        _, container = self.container(name)
        given = {one["name"]: one.get("value", "node-0") for one in container["env"]}
        words = [re.sub(r"\$\((\w+)\)", lambda match: given[match[1]], word)
                 for word in container["args"]]
        # Leaves out the options whose files, which come from the secrets, exist only in the pod.
        for option in ("--acl-file", "--cluster-etcd-ca", "--cluster-etcd-cert",
                       "--cluster-etcd-key"):
            if option in words:
                place = words.index(option)
                del words[place:place + 2]
        run = subprocess.run([PROGRAM, "--check-config", *words], capture_output=True, text=True,
                             timeout=30)
        self.assertEqual(run.returncode, 0, run.stderr)
        return words

    def test_the_options_of_one_server_are_valid(self):
        self.assertIn("--durability", self.check_options("fairlock.yaml"))

    def test_the_options_of_a_fleet_are_valid(self):
        words = self.check_options("fleet.yaml")
        announced = words[words.index("--cluster-announce") + 1]
        self.assertEqual(announced, "node-0.fairlock-nodes.node-0.svc:3247")

    def test_the_options_of_partitions_are_valid(self):
        words = self.check_options("partitions.yaml")
        self.assertEqual(words[words.index("--cluster-dialect") + 1], "cluster")
        [job] = of_kind("partitions.yaml", "Job")
        [container] = job["spec"]["template"]["spec"]["containers"]
        _, node = self.container("partitions.yaml")
        count = container["args"].index("--create-fleet")
        self.assertEqual(container["args"][count + 1:], ["4"])
        # The job and the nodes name the same fleet in the same etcd.
        self.assertEqual(node["args"][:count], container["args"][:count])
        self.assertIn(container["env"][0], node["env"])

    def test_every_part_refers_to_one_that_exists(self):
        for name in ("fairlock.yaml", "fleet.yaml", "partitions.yaml"):
            stateful_set, container = self.container(name)
            template = stateful_set["spec"]["template"]
            labels = template["metadata"]["labels"]
            services = {one["metadata"]["name"]: one for one in of_kind(name, "Service")}
            self.assertIn(stateful_set["spec"]["serviceName"], services)
            ports = {port["name"] for port in container["ports"]}
            for service in services.values():
                self.assertEqual(service["spec"]["selector"], labels)
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], ports)
            volumes = {one["name"] for one in template["spec"].get("volumes", [])}
            volumes |= {one["metadata"]["name"]
                        for one in stateful_set["spec"].get("volumeClaimTemplates", [])}
            self.assertEqual({one["name"] for one in container["volumeMounts"]}, volumes)

    def test_a_fleet_keeps_two_nodes_during_a_drain(self):
        [budget] = of_kind("fleet.yaml", "PodDisruptionBudget")
        stateful_set, _ = self.container("fleet.yaml")
        self.assertEqual(budget["spec"]["maxUnavailable"], 1)
        self.assertEqual(budget["spec"]["selector"], stateful_set["spec"]["selector"])
        self.assertGreaterEqual(stateful_set["spec"]["replicas"], 2)
        self.assertNotIn("volumeClaimTemplates", stateful_set["spec"])


if __name__ == "__main__":
    unittest.main()
