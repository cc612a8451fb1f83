"""Tests that client libraries in Sentinel mode can use the Sentinel port: each finds the leader,
and then the leader's successor. Prints how long that took."""

import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

import redis
from redis.sentinel import MasterNotFoundError, Sentinel

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent / "integration"))
import own_go  # noqa: E402
from own_server import free_port  # noqa: E402

JAVA = FOLDER.parents[1] / "clients/java/target"
NAMES = ("lock1", "lock2", "lock3")
SECONDS_MAX = 20
# How long clients are told that no node leads.
OUTAGE_SECONDS = 0.5

# Each client's program and environment.
CLIENTS = {
    "redis-py": ([sys.executable, "-B", "follow_leader.py"], {}),
    "ioredis": ([os.environ["NODE"], "node/follow_leader_ioredis.js"], {}),
    "node-redis RESP2": ([os.environ["NODE"], "node/follow_leader_node_redis.js"], {"RESP": "2"}),
    "node-redis RESP3": ([os.environ["NODE"], "node/follow_leader_node_redis.js"], {"RESP": "3"}),
    "redis gem": ([os.environ["RUBY"], "ruby/follow_leader.rb"], {}),
    "go-redis": ([os.environ["GO_FOLLOWER"]], {}),
    "clients/cpp": ([os.environ["CPP_FOLLOWER"]], {}),
    "clients/java, Lettuce": (["/bin/sh", str(JAVA / "program"), "FollowLeader"], {}),
    "clients/java, Jedis": (["/bin/sh", str(JAVA / "program"), "FollowLeader", "jedis"], {}),
}
if not os.environ["GO_FOLLOWER"]:
    del CLIENTS["go-redis"]
    print(f"skipped, go-redis: {own_go.why_not()}")
if not (JAVA / "complete").exists():
    del CLIENTS["clients/java, Lettuce"], CLIENTS["clients/java, Jedis"]
    print("skipped, clients/java: deploy/build-java-client.sh has not built it")


class Lines:
    """Collects the lines that a program writes, as they arrive."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.strip())
                self.changed.notify_all()

    def close(self):
        """Ends the program, and returns its exit status."""
        self.process.stdin.close()
        status = self.process.wait(SECONDS_MAX)
        self.reader.join(SECONDS_MAX)
        self.process.stdout.close()
        return status

    def await_line(self, number):
        with self.changed:
            self.changed.wait_for(lambda: len(self.lines) > number, SECONDS_MAX)
            if len(self.lines) <= number:
                raise AssertionError(f"{self.process.args} wrote only {self.lines}")
            return self.lines[number]


class Fleet:
    """Several nodes, of which the test names the leader."""

    def __init__(self, password=""):
        self.password = password
        self.ports = {name: (free_port(), free_port()) for name in NAMES}
        listed = [f"{name}={port}:{sentinel}" for name, (port, sentinel) in self.ports.items()]
        self.leader = ""
        self.nodes = {name: Lines(subprocess.Popen(
            [os.environ["SENTINEL_NODE"], name, password, *listed], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)) for name in NAMES}
        for node in self.nodes.values():
            node.await_line(0)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for node in self.nodes.values():
            node.close()

    def tell(self, node, leader):
        """Tells the node which one leads, and waits until its Sentinel port says so."""
        stdin = self.nodes[node].process.stdin
        stdin.write(leader + "\n")
        stdin.flush()
        expected = ("127.0.0.1", self.port_of(leader)) if leader else None
        give_up = time.monotonic() + SECONDS_MAX
        with redis.Redis("127.0.0.1", self.ports[node][1], password=self.password or None,
                         decode_responses=True) as sentinel:
            while sentinel.sentinel_get_master_addr_by_name("main") != expected:
                if time.monotonic() > give_up:
                    raise AssertionError(f"{node} does not learn that {leader} leads")

    def lead(self, name):
        """Makes that node the leader. The deposed leader is told last: it then closes its
        connections, and by that time no Sentinel sends the clients back to it.

        The leader holds the key "leader", for clients that cannot ask it for its name."""
        for node in sorted(NAMES, key=lambda node: node == self.leader):
            self.tell(node, name)
            if node == name:
                self.take_leader_key(name)
        self.leader = name

    def take_leader_key(self, name):
        with redis.Redis("127.0.0.1", self.port_of(name),
                         password=self.password or None) as node:
            node.execute_command("LOCK", "leader", name, "PX", 600_000)

    def sentinels(self):
        return [("127.0.0.1", sentinel) for _, sentinel in self.ports.values()]

    def port_of(self, name):
        return self.ports[name][0]


class Clients(unittest.TestCase):

    def start(self, fleet, client):
        words, environment = CLIENTS[client]
        addresses = ",".join(f"{host}:{port}" for host, port in fleet.sentinels())
        process = subprocess.Popen(
            words, cwd=FOLDER, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "SENTINELS": addresses, "PASSWORD": fleet.password, **environment})
        return Lines(process)

    def follow(self, client, password):
        """The client takes locks on the leader, and then on its successor."""
        with Fleet(password) as fleet:
            fleet.lead("lock1")
            lines = self.start(fleet, client)
            self.addCleanup(lines.process.kill)
            self.assertEqual(lines.await_line(0), "lock1")
            fleet.lead("")
            time.sleep(OUTAGE_SECONDS)
            begin = time.monotonic()
            fleet.lead("lock2")
            self.assertEqual(lines.await_line(1), "lock2")
            print(f"{client}: {time.monotonic() - begin:.2f} s after the take-over")
            self.assertEqual(lines.lines, ["lock1", "lock2"])
            self.assertEqual(lines.close(), 0)

    def test_each_client_follows_the_leader(self):
        for client in CLIENTS:
            with self.subTest(client):
                self.follow(client, "")

    def test_each_client_logs_in_at_both_ports(self):
        for client in CLIENTS:
            with self.subTest(client):
                self.follow(client, "a-password")


class RedisPy(unittest.TestCase):

    def setUp(self):
        self.fleet = self.enterContext(Fleet())
        self.sentinel = Sentinel(self.fleet.sentinels(), sentinel_kwargs={"decode_responses": True})
        self.asked = redis.Redis("127.0.0.1", port=self.fleet.sentinels()[0][1],
                                 decode_responses=True)
        self.addCleanup(self.asked.close)

    def test_it_reads_every_reply(self):
        self.fleet.lead("lock1")
        master = ("127.0.0.1", self.fleet.port_of("lock1"))
        standbys = {("127.0.0.1", self.fleet.port_of(name)) for name in ("lock2", "lock3")}
        self.assertEqual(self.sentinel.discover_master("main"), master)
        self.assertEqual(set(self.sentinel.discover_slaves("main")), standbys)
        state = self.asked.sentinel_master("main")
        self.assertEqual((state["ip"], state["port"]), master)
        self.assertEqual((state["num-slaves"], state["num-other-sentinels"], state["is_master"],
                          state["is_odown"]), (2, 2, True, False))
        self.assertEqual(list(self.asked.sentinel_masters()), ["main"])
        others = {(other["ip"], other["port"]) for other in self.asked.sentinel_sentinels("main")}
        self.assertEqual(others, set(self.fleet.sentinels()[1:]))
        quorum = self.asked.execute_command("SENTINEL", "CKQUORUM", "main")
        self.assertTrue(quorum.startswith("OK "), quorum)
        self.assertEqual(self.asked.info()["master0"]["status"], "ok")
        with self.assertRaises(redis.ResponseError):
            self.asked.set("k", "v")

    def test_it_knows_no_other_master_and_none_while_nobody_leads(self):
        self.fleet.lead("lock1")
        with self.assertRaises(MasterNotFoundError):
            self.sentinel.discover_master("other")
        self.fleet.lead("")
        with self.assertRaises(MasterNotFoundError):
            self.sentinel.discover_master("main")
        self.assertTrue(self.asked.sentinel_master("main")["is_odown"])

    def test_a_subscriber_hears_of_the_next_leader(self):
        self.fleet.lead("lock1")
        channel = self.asked.pubsub()
        self.addCleanup(channel.close)
        channel.subscribe("+switch-master")
        self.assertEqual(channel.get_message(timeout=SECONDS_MAX)["type"], "subscribe")
        time.sleep(0.5)  # the port looks at the leader every 0.1 s, and must have seen this one
        self.fleet.lead("lock2")
        message = channel.get_message(timeout=SECONDS_MAX)
        self.assertEqual(message["data"], f"main 127.0.0.1 {self.fleet.port_of('lock1')} "
                                          f"127.0.0.1 {self.fleet.port_of('lock2')}")


if __name__ == "__main__":
    unittest.main()
