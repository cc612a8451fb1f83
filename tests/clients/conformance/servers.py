"""The servers on which cases are run: plain, with TLS and users, a fleet, and Redis."""

import contextlib
import random
import re
import time

import own_server
from certificates import Certificates
from kept_server import KeptServer
from own_fleet import Fleet
from own_redis import Redis

PASSWORD = "keeps its secrets"
SYNC_SECONDS_MAX = 30
LEADER_SECONDS_MAX = 20
# An application's user, as docs/SECURITY.md recommends it, and one that only this program uses.
USERS = """user default on nopass ~* owner:* &* +@all
user app on {hash} ~* owner:* resetchannels &fairlock:* +@lock +@connection +subscribe +unsubscribe
"""


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
    def port(self):
        """The port to which drivers connect."""
        return self.server.port

    def environment(self, port):
        """For a driver that connects to `port`."""
        return {"FAIRLOCK_URL": f"redis://127.0.0.1:{port}"}

    def connect(self):
        return self.server.connect()

    def ask(self, *command):
        with self.connect() as client:
            return client.ask(*command)

    def counts(self):
        """How often each command has been executed."""
        text = self.ask("INFO", "commandstats").decode()
        return {name: int(calls)
                for name, calls in re.findall(r"cmdstat_([\w|-]+):calls=(\d+)", text)}

    def outage(self, kind):
        """Restarts the server; kind: planned or killed."""
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
    def port(self):
        return self.tls_port

    def environment(self, port):
        password = PASSWORD.replace(" ", "%20")
        return {"FAIRLOCK_URL": f"rediss://app:{password}@127.0.0.1:{port}",
                "FAIRLOCK_CA": str(self.certificates.authority.certificate)}


class FleetServers(Plain):
    """Three nodes on etcd. Drivers connect to the last one, which relays to the leader."""

    name = "fleet"

    def make(self):
        return Fleet(nodes=3, members=1, relays=True, http=True)

    def __enter__(self):
        super().__enter__()
        if self.server.await_leader() is self.server.nodes[-1]:
            self.outage("planned")
        return self

    @property
    def port(self):
        return self.server.nodes[-1].port

    def connect(self):
        return self.server.await_leader().connect()

    def outage(self, kind):
        """Makes the leader hand over, or kills it and starts it again."""
        self._await_sync()
        old = self.server.await_leader()
        if kind == "planned":
            others = [node for node in self.server.nodes[:-1] if node is not old]
            reply = old.connect().ask("CLUSTER", "FAILOVER", "TO", random.choice(others).name)
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
            return re.search(rb"^fairlock_fleet_in_sync 1$", node.get("/metrics"), re.M)
        except OSError:  # it starts
            return False

    def _await_other(self, old):
        end = time.monotonic() + LEADER_SECONDS_MAX
        while self.server.announced_leader() in (None, old):
            if time.monotonic() > end:
                raise AssertionError(f"no node follows {old.name}")
            time.sleep(0.02)


class RedisServer(Plain):
    """A redis-server, which is not fairlock."""

    name = "redis"

    def make(self):
        return Redis()


ALL = {kind.name: kind for kind in (Plain, Tls, FleetServers, RedisServer)}
