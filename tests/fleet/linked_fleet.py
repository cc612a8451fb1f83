"""A fleet all of whose connections go through links.py: node to etcd, etcd to etcd, client to
node."""

import binascii
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))

# pylint: disable=wrong-import-position
import etcd_api
import own_server
from own_fleet import Fleet, START_SECONDS_MAX

CLIENTS = "clients"  # the name of all clients, as the source of a connection
QUOTA_BYTES = 128 << 20
HASH_SLOTS = 16384


def replace(words, option, value):
    words[words.index(option) + 1] = value


def partition_of(key, partitions):
    """Returns the partition of a key, or of a hash tag."""
    slot = binascii.crc_hqx(key.encode(), 0) % HASH_SLOTS
    return ((slot + 1) * partitions - 1) // HASH_SLOTS


class LinkedFleet(Fleet):
    """Used in a with statement. `client_ports`: where clients reach the nodes. With several
    partitions, leader() and struck_nodes are about the one that `struck` chooses."""

    def __init__(self, *options, partitions=1, nodes_each=3):
        super().__init__(nodes=partitions * nodes_each, options=options)
        self.partitions = partitions
        self.struck = 0
        self.peer_ports = [self._port_of(member, "--listen-peer-urls") for member in self.members]
        self.etcd_ports = [self._port_of(member, "--listen-client-urls")
                           for member in self.members]
        self.links = []
        self.carrier = None
        self._link_peers()
        for node in self.nodes:
            node.etcd_links = [self._link(node.name, f"e{i}", port)
                               for i, port in enumerate(self.etcd_ports)]
            replace(node.words, "--cluster-etcd",
                    ",".join(f"127.0.0.1:{port}" for port in node.etcd_links))
        self.client_ports = [self._link(CLIENTS, node.name, node.port) for node in self.nodes]
        for number, (node, port) in enumerate(zip(self.nodes, self.client_ports)):
            node.partition = number % partitions
            if partitions > 1:
                node.words += ["--cluster-partition", str(node.partition)]
                replace(node.words, "--cluster-announce", f"127.0.0.1:{port}")  # for MOVED

    @staticmethod
    def _port_of(member, option):
        return int(member.words[member.words.index(option) + 1].rsplit(":", 1)[1])

    def _link(self, source, target, port):
        own = own_server.free_port()
        self.links.append({"port": own, "target": port, "from": source, "to": target})
        return own

    def _link_peers(self):
        links = [self._link(None, f"e{i}", port) for i, port in enumerate(self.peer_ports)]
        urls = [f"http://127.0.0.1:{port}" for port in links]
        initial = ",".join(f"e{i}={url}" for i, url in enumerate(urls))
        for member, url in zip(self.members, urls):
            replace(member.words, "--initial-advertise-peer-urls", url)
            replace(member.words, "--initial-cluster", initial)
            member.words += ["--quota-backend-bytes", str(QUOTA_BYTES)]

    def __enter__(self):
        try:
            self.carrier = subprocess.Popen(
                [sys.executable, "-B", str(pathlib.Path(__file__).parent / "links.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.tell_links(links=self.links)
            for member in self.members:
                member.start()
            self.tell_pids()
            if self.partitions > 1:
                self.await_members(START_SECONDS_MAX)
                subprocess.run([own_server.PROGRAM, "--cluster-etcd", self.endpoints,
                                "--create-fleet", str(self.partitions)], check=True,
                               stdout=subprocess.DEVNULL, timeout=START_SECONDS_MAX)
            for node in self.nodes:
                node.start()
            for self.struck in range(self.partitions):
                self.await_leader(START_SECONDS_MAX)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        super().__exit__(*failure)
        if self.carrier is not None:
            self.carrier.kill()
            self.carrier.wait()
            self.carrier.stdin.close()
            self.carrier.stdout.close()

    def tell_links(self, **message):
        self.carrier.stdin.write(json.dumps(message) + "\n")
        self.carrier.stdin.flush()
        if self.carrier.stdout.readline() != "done\n":
            raise AssertionError("links.py has ended")

    def tell_pids(self):
        """Must be called after each start of a member of etcd."""
        self.tell_links(pids={f"e{i}": member.process.pid
                              for i, member in enumerate(self.members) if member.is_running})

    def cut(self, *directions):
        self.tell_links(rules=[{"from": source, "to": target, "cut": True}
                               for source, target in directions])

    def delay(self, seconds, *directions):
        self.tell_links(rules=[{"from": source, "to": target, "delay_s": seconds}
                               for source, target in directions])

    def heal_links(self):
        self.tell_links(rules=[])

    @property
    def struck_nodes(self):
        return [node for node in self.nodes if node.partition == self.struck]

    def tags(self):
        """Returns the end of a key's name for each partition, which puts the key into it."""
        if self.partitions == 1:
            return [""]
        numbers = iter(range(HASH_SLOTS))
        return ["{%d}" % next(number for number in numbers
                              if partition_of(str(number), self.partitions) == partition)
                for partition in range(self.partitions)]

    def leader(self):
        """Asking a node for a lock would not tell, because a standby may answer for the leader."""
        return self.logged_leader(self.struck_nodes)

    def etcd_leader(self, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for member, port in zip(self.members, self.etcd_ports):
                if member.is_running and etcd_api.is_leader(port):
                    return member
            time.sleep(0.1)
        raise AssertionError("etcd has no leader")

    def name_of(self, process):
        if process in self.nodes:
            return process.name
        return f"e{self.members.index(process)}"
