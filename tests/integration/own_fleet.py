"""Three etcd members and a few fairlock nodes on loopback, for tests of high availability."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import own_server
import resp

# The etcd of the members; by default, that of the PATH.
ETCD = os.environ.get("ETCD", "etcd")
START_SECONDS_MAX = 60
LEADS = re.compile(r"this node leads, epoch (\d+)")


def etcdctl(*words):
    """Returns what it prints."""
    return subprocess.run(["etcdctl", *map(str, words)], check=True, capture_output=True,
                          timeout=60, env={**os.environ, "ETCDCTL_API": "3"}).stdout


class Process:
    """A program that can be killed, paused and continued, and started again."""

    def __init__(self, words, log):
        self.words = words
        self.log = log
        self.process = None
        self.environment = {}  # in addition to that of the test

    def start(self):
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output,
                                            env={**os.environ, **self.environment})

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def terminate(self):
        """Ends the process gracefully; returns its exit status."""
        self.process.terminate()
        return self.process.wait(timeout=30)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def check_runs(self):
        """Fails if it has ended: then whatever answers at its port is another program."""
        if not self.is_running:
            raise AssertionError(f"{self.words[0]} has ended: {self.log.read_text()[-2000:]}")


class Node(Process):

    def __init__(self, name, ports, words, log):
        super().__init__(words, log)
        self.name = name
        self.port, self.sentinel_port, self.http_port = ports

    def connect(self, seconds=5):
        connection = resp.Connection.to(("127.0.0.1", self.port))
        connection.socket.settimeout(seconds)
        return connection

    def get(self, path):
        """The body of the HTTP answer; the fleet must have been made with http=True."""
        url = f"http://127.0.0.1:{self.http_port}{path}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read()


class Fleet:
    """Used in a with statement."""

    def __init__(self, nodes=3, members=3, options=(), relays=False, starts_nodes=True,
                 http=False):
        self.starts_nodes = starts_nodes
        self.partitions = 1
        self.nodes_each = nodes
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="fairlock-fleet-"))
        self.relays = relays
        ports = [own_server.free_port() for _ in range(2 * members + 3 * nodes)]
        peers, clients = ports[:members], ports[members:2 * members]
        initial = ",".join(f"e{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        self.endpoints = ",".join(f"127.0.0.1:{port}" for port in clients)
        self.members = [Process(
            [ETCD, "--name", f"e{i}", "--data-dir", str(self.directory / f"e{i}"),
             "--unsafe-no-fsync", "--listen-peer-urls", f"http://127.0.0.1:{peers[i]}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peers[i]}",
             "--listen-client-urls", f"http://127.0.0.1:{clients[i]}",
             "--advertise-client-urls", f"http://127.0.0.1:{clients[i]}",
             "--initial-cluster", initial, "--heartbeat-interval", "50",
             "--election-timeout", "500", "--logger", "zap", "--log-level", "error"],
            self.directory / f"e{i}.log") for i in range(members)]
        node_ports = zip(*[iter(ports[2 * members:])] * 3)
        self.nodes = [Node(
            f"n{i}", (port, sentinel_port, http_port),
            [own_server.PROGRAM, "--bind", "127.0.0.1", "--port", str(port),
             "--http-port", str(http_port) if http else "0",
             "--unix-socket", str(self.directory / f"n{i}.sock"),
             "--cluster-etcd", self.endpoints, "--cluster-node", f"n{i}",
             "--cluster-announce", f"127.0.0.1:{port}", "--sentinel-port", str(sentinel_port),
             "--cluster-relay", "yes" if relays else "no", *options],
            self.directory / f"n{i}.log")
                      for i, (port, sentinel_port, http_port) in enumerate(node_ports)]

    def __enter__(self):
        try:
            for process in self.members:
                process.start()
            self.await_members(START_SECONDS_MAX)
            if self.starts_nodes:
                for node in self.nodes:
                    node.start()
                self.await_whole(START_SECONDS_MAX)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        for process in self.nodes + self.members:
            if process.is_running:
                process.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def await_members(self, seconds, members=None):
        """Waits until these members of etcd, by default all, accept requests."""
        give_up = time.monotonic() + seconds
        for member, endpoint in zip(members or self.members, self.endpoints.split(",")):
            while True:
                member.check_runs()
                try:
                    with urllib.request.urlopen(f"http://{endpoint}/health", timeout=2) as answer:
                        if b'"true"' in answer.read():
                            break
                except OSError:
                    pass
                if time.monotonic() > give_up:
                    raise AssertionError(f"etcd at {endpoint} is not healthy")
                time.sleep(0.02)

    def restore(self, backup, token):
        """The only member of etcd loses its data, and starts with that of the backup."""
        member = self.members[0]
        names = ("--name", "--data-dir", "--initial-cluster", "--initial-advertise-peer-urls")
        values = [member.words[member.words.index(name) + 1] for name in names]
        member.kill()
        shutil.rmtree(values[1])
        etcdctl("snapshot", "restore", backup, "--initial-cluster-token", token,
                *[word for option in zip(names, values) for word in option])
        member.start()
        self.await_members(START_SECONDS_MAX)

    def await_nodes(self, seconds):
        """Waits until every node accepts connections: a leader can be ready before a standby."""
        give_up = time.monotonic() + seconds
        for node in self.nodes:
            while True:
                node.check_runs()
                try:
                    node.connect().close()
                    break
                except OSError:
                    if time.monotonic() > give_up:
                        raise
                    time.sleep(0.02)

    def statuses(self):
        """Returns {node: its own CLUSTER STATUS, or what it relays} for the nodes that answer."""
        statuses = {}
        for node in self.nodes:
            if not node.is_running:
                continue
            try:
                with node.connect(1) as client:
                    statuses[node] = client.ask_map("CLUSTER", "STATUS")
            except (OSError, resp.Ended):
                pass
        return statuses

    def is_whole(self):
        """Whether every partition has its number of nodes, all in sync, every node knows every
        leader, none still believes that it leads, and the record of none is from before it was
        killed."""
        statuses = self.statuses()
        if len(statuses) < len(self.nodes):
            return False
        own_roles = [status[b"role"] for status in statuses.values()]
        if not self.relays and own_roles.count(b"leader") != self.partitions:
            return False
        for status in statuses.values():
            nodes = [dict(zip(one[::2], one[1::2])) for one in status[b"nodes"]]
            for partition in range(self.partitions):
                own = [one for one in nodes if one[b"partition"] == partition]
                roles = sorted(one[b"role"] for one in own)
                if roles != [b"leader"] + [b"standby"] * (self.nodes_each - 1):
                    return False
                if not all(one[b"in_sync"] for one in own):
                    return False
        return True

    def await_whole(self, seconds):
        end = time.monotonic() + seconds
        while not self.is_whole():
            if time.monotonic() > end:
                raise AssertionError(f"the fleet is not whole: {self.logs()}")
            time.sleep(0.05)

    def leader(self):
        """Returns the node that now answers a question about locks itself, or None."""
        if self.relays:
            return self.announced_leader()
        for node in self.nodes:
            if not node.is_running:
                continue
            try:
                with node.connect(1) as client:
                    if client.ask("LOCKED", "fleet:probe") == 0:
                        return node
            except (OSError, resp.Ended):
                pass
        return None

    def announced_leader(self):
        """Returns the node whose own process answers INFO, even if another node relays the
        question; or None."""
        for node in self.nodes:
            if not node.is_running:
                continue
            try:
                with node.connect(1) as client:
                    run = client.ask("INFO", "server").decode()
            except (OSError, resp.Ended, AttributeError):
                continue
            number = int(run.split("process_id:")[1].split()[0])
            leads = [other for other in self.nodes
                     if other.is_running and other.process.pid == number]
            if leads:
                return leads[0]
        return None

    def logged_leader(self, nodes=None):
        """Returns the running node that took over last, according to the logs; or None."""
        epochs = {}
        for node in nodes or self.nodes:
            found = LEADS.findall(node.log.read_text()) if node.log.exists() else []
            if found:
                epochs[int(found[-1])] = node
        newest = epochs[max(epochs)] if epochs else None
        return newest if newest is not None and newest.is_running else None

    def await_leader(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            leader = self.leader()
            if leader is not None:
                return leader
            time.sleep(0.05)
        raise AssertionError(f"no node leads: {self.logs()}")

    def standby(self):
        leader = self.leader()
        return next(node for node in self.nodes if node is not leader and node.is_running)

    def logs(self):
        return "\n".join(f"{log.name}: {log.read_text()[-2000:]}"
                         for log in sorted(self.directory.glob("n*.log")))
