"""fairlockctl cluster, and the tools of fairlockd for the log of a fleet in etcd."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

import own_server
from fairlockctl import DONE, REFUSED, WRONG_USE, Fairlockctl
from kept_server import KeptServer
from own_fleet import Fleet

SECONDS_MAX = 60
IMPORTS_MAX = 5


class WithoutFleet(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(own_server.Server())
        self.ctl = Fairlockctl(self.server)

    def test_a_single_server_says_that_it_is_no_node(self):
        for words in (("status",), ("failover",), ("accept-restore", "--yes")):
            done = self.ctl.run("cluster", *words)
            self.assertEqual(done.returncode, REFUSED, done.stderr)
            self.assertIn("cluster_etcd", done.stderr)

    def test_accepting_needs_a_confirmation(self):
        self.assertEqual(self.ctl.run("cluster", "accept-restore").returncode, WRONG_USE)
        self.assertEqual(self.ctl.run("cluster", "accept-restore", "--json").returncode, WRONG_USE)

    def test_import_needs_the_options_of_a_node(self):
        path = self.server.directory / "single.yaml"
        path.write_text("port: 3247\n")
        done = self.ctl.run("cluster", "import", "/nowhere", "--config", str(path))
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("cluster_etcd is not set", done.stderr)


class DataTools(unittest.TestCase):

    def setUp(self):
        self.fleet = self.enterContext(Fleet(nodes=2, starts_nodes=False))
        self.ctl = Fairlockctl(HOME=str(self.fleet.directory))
        self.config = self.fleet.directory / "node.yaml"
        self.config.write_text(f"cluster_etcd: {self.fleet.endpoints}\ncluster_node: n0\n")

    def start_nodes(self):
        for node in self.fleet.nodes:
            node.start()
        return self.fleet.await_leader()

    def fairlockd(self, *words):
        return subprocess.run([own_server.PROGRAM, "--config", self.config, *words],
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)

    def folder_with_locks(self, meta="small"):
        """Returns the data folder of a stopped server, and its tokens."""
        server = self.enterContext(KeptServer())
        with server.connect() as client:
            tokens = {f"key{i}": client.ask("LOCK", f"key{i}", "owner", "PX", 600_000, "META", meta)
                      for i in range(2000)}
            self.assertEqual(client.ask("LOCK", "key0", "next", "KEEP", "1m"), None)
            self.assertEqual(client.ask("LIMIT", "SET", "api:*", "3"), "OK")
        server.process.terminate()
        self.assertEqual(server.process.wait(SECONDS_MAX), 0)
        return server.data, tokens

    def test_import_carries_everything_and_tokens_keep_rising(self):
        folder, tokens = self.folder_with_locks()
        text = self.ctl.text("cluster", "import", str(folder), "--config", str(self.config))
        self.assertIn("are now the log of the fleet main", text)
        report = self.fairlockd("--check-data")
        self.assertEqual(report.returncode, DONE, report.stderr)
        self.assertIn("holds 2000, places 1, cooldowns 0, limits 1", report.stdout)
        self.assertIn("has handed over, epoch 1", report.stdout)
        self.assertTrue(report.stdout.endswith("whole\n"), report.stdout)
        with self.start_nodes().connect() as client:
            for key in ("key0", "key999", "key1999"):
                self.assertEqual(client.ask("CHECK", key, tokens[key]), 1)
            self.assertEqual(client.ask("POSITION", "key0", "next"), 1)
            self.assertEqual(len(client.ask("LIMIT", "LIST")), 1)
            self.assertGreater(client.ask("LOCK", "new", "owner"), max(tokens.values()))
        # A second import would replace what the fleet has decided since.
        done = self.ctl.run("cluster", "import", str(folder), "--config", str(self.config))
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("was already started", done.stderr)

    def interrupt_import(self, folder):
        """Kills an import between its first and its last write."""
        for _ in range(IMPORTS_MAX):
            importing = subprocess.Popen([own_server.PROGRAM, "--config", self.config, "--import",
                                          folder])
            while importing.poll() is None and not self.has_frame():
                time.sleep(0.001)
            importing.kill()
            if importing.wait(SECONDS_MAX) != 0:
                return
            self.etcdctl("del", "--prefix", "/fairlock/main/")
        self.fail(f"an import was too quick to be interrupted, {IMPORTS_MAX} times")

    def has_frame(self):
        """Asks etcd's JSON API, which is quicker than starting etcdctl."""
        key = base64.b64encode(b"/fairlock/main/p/00/f/0000000000000001").decode()
        endpoint = self.fleet.endpoints.split(",", 1)[0]
        request = urllib.request.Request(f"http://{endpoint}/v3/kv/range",
                                         json.dumps({"key": key}).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as reply:
            return "kvs" in json.loads(reply.read())

    def test_an_interrupted_import_is_refused_until_it_is_run_again(self):
        folder, tokens = self.folder_with_locks(meta="m" * 4000)
        self.interrupt_import(folder)
        node = self.fleet.nodes[0]
        node.start()
        self.assertEqual(node.process.wait(SECONDS_MAX), 1)
        refusal = "an import or a copy into this fleet has not ended, or was interrupted"
        self.assertIn(refusal, node.log.read_text())
        report = self.fairlockd("--check-data")
        self.assertEqual(report.returncode, 1)
        self.assertIn(refusal, report.stderr)
        self.ctl.text("cluster", "import", str(folder), "--config", str(self.config))
        with self.start_nodes().connect() as client:
            for key in ("key0", "key999", "key1999"):
                self.assertEqual(client.ask("CHECK", key, tokens[key]), 1)
            self.assertEqual(client.ask("POSITION", "key0", "next"), 1)

    def test_an_imported_copy_raises_the_tokens(self):
        folder, tokens = self.folder_with_locks()
        copy = tempfile.mkdtemp(prefix="fairlock-copy-")
        self.addCleanup(shutil.rmtree, copy, ignore_errors=True)
        shutil.copytree(folder, f"{copy}/data")
        done = self.ctl.run("cluster", "import", f"{copy}/data/", "--json", "--config",
                            str(self.config))
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertIn('"imported"', done.stdout)
        with self.start_nodes().connect() as client:
            token = client.ask("LOCK", "new", "owner")
            self.assertGreater(token - max(tokens.values()), 86_000 * 2**20)

    def test_a_folder_in_use_or_without_data_is_refused(self):
        with KeptServer() as server:
            done = self.ctl.run("cluster", "import", str(server.data), "--config",
                                str(self.config))
            self.assertEqual(done.returncode, REFUSED)
            self.assertIn("in use", done.stderr)
        done = self.ctl.run("cluster", "import", str(self.fleet.directory / "none"), "--config",
                            str(self.config))
        self.assertEqual(done.returncode, REFUSED)
        # Nobody has started the log yet.
        report = self.fairlockd("--check-data")
        self.assertEqual(report.returncode, 1)
        self.assertIn("no node ever led", report.stderr)

    def test_check_data_reads_the_log_beside_its_leader(self):
        with self.start_nodes().connect() as client:
            for i in range(50):
                client.ask("LOCK", f"key{i}", "owner", "PX", 600_000)
        report = self.fairlockd("--check-data")
        self.assertEqual(report.returncode, DONE, report.stderr)
        self.assertIn("fleet main at revision ", report.stdout)
        self.assertIn("holds 50, places 0", report.stdout)
        self.assertIn("wrote last, epoch 1", report.stdout)

    def test_check_data_finds_damage_and_a_missing_frame(self):
        leader = self.start_nodes()
        with leader.connect() as client:
            for i in range(5):
                client.ask("LOCK", f"key{i}", "owner", "PX", 600_000)
        for node in self.fleet.nodes:
            node.kill()
        frames = self.etcdctl("get", "--prefix", "--keys-only", "/fairlock/main/p/00/f/").split()
        self.assertGreater(len(frames), 4)
        self.etcdctl("del", frames[2])
        report = self.fairlockd("--check-data")
        self.assertEqual(report.returncode, 1)
        self.assertIn("damage: frame 3 is missing", report.stdout)
        self.etcdctl("put", frames[3], "broken")
        report = self.fairlockd("--check-data")
        self.assertIn("damage: frame 4", report.stdout)
        self.assertTrue(report.stdout.endswith("damaged\n"))

    def etcdctl(self, *words):
        endpoint = self.fleet.endpoints.split(",", 1)[0]
        done = subprocess.run(["etcdctl", "--endpoints", endpoint, *words], capture_output=True,
                              text=True, timeout=SECONDS_MAX, check=True,
                              env={"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin:/usr/local/bin"})
        return done.stdout

    def test_an_import_is_refused_while_a_node_leads(self):
        folder, _ = self.folder_with_locks()
        self.start_nodes()
        done = self.ctl.run("cluster", "import", str(folder), "--config", str(self.config))
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("was already started by node n", done.stderr)
        time.sleep(0.2)
        self.assertIsNotNone(self.fleet.await_leader())


if __name__ == "__main__":
    unittest.main()
