"""The password of the user in etcd is changed while nodes serve: nothing is lost."""

import os
import subprocess
import time
import unittest

import own_fleet
from fleet_load import FleetLoad


class EtcdPassword(unittest.TestCase):

    def etcdctl(self, *words, user=None):
        login = ["--user", user] if user else []
        subprocess.run(["etcdctl", "--endpoints", self.fleet.endpoints, *login, *words], check=True,
                       capture_output=True, timeout=60, env={**os.environ, "ETCDCTL_API": "3"})

    def setUp(self):
        self.fleet = own_fleet.Fleet(nodes=2, members=1, starts_nodes=False)
        self.password = self.fleet.directory / "password"
        self.password.write_text("first\n")
        for node in self.fleet.nodes:
            node.words += ["--cluster-etcd-user", "fairlock", "--cluster-etcd-password-file",
                           str(self.password)]
        self.fleet.members[0].words += ["--bcrypt-cost", "4"]
        self.enterContext(self.fleet)
        for words in (("role", "add", "writer"),
                      ("role", "grant-permission", "--prefix=true", "writer", "readwrite",
                       "/fairlock/"),
                      ("user", "add", "fairlock:first"),
                      ("user", "grant-role", "fairlock", "writer"),
                      ("user", "add", "root:root"), ("user", "grant-role", "root", "root"),
                      ("auth", "enable")):
            self.etcdctl(*words)
        for node in self.fleet.nodes:
            node.start()
        self.fleet.await_leader()

    def change_password(self, password):
        subprocess.run(["etcdctl", "--endpoints", self.fleet.endpoints, "--user", "root:root",
                        "user", "passwd", "fairlock", "--interactive=false"], check=True,
                       timeout=60,
                       input=password + "\n", text=True, capture_output=True,
                       env={**os.environ, "ETCDCTL_API": "3"})

    def test_a_change_loses_nothing_in_either_order(self):
        with FleetLoad(self.fleet) as load:
            self.password.write_text("second\n")
            self.change_password("second")
            load.await_progress()
            self.change_password("third")
            time.sleep(1)
            self.password.write_text("third\n")
            load.await_progress()
        for node in self.fleet.nodes:
            node.check_runs()
        # A node that starts now logs in with the new password, and so does one that takes over.
        leader = self.fleet.await_leader()
        with leader.connect() as client:
            kept = client.ask("LOCK", "kept later", "owner", "PX", 3_600_000)
        leader.kill()
        with self.fleet.await_leader().connect() as client:
            self.assertEqual(client.ask("CHECK", "kept later", kept), 1)


if __name__ == "__main__":
    unittest.main()
