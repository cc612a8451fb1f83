"""All certificates between a fleet and its etcd are replaced while clients hold, wait and take
turns, as docs/HIGH_AVAILABILITY.md says: nothing is lost, and no node is started again."""

import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

import own_server
from certificates import Authority
from fleet_load import FleetLoad
from own_fleet import START_SECONDS_MAX, Fleet

NODE_OPTIONS = {"--cluster-etcd-ca": "ca", "--cluster-etcd-cert": "cert",
                "--cluster-etcd-key": "key"}
MEMBER_OPTIONS = {"--trusted-ca-file": "ca", "--cert-file": "cert", "--key-file": "key"}


class CertifiedFleet(Fleet):
    """Etcd admits only clients with a certificate. Each process has files of its own, in a folder
    with its name."""

    def __init__(self, authority):
        super().__init__(nodes=2)
        self.folders = {}
        for process, name in [*zip(self.members, ("e0", "e1", "e2")),
                              *((node, node.name) for node in self.nodes)]:
            self.folders[process] = self.directory / f"{name}.tls"
            self.folders[process].mkdir()
            self.trust(process, authority)
            self.issue(process, authority)
        for member in self.members:
            member.words = [word.replace("http://", "https://")
                            if member.words[at - 1].endswith("client-urls") else word
                            for at, word in enumerate(member.words)]
            member.health = f"http://127.0.0.1:{own_server.free_port()}"
            member.words += ["--client-cert-auth", "--listen-metrics-urls", member.health,
                             *self._options(member, MEMBER_OPTIONS)]
        addresses = ",".join(f"https://{one}" for one in self.endpoints.split(","))
        for node in self.nodes:
            node.words[node.words.index("--cluster-etcd") + 1] = addresses
            node.words += self._options(node, NODE_OPTIONS)

    def _options(self, process, names):
        folder = self.folders[process]
        return [word for name, file in names.items() for word in (name, str(folder / file))]

    def trust(self, process, *authorities):
        text = "".join(one.certificate.read_text() for one in authorities)
        (self.folders[process] / "ca").write_text(text)

    def issue(self, process, authority):
        """Writes a new certificate, like a program that renews them: one file after the other."""
        kind = "client" if process in self.nodes else "server"
        for file, made in zip(("cert", "key"), authority.issue(kind, "localhost", kind)):
            shutil.copy(made, self.folders[process] / file)

    def await_members(self, seconds, members=None):
        end = time.monotonic() + seconds
        while not all(is_healthy(member) for member in members or self.members):
            if time.monotonic() > end:
                raise AssertionError("a member of etcd is not healthy")
            time.sleep(0.05)

    def restart_members(self):
        """Restarts the members one after the other."""
        for member in self.members:
            member.terminate()
            member.start()
            self.await_members(START_SECONDS_MAX)

    def is_admitted(self, cert, key, authority):
        """Whether etcd admits a client with this certificate."""
        done = subprocess.run(
            ["etcdctl", "--endpoints", "https://" + self.endpoints.split(",", maxsplit=1)[0],
             "--cacert", authority.certificate, "--cert", cert, "--key", key, "get", "x"],
            env={"PATH": "/usr/bin:/usr/local/bin", "ETCDCTL_API": "3"}, capture_output=True,
            timeout=60, check=False)
        return done.returncode == 0


def is_healthy(member):
    member.check_runs()
    try:
        with urllib.request.urlopen(f"{member.health}/health", timeout=2) as answer:
            return b'"true"' in answer.read()
    except OSError:
        return False


class EtcdCertificates(unittest.TestCase):

    def test_all_of_them_are_replaced_under_load(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="fairlock-tls-"))
        before, after = Authority(folder, "before"), Authority(folder, "after")
        fleet = self.enterContext(CertifiedFleet(before))
        former = before.issue("former", "localhost", "client")
        pids = [node.process.pid for node in fleet.nodes]
        self.assertTrue(fleet.is_admitted(*former, before))
        with FleetLoad(fleet) as load:
            # 1. Everyone trusts both authorities.
            for process in fleet.members + fleet.nodes:
                fleet.trust(process, before, after)
            fleet.restart_members()
            load.await_progress()
            # 2. Everyone gets a certificate of the new authority.
            for process in fleet.members + fleet.nodes:
                fleet.issue(process, after)
            fleet.restart_members()
            load.await_progress()
            # 3. Nobody trusts the old authority any more.
            for process in fleet.members + fleet.nodes:
                fleet.trust(process, after)
            fleet.restart_members()
            load.await_progress()
        self.assertFalse(fleet.is_admitted(*former, after))
        for node, pid in zip(fleet.nodes, pids):
            node.check_runs()
            self.assertEqual(node.process.pid, pid)
        fleet.await_whole(START_SECONDS_MAX)
        with fleet.await_leader().connect() as client:
            print("epoch after the rotation:", client.ask_map("CLUSTER", "STATUS")[b"epoch"])


if __name__ == "__main__":
    unittest.main()
