"""A redis-server for comparison, alone or as a cluster."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import time

from own_server import free_port
import resp

REDIS = shutil.which("redis-server")
REDIS_STARTS_MAX = 5


class Redis:
    """Persists nothing. Used in a with statement."""

    def __init__(self, *options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="redis-"))
        self.process = None
        self.port = 0

    def __enter__(self):
        for _ in range(REDIS_STARTS_MAX):
            if self._start():
                return self
        raise AssertionError("redis-server did not start")

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self):
        self.port = free_port()
        self.process = subprocess.Popen(
            [REDIS, "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
             *self.options],
            cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        give_up = time.monotonic() + 20
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                self.connect().close()
                return True
            except ConnectionRefusedError:
                time.sleep(0.01)
        return False

    def connect(self):
        return resp.Connection.to(("127.0.0.1", self.port))

    def major_version(self):
        with self.connect() as connection:
            info = connection.ask("INFO", "server").decode()
        fields = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
        # Valkey calls itself Redis 7.2 in the other field.
        return int(fields.get("valkey_version", fields["redis_version"]).split(".")[0])


class RedisCluster:
    """A Redis Cluster without replicas. Node i serves the hash slots of ranges[i], which are
    (first, last). Used in a with statement."""

    START_SECONDS_MAX = 60

    def __init__(self, ranges):
        self.ranges = ranges
        self.nodes = []
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            for slots in self.ranges:
                bus_port = str(free_port())
                node = self.stack.enter_context(
                    Redis("--cluster-enabled", "yes", "--cluster-port", bus_port))
                self.nodes.append(node)
                with node.connect() as client, self.nodes[0].connect() as first:
                    assert client.ask("CLUSTER", "ADDSLOTSRANGE", *slots) == "OK"
                    assert client.ask("CLUSTER", "SET-CONFIG-EPOCH", len(self.nodes)) == "OK"
                    assert first.ask("CLUSTER", "MEET", "127.0.0.1", node.port, bus_port) == "OK"
            self._await_agreement()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *failure):
        self.stack.close()

    def _await_agreement(self):
        end = time.monotonic() + self.START_SECONDS_MAX
        while not all(self._is_ready(node) for node in self.nodes):
            if time.monotonic() > end:
                raise AssertionError("the Redis Cluster has no agreement")
            time.sleep(0.05)

    def _is_ready(self, node):
        with node.connect() as client:
            info = client.ask("CLUSTER", "INFO")
            return (b"cluster_state:ok" in info
                    and len(client.ask("CLUSTER", "SLOTS")) == len(self.nodes)
                    and f"cluster_known_nodes:{len(self.nodes)}\r".encode() in info)
