"""The manifests for Kubernetes: their options exist, their parts refer to each other, and their
servers answer probes and Prometheus without credentials, and nobody else."""

import os
import pathlib
import re
import subprocess
import unittest

import yaml

import resp
from http_server import TOKEN, HttpServer
from own_server import PROGRAM, hash_of

EXAMPLES = pathlib.Path(__file__).parents[2] / "deploy" / "kubernetes"
MANIFESTS = ("fairlock.yaml", "fleet.yaml", "partitions.yaml")
SECRET = "/etc/fairlock/secret"
# Options with files, which come from the secrets and so exist only in the pod.
OPTIONS_WITH_FILES = ("--acl-file", "--http-token-file", "--cluster-etcd-ca", "--cluster-etcd-cert",
                      "--cluster-etcd-key")


def resources(name):
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def of_kind(name, kind):
    return [one for one in resources(name) if one["kind"] == kind]


def container_of(name):
    [stateful_set] = of_kind(name, "StatefulSet")
    [container] = stateful_set["spec"]["template"]["spec"]["containers"]
    return stateful_set, container


class Manifests(unittest.TestCase):

    def check_options(self, name):
        _, container = container_of(name)
        given = {one["name"]: one.get("value", "node-0") for one in container.get("env", [])}
        words = [re.sub(r"\$\((\w+)\)", lambda match: given[match[1]], word)
                 for word in container["args"]]
        for option in OPTIONS_WITH_FILES:
            if option in words:
                place = words.index(option)
                del words[place:place + 2]
        run = subprocess.run([PROGRAM, "--check-config", *words], capture_output=True, text=True,
                             timeout=30, check=False)
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
        _, node = container_of("partitions.yaml")
        count = container["args"].index("--create-fleet")
        self.assertEqual(container["args"][count + 1:], ["4"])
        # The job and the nodes name the same fleet in the same etcd.
        self.assertEqual(node["args"][:count], container["args"][:count])

    def test_every_part_refers_to_one_that_exists(self):
        for name in MANIFESTS:
            stateful_set, container = container_of(name)
            template = stateful_set["spec"]["template"]
            labels = template["metadata"]["labels"]
            services = {one["metadata"]["name"]: one for one in of_kind(name, "Service")}
            self.assertIn(stateful_set["spec"]["serviceName"], services)
            self.assertEqual(stateful_set["spec"]["selector"]["matchLabels"], labels)
            ports = {port["name"] for port in container["ports"]}
            for service in services.values():
                self.assertEqual(service["spec"]["selector"], labels)
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], ports)
            [policy] = of_kind(name, "NetworkPolicy")
            self.assertEqual(policy["spec"]["podSelector"]["matchLabels"], labels)
            let_in = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
            self.assertEqual(let_in, ports)
            [account] = of_kind(name, "ServiceAccount")
            self.assertEqual(template["spec"]["serviceAccountName"], account["metadata"]["name"])
            volumes = {one["name"] for one in template["spec"].get("volumes", [])}
            volumes |= {one["metadata"]["name"]
                        for one in stateful_set["spec"].get("volumeClaimTemplates", [])}
            self.assertEqual({one["name"] for one in container["volumeMounts"]}, volumes)

    def test_the_monitor_finds_the_pods_and_names_the_job_of_the_alerts(self):
        [monitor] = of_kind("monitoring.yaml", "PodMonitor")
        [endpoint] = monitor["spec"]["podMetricsEndpoints"]
        for name in MANIFESTS:
            stateful_set, container = container_of(name)
            labels = stateful_set["spec"]["template"]["metadata"]["labels"]
            self.assertEqual(monitor["spec"]["selector"]["matchLabels"], labels)
            self.assertEqual(labels[monitor["spec"]["jobLabel"]], "fairlock")
            self.assertIn(endpoint["port"], {port["name"] for port in container["ports"]})

    def test_a_fleet_keeps_two_nodes_during_a_drain(self):
        [budget] = of_kind("fleet.yaml", "PodDisruptionBudget")
        stateful_set, _ = container_of("fleet.yaml")
        self.assertEqual(budget["spec"]["maxUnavailable"], 1)
        self.assertEqual(budget["spec"]["selector"], stateful_set["spec"]["selector"])
        self.assertGreaterEqual(stateful_set["spec"]["replicas"], 2)
        self.assertNotIn("volumeClaimTemplates", stateful_set["spec"])


def mount_secret(folder, contents):
    """Lays files as the kubelet does: each is a link to one in a folder that is itself a link."""
    version = folder / "..2026_11_29_00_00_00.1"
    version.mkdir(parents=True)
    for name, text in contents.items():
        path = version / name
        path.write_text(text)
        path.chmod(0o440)
        os.symlink(f"..data/{name}", folder / name)
    os.symlink(version.name, folder / "..data")


class Pod(unittest.TestCase):
    """A server with the options of the pod and with its secret."""

    def setUp(self):
        _, self.container = container_of("fairlock.yaml")
        self.server = HttpServer(with_token=False)
        secret = self.server.directory / "secret"
        mount_secret(secret, {"http-token": TOKEN, "users.acl":
                              f"user ops on {hash_of('a password')} ~* +@all\n"})
        self.server.options += tuple(
            word.replace(SECRET, str(secret)) for word in self.container["args"])
        self.server.options += ("--data-dir", str(self.server.directory / "data"))
        self.enterContext(self.server)

    def status_of(self, path, host="10.1.2.3:3248", **options):
        return self.server.ask("GET", path, headers={"Host": host}, **options)[0]

    def test_probes_and_prometheus_need_no_credentials_and_others_do(self):
        paths = {self.container[probe]["httpGet"]["path"]
                 for probe in ("readinessProbe", "livenessProbe")}
        self.assertEqual(paths, {"/readyz", "/healthz"})
        while self.status_of("/readyz") == 503:  # while it loads its data
            self.assertEqual(self.status_of("/healthz"), 200)
        # The kubelet and Prometheus name the address of the pod.
        for host in ("10.1.2.3:3248", "[fd00::3]:3248"):
            for path in ("/readyz", "/healthz", "/metrics"):
                self.assertEqual(self.status_of(path, host), 200, (host, path))
        self.assertEqual(self.status_of("/metrics", "attacker.example:3248"), 421)
        for path in ("/api/v1/locks", "/api/v1/settings", "/api/v1/events"):
            self.assertEqual(self.status_of(path), 401, path)
        self.assertEqual(self.status_of("/api/v1/locks", "localhost:3248", token=TOKEN), 200)
        with self.server.connect() as client:
            self.assertEqual(client.ask("LOCK", "k", "o"), "NOAUTH Authentication required.")
            self.assertEqual(client.ask("AUTH", "ops", "a password"), "OK")
            self.assertEqual(client.ask("CHECK", "k", client.ask("LOCK", "k", "o")), 1)

    def test_a_pod_that_is_short_of_memory_is_not_ready_and_still_releases_locks(self):
        with self.server.connect() as client:
            client.ask("AUTH", "ops", "a password")
            while isinstance(client.ask("LOCK", "k", "o"), resp.ErrorReply):
                pass  # while it loads its data
            client.ask("CONFIG", "SET", "max_memory", "1mb")
            self.assertEqual(self.status_of("/readyz"), 503)
            self.assertEqual(self.status_of("/healthz"), 200)
            self.assertEqual(client.ask("UNLOCK", "k", "o"), 1)
        [service] = of_kind("fairlock.yaml", "Service")
        self.assertTrue(service["spec"]["publishNotReadyAddresses"])


if __name__ == "__main__":
    unittest.main()
