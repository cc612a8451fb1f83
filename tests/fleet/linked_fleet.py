"""A fleet all of whose connections go through links.py: node to etcd, etcd to etcd, client to
node."""

import binascii
import json
import os
import pathlib
import subprocess
import sys
import time

import sessions  # this finds the modules of other tests, and the server
import commits
import etcd_api
import own_server
import resp
from own_fleet import Fleet, START_SECONDS_MAX

assert sessions
CLIENTS = "clients"  # the name of all clients, as the source of a connection
QUOTA_BYTES = 128 << 20
KEYS = "/fairlock/"
USER = "fairlock"
HASH_SLOTS = 16384
CATCH_UP_SECONDS_MAX = 120
STATUS = "maintenance/status"


def replace(words, option, value):
    words[words.index(option) + 1] = value


def tell(carrier, **message):
    carrier.stdin.write(json.dumps(message) + "\n")
    carrier.stdin.flush()
    if carrier.stdout.readline() != "done\n":
        raise AssertionError("links.py has ended")


def clock_library():
    library = pathlib.Path(os.environ["STEPPED_CLOCK"])
    if not library.exists():
        raise AssertionError(f"{library} does not exist: build the target stepped_clock")
    return str(library)


def set_clock(node, seconds):
    """Sets the wall clock of a node ahead of that of the machine."""
    node.clock.write_text(str(seconds))


def partition_of(key, partitions):
    """Returns the partition of a key, or of a hash tag."""
    slot = binascii.crc_hqx(key.encode(), 0) % HASH_SLOTS
    return ((slot + 1) * partitions - 1) // HASH_SLOTS


class LinkedFleet(Fleet):
    """Used in a with statement. Clients reach the nodes at `client_ports`. With several partitions,
    leader() and struck_nodes are about the one that `struck` chooses. `past` is a folder of
    commits.py with the data of etcd; `start_etcd` is called with this fleet to start the members,
    by default start_members(). With `has_users`, etcd knows a user, whose password the nodes find
    in `password_file`."""

    def __init__(self, *options, partitions=1, nodes_each=3, past=None, start_etcd=None,
                 has_users=False):
        super().__init__(nodes=partitions * nodes_each, options=options)
        self.partitions = partitions
        self.struck = 0
        self.programs = [own_server.PROGRAM]  # what the nodes run; then, other versions
        self.start_etcd = start_etcd or LinkedFleet.start_members
        self.password_file = self.directory / "password" if has_users else None
        self.peer_links = commits.peer_ports(past) if past is not None else None
        if self.peer_links:
            commits.restore(self, past)
        self.peer_ports = [self._port_of(member, "--listen-peer-urls") for member in self.members]
        self.etcd_ports = [self._port_of(member, "--listen-client-urls")
                           for member in self.members]
        self.links = []
        self.carriers = []  # carry the clients' connections, and all others
        self._link_peers()
        for node in self.nodes:
            node.etcd_links = [self._link(node.name, f"e{i}", port)
                               for i, port in enumerate(self.etcd_ports)]
            replace(node.words, "--cluster-etcd",
                    ",".join(f"127.0.0.1:{port}" for port in node.etcd_links))
        self.client_ports = [self._link(CLIENTS, node.name, node.port) for node in self.nodes]
        for number, (node, port) in enumerate(zip(self.nodes, self.client_ports)):
            node.partition = number % partitions
            node.clock = self.directory / f"{node.name}.clock"
            set_clock(node, 0)
            node.environment = {"LD_PRELOAD": clock_library(),
                                "CLOCK_OFFSET": str(node.clock)}
            if partitions > 1:
                node.words += ["--cluster-partition", str(node.partition)]
                replace(node.words, "--cluster-announce", f"127.0.0.1:{port}")  # for MOVED

    @staticmethod
    def _port_of(member, option):
        return int(member.words[member.words.index(option) + 1].rsplit(":", 1)[1])

    def _link(self, source, target, port, own=None):
        own = own or own_server.free_port()
        self.links.append({"port": own, "target": port, "from": source, "to": target})
        return own

    def _link_peers(self):
        known = self.peer_links or [None] * len(self.members)
        self.peer_links = [self._link(None, f"e{i}", port, own)
                           for i, (port, own) in enumerate(zip(self.peer_ports, known))]
        urls = [f"http://127.0.0.1:{port}" for port in self.peer_links]
        initial = ",".join(f"e{i}={url}" for i, url in enumerate(urls))
        for member, url in zip(self.members, urls):
            replace(member.words, "--initial-advertise-peer-urls", url)
            replace(member.words, "--initial-cluster", initial)
            member.words += ["--quota-backend-bytes", str(QUOTA_BYTES), "--bcrypt-cost", "4"]

    def __enter__(self):
        try:
            of_clients = [link for link in self.links if link["from"] == CLIENTS]
            for links in of_clients, [link for link in self.links if link not in of_clients]:
                self.carriers.append(subprocess.Popen(
                    [sys.executable, "-B", str(pathlib.Path(__file__).parent / "links.py")],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
                tell(self.carriers[-1], links=links)
            self.start_etcd(self)
            log_in = self._add_user() if self.password_file else []
            if self.partitions > 1:
                subprocess.run([own_server.PROGRAM, "--cluster-etcd", self.endpoints, *log_in,
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
        etcd_api.forget_passwords(self.etcd_ports)
        for carrier in self.carriers:
            carrier.kill()
            carrier.wait()
            carrier.stdin.close()
            carrier.stdout.close()

    def start_members(self):
        for member in self.members:
            member.start()
        self.tell_pids()
        self.await_members(START_SECONDS_MAX)

    def _add_user(self):
        """Returns the options with which a node logs in to etcd."""
        self.password_file.write_text("first\n")
        etcd_api.use_passwords(self.etcd_ports, KEYS, USER, "first")
        options = ["--cluster-etcd-user", USER, "--cluster-etcd-password-file",
                   str(self.password_file)]
        for node in self.nodes:
            node.words += options
        return options

    def tell_links(self, **message):
        for carrier in self.carriers:
            tell(carrier, **message)

    def tell_pids(self):
        """Must be called after each start of a member of etcd."""
        self.tell_links(pids={f"e{i}": member.process.pid
                              for i, member in enumerate(self.members) if member.is_running})

    def cut(self, *directions):
        self.tell_links(rules=[{"from": source, "to": target, "cut": True}
                               for source, target in directions])

    def close(self, *links):
        """Closes the connections between two processes, whichever has opened them."""
        self.tell_links(rules=[{"from": source, "to": target, "closed": True}
                               for link in links for source, target in (link, link[::-1])])

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
        """Asking a node for a lock would not show this, because a standby may answer for the
        leader."""
        return self.logged_leader(self.struck_nodes)

    def await_leader(self, seconds=CATCH_UP_SECONDS_MAX):
        return super().await_leader(seconds)

    def await_in_sync(self, seconds=CATCH_UP_SECONDS_MAX):
        """Waits until the leader knows that each running standby of the partition has caught up;
        returns the leader. An operator looks at this before a planned change."""
        end = time.monotonic() + seconds
        running = sum(node.is_running for node in self.struck_nodes)
        while time.monotonic() < end:
            leader = self.await_leader()
            try:
                with leader.connect() as client:
                    rows = client.ask_map("CLUSTER", "STATUS")[b"nodes"]
            except (OSError, resp.Ended):
                rows = []
            nodes = [dict(zip(row[::2], row[1::2])) for row in rows]
            if running == sum(node[b"in_sync"] for node in nodes if node[b"role"] == b"standby" and
                              node[b"partition"] == self.struck) + 1:
                return leader
            time.sleep(0.05)
        raise AssertionError(f"no standby catches up: {rows} {self.logs()}")

    def etcd_leader(self, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for member, port in zip(self.members, self.etcd_ports):
                if member.is_running and etcd_api.is_leader(port):
                    return member
            time.sleep(0.1)
        raise AssertionError("etcd has no leader")

    def etcd_states(self):
        """Returns what each member of etcd says about itself, for human readers."""
        states = []
        for member, port in zip(self.members, self.etcd_ports):
            try:
                states.append(f"{self.name_of(member)}: {etcd_api.call(port, STATUS, 2)}")
            except OSError as error:
                states.append(f"{self.name_of(member)}: {error}, running: {member.is_running}")
        return "; ".join(states)

    def name_of(self, process):
        if process in self.nodes:
            return process.name
        return f"e{self.members.index(process)}"
