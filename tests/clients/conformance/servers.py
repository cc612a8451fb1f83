"""The servers on which cases are run: plain, with TLS and users, fleets, and Redis."""

import binascii
import collections
import contextlib
import random
import re
import time

import own_server
import resp
from certificates import Certificates
from kept_server import KeptServer
from own_cluster import PartitionedFleet
from own_fleet import Fleet
from own_redis import Redis

PASSWORD = "keeps its secrets"
SYNC_SECONDS_MAX = 30
LEADER_SECONDS_MAX = 20
PARTITIONS = 2
SLOTS = 16384
# Errors with which a node replies while no other one leads. The first also stands for a lost
# connection.
OUTAGE_WORDS = ("CLUSTERDOWN", "LOADING", "TRYAGAIN")
# An application's user, as docs/SECURITY.md recommends it, and one that only this program uses.
USERS = """user default on nopass ~* owner:* &* +@all
user app on {hash} ~* owner:* resetchannels &fairlock:* +@lock +@connection +subscribe +unsubscribe
"""


def calls_of(client):
    """How often the server of this connection has executed each command."""
    text = client.ask("INFO", "commandstats").decode()
    return {name: int(calls)
            for name, calls in re.findall(r"cmdstat_([\w|-]+):calls=(\d+)", text)}


class Plain:
    """A server with a data folder. Used in a with statement."""

    name = "plain"

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        with self.stack:
            self.server = self.stack.enter_context(self.make())
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *failure):
        return self.stack.__exit__(*failure)

    def make(self):
        return KeptServer("--durability", "async")

    @property
    def ports(self):
        """The ports to which drivers connect: several only in a fleet of several partitions."""
        return [self.server.port]

    def environment(self, ports):
        """The environment of a driver that connects to `ports` instead."""
        return {"FAIRLOCK_URL": f"redis://127.0.0.1:{ports[0]}"}

    def connect(self):
        return self.server.connect()

    def partition_of(self, _key):
        """Tokens of one partition can be compared."""
        return 0

    def ask(self, *command):
        with self.connect() as client:
            return client.ask(*command)

    def counts(self):
        """How often each command has been executed."""
        with self.connect() as client:
            return calls_of(client)

    def outage(self, kind, key):
        """Ends the service for the key for a moment; kind is planned or killed."""
        if kind == "planned":
            self.server.stop_and_start_again()
        else:
            self.server.kill_and_start_again()


class Tls(Plain):
    """The same, with TLS and a user with a password."""

    name = "tls"

    def make(self):
        self.certificates = self.stack.enter_context(Certificates())
        self.tls_port = own_server.free_port()
        users = self.certificates.folder / "users.acl"
        users.write_text(USERS.format(hash=own_server.hash_of(PASSWORD)))
        return KeptServer("--durability", "async", "--acl-file", str(users),
                          *self.certificates.options(self.tls_port), "--tls-auth-clients", "no")

    @property
    def ports(self):
        return [self.tls_port]

    def environment(self, ports):
        password = PASSWORD.replace(" ", "%20")
        return {"FAIRLOCK_URL": f"rediss://app:{password}@127.0.0.1:{ports[0]}",
                "FAIRLOCK_CA": str(self.certificates.authority.certificate)}


class FleetServers(Plain):
    """Three nodes on etcd. Drivers connect to the last one, which relays to the leader."""

    name = "fleet"

    def make(self):
        return Fleet(nodes=3, members=1, relays=True, http=True)

    def __enter__(self):
        super().__enter__()
        if self.server.await_leader() is self.server.nodes[-1]:
            self.outage("planned", None)
        return self

    @property
    def ports(self):
        return [self.server.nodes[-1].port]

    def connect(self):
        return self.server.await_leader().connect()

    def outage(self, kind, key):
        """Makes the leader hand over, or kills it and starts it again."""
        self._await_sync()
        old = self.server.await_leader()
        if kind == "planned":
            others = [node for node in self.server.nodes[:-1] if node is not old]
            reply = old.connect().ask("CLUSTER", "FAILOVER", "TO", random.choice(others).name,
                                      "FORCE")
            if reply != "OK":
                raise AssertionError(f"{old.name} does not hand over: {reply}")
        else:
            old.kill()
        self._await_other(old)
        if kind == "killed":
            old.start()

    def _await_sync(self):
        end = time.monotonic() + SYNC_SECONDS_MAX
        while not all(self._is_in_sync(node) for node in self.server.nodes):
            if time.monotonic() > end:
                raise AssertionError("not every node is in sync")
            time.sleep(0.1)

    def _is_in_sync(self, node):
        try:
            return re.search(rb"^fairlock_fleet_in_sync\{[^}]*\} 1$", node.get("/metrics"), re.M)
        except OSError:  # the node is starting
            return False

    def _await_other(self, old):
        end = time.monotonic() + LEADER_SECONDS_MAX
        while self.server.announced_leader() in (None, old):
            if time.monotonic() > end:
                raise AssertionError(f"no node follows {old.name}")
            time.sleep(0.02)


class ClusterServers(Plain):
    """A fleet of several partitions, to which drivers connect in the cluster mode of their Redis
    library."""

    name = "cluster"

    def make(self):
        return PartitionedFleet(partitions=PARTITIONS, nodes_each=2)

    def __enter__(self):
        super().__enter__()
        self.ranges = self.server.ranges()
        return self

    def partition_of(self, key):
        tag = re.search(r"\{([^}]+)\}", key)
        slot = binascii.crc_hqx((tag[1] if tag else key).encode(), 0) % SLOTS
        return next(partition for partition, (first, last) in enumerate(self.ranges)
                    if first <= slot <= last)

    @property
    def ports(self):
        return [node.port for node in self.server.nodes]

    def environment(self, ports):
        return {"FAIRLOCK_CLUSTER": ",".join(f"127.0.0.1:{port}" for port in ports)}

    def ask(self, *command):
        """The key is the second word. Follows redirections; during an outage, asks again."""
        end, port = time.monotonic() + LEADER_SECONDS_MAX, None
        while True:
            reply = self._ask_node(port or random.choice(self.ports), command)
            word, *rest = reply.split() if isinstance(reply, resp.ErrorReply) else [None]
            if word == "MOVED":
                port = int(rest[1].rpartition(":")[2])
            elif word not in OUTAGE_WORDS:
                return reply
            else:
                port = None
                time.sleep(0.05)
            if time.monotonic() > end:
                raise AssertionError(f"{command}: {reply}")

    def _ask_node(self, port, command):
        try:
            with resp.Connection.to(("127.0.0.1", port)) as client:
                return client.ask(*command)
        except (OSError, resp.Ended) as failure:
            return resp.ErrorReply(f"{OUTAGE_WORDS[0]} {failure!r}")

    def counts(self):
        found = collections.Counter()
        for node in self.server.nodes:
            with node.connect() as client:
                found.update(calls_of(client))
        return found

    def outage(self, kind, key):
        """Makes the leader of the key hand over, or kills it and starts it again."""
        self.server.await_whole(SYNC_SECONDS_MAX)
        partition = self.partition_of(key)
        old = self.server.leaders()[partition]
        if kind == "planned":
            if (reply := old.connect().ask("CLUSTER", "FAILOVER", "FORCE")) != "OK":
                raise AssertionError(f"{old.name} does not hand over: {reply}")
        else:
            old.kill()
        end = time.monotonic() + LEADER_SECONDS_MAX
        while self.server.leaders().get(partition) in (None, old):
            if time.monotonic() > end:
                raise AssertionError(f"no node follows {old.name}")
            time.sleep(0.02)
        if kind == "killed":
            old.start()


class RedisServer(Plain):
    """A redis-server, which is not fairlock."""

    name = "redis"

    def make(self):
        return Redis()


ALL = {kind.name: kind for kind in (Plain, Tls, FleetServers, ClusterServers, RedisServer)}
