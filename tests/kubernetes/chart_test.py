"""The Helm chart: Helm accepts it, a cluster would accept what it yields, and the manifests beside
it are what it yields."""

import importlib.util
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
CHART = FOLDER / "chart"
CHECK = ROOT / "build" / "kubernetes" / "check"
ALERTS = ROOT / "deploy" / "prometheus" / "fairlock-alerts.yaml"
SKIPPED = 77


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


render = load(FOLDER / "render.py")

EVERYTHING = {
    "fullnameOverride": "locks", "imagePullSecrets": [{"name": "registry"}],
    "image": {"digest": "sha256:" + "0" * 64}, "options": {"max_clients": 500, "max_keep": "1m"},
    "http": {"hosts": ["locks.example.com"]},
    "tls": {"existingSecret": "locks-tls", "authClients": "required"},
    "service": {"type": "LoadBalancer", "annotations": {"a/b": "c"}},
    "server": {"disk": {"storageClass": "fast"}},
    "networkPolicy": {"clients": [{"podSelector": {"matchLabels": {"locks": "yes"}}}]},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}, "dashboard": True},
    "backup": {"enabled": True, "existingClaim": "locks-backups"},
    "serviceAccount": {"name": "locks-account"},
    "podAnnotations": {"a/b": "c"}, "priorityClassName": "important",
    "nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "locks", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}},
}
NOTHING = {
    "networkPolicy": {"enabled": False}, "serviceAccount": {"create": False},
    "fleet": {"etcd": {"endpoints": ["http://etcd:2379"], "existingSecret": ""}}, "options": {},
}
MODES = {
    "server": {"mode": "server"},
    "fleet": {"mode": "fleet", "fleet": {"whenUnsatisfiable": "ScheduleAnyway",
                                         "etcd": {"user": "fairlock"}}},
    "partitions": {"mode": "fleet", "fleet": {"partitions": 4, "nodes": 8}},
}


def merged(one, other):
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return one | {key: merged(one[key], value) if key in one else value
                  for key, value in other.items()}


class WithHelm(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def values(self, values):
        path = self.folder / "values.yaml"
        path.write_text(json.dumps(values))
        return f"--values={path}"

    def template(self, values):
        return render.template(self.values(values))

    def objects(self, values):
        return [one for one in yaml.safe_load_all(self.template(values)) if one]

    def object(self, kind, values):
        [found] = [one for one in self.objects(values) if one["kind"] == kind]
        return found

    def refusal(self, values):
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.template(values)
        return refused.exception.stderr

    def check(self, *paths):
        done = subprocess.run([CHECK, *paths], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class Chart(WithHelm):

    def test_helm_finds_nothing_wrong(self):
        for mode, rest in itertools.product(MODES.values(), ({}, EVERYTHING)):
            done = subprocess.run(
                [render.HELM, "lint", CHART, "--strict", f"--kube-version={render.KUBERNETES}",
                 self.values(merged(mode, rest))], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("1 chart(s) linted, 0 chart(s) failed", done.stdout)

    def test_a_cluster_accepts_what_it_yields(self):
        for name, mode in MODES.items():
            for number, rest in enumerate(({}, EVERYTHING, NOTHING)):
                if name == "fleet" and rest is NOTHING:
                    mode = MODES["fleet"] | {"fleet": {}}  # without a secret there is no password
                path = self.folder / f"{name}-{number}.yaml"
                path.write_text(self.template(merged(mode, rest)))
                status, output = self.check(path)
                self.assertEqual(status, 0, output)

    def test_its_archive_is_complete(self):
        """The alerts and the dashboard are links to files elsewhere in the tree."""
        subprocess.run([render.HELM, "package", CHART, f"--destination={self.folder}"], check=True,
                       capture_output=True)
        [archive] = self.folder.glob("fairlock-*.tgz")
        values = {"monitoring": {"enabled": True, "dashboard": True}}
        self.assertEqual(render.template(self.values(values), chart=archive),
                         self.template(values))

    def test_the_manifests_are_what_it_yields(self):
        for name in render.MANIFESTS:
            self.assertEqual((FOLDER / name).read_text(), render.manifest(name),
                             f"{name}: run deploy/kubernetes/render.py")

    def test_a_cluster_accepts_the_manifests(self):
        status, output = self.check(*(FOLDER / name for name in render.MANIFESTS))
        self.assertEqual(status, 0, output)

    def test_unknown_and_dangerous_values_are_refused(self):
        for values, text in (
                ({"replicas": 3}, "replicas"),
                ({"mode": "cluster"}, "mode"),
                ({"fleet": {"partitions": 65}}, "partitions"),
                ({"options": {"requirepass": "secret"}}, "requirepass"),
                ({"options": {"http_bind": "127.0.0.1"}}, "http_bind"),
                ({"auth": {"existingSecret": ""}}, "existingSecret"),
                ({"fleet": {"etcd": {"user": "u", "existingSecret": ""}}}, "existingSecret")):
            self.assertIn(text, self.refusal(values))

    def test_the_values_of_the_docs_are_accepted(self):
        page = (ROOT / "docs" / "KUBERNETES.md").read_text()
        [values] = re.findall(r"^```text\n(mode: .*?)^```", page, re.DOTALL | re.MULTILINE)
        kinds = {one["kind"] for one in self.objects(yaml.safe_load(values))}
        self.assertLessEqual({"StatefulSet", "PodDisruptionBudget", "PodMonitor"}, kinds)

    def test_it_has_the_version_of_the_project(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        project = (ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"VERSION {chart['appVersion']}", project)

    def test_its_alerts_are_those_of_prometheus_and_one_more(self):
        for mode, nodes in (("server", 1), ("fleet", 3)):
            rule = self.object("PrometheusRule", {"mode": mode, "monitoring": {"enabled": True}})
            *groups, own = rule["spec"]["groups"]
            self.assertEqual({"groups": groups}, yaml.safe_load(ALERTS.read_text()))
            self.check_own_alert(own, nodes)

    def check_own_alert(self, group, nodes):
        (self.folder / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}))
        up = 'up{job="fairlock",namespace="default",pod="%s",instance="default/%s"}'
        tests = []
        for pods in range(nodes + 1):
            # A pod that does not answer runs all the same; one of another release does not count.
            names = [f"fairlock-{number}" for number in range(pods)] + ["other-fairlock-0"]
            tests.append({
                "interval": "1m",
                "input_series": [{"series": up % (pod, pod), "values": "0x10"} for pod in names],
                "promql_expr_test": [{
                    "expr": 'count(ALERTS{alertname="FairlockPodsMissing",alertstate="firing"})',
                    "eval_time": "9m",
                    "exp_samples": [{"value": 1}] if pods < nodes else []}]})
        (self.folder / "tests.yaml").write_text(yaml.safe_dump(
            {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}))
        done = subprocess.run(["promtool", "test", "rules", "tests.yaml"], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_mounted_secret_has_no_key_that_the_server_does_not_need(self):
        pods = self.object("StatefulSet", EVERYTHING)["spec"]["template"]["spec"]
        [users] = [one for one in pods["volumes"] if one["name"] == "users"]
        self.assertEqual([item["key"] for item in users["secret"]["items"]],
                         ["users.acl", "http-token"])


class Check(WithHelm):
    """What the check of manifests finds."""

    def finding(self, manifest, change):
        """Returns what is found after this change of the StatefulSet."""
        document = yaml.safe_load(json.dumps(manifest))
        change(document)
        path = self.folder / "changed.yaml"
        path.write_text(yaml.safe_dump(document))
        status, output = self.check(path)
        self.assertEqual(status, 1, output)
        return output

    def test_it_finds_what_is_planted(self):
        good = self.object("StatefulSet", {})

        def container(document):
            return document["spec"]["template"]["spec"]["containers"][0]

        for text, change in (
                ('unknown field "spec.replica"', lambda d: d["spec"].update(replica=1)),
                ("cannot unmarshal string", lambda d: d["spec"].update(replicas="one")),
                ("must be 'OrderedReady' or 'Parallel'",
                 lambda d: d["spec"].update(podManagementPolicy="Serial")),
                ("selector` does not match template `labels",
                 lambda d: d["spec"]["selector"]["matchLabels"].update(app="other")),
                ("Not found: \"absent\"",
                 lambda d: container(d)["volumeMounts"].append(
                     {"name": "absent", "mountPath": "/a"})),
                ("must be no more than 15 characters",
                 lambda d: container(d)["ports"][0].update(name="a-very-long-name-of-a-port")),
                ("allowPrivilegeEscalation != false",
                 lambda d: container(d)["securityContext"].pop("allowPrivilegeEscalation")),
                ("runAsNonRoot != true", lambda d: d["spec"]["template"]["spec"][
                    "securityContext"].pop("runAsNonRoot")),
                ("no rule for this kind", lambda d: d.update(kind="ReplicaSet"))):
            self.assertIn(text, self.finding(good, change))
        monitor = self.object("PodMonitor", {"monitoring": {"enabled": True}})
        self.assertIn('unknown field "podMetricEndpoints"', self.finding(
            monitor, lambda d: d["spec"].update(podMetricEndpoints=[])))


if __name__ == "__main__":
    if not (render.HELM.exists() and CHECK.exists()):
        print("skipped: deploy/install-helm.sh has not built Helm and the check of manifests")
        sys.exit(SKIPPED)
    unittest.main()
