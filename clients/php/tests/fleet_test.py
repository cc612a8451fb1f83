"""Fleets whose leader is killed while a PHP process holds a lock and another waits for it."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "integration"))

from own_cluster import PartitionedFleet  # noqa: E402
from own_fleet import Fleet  # noqa: E402

PHP = os.environ.get("PHP", "/usr/bin/php")
SECONDS_MAX = 60


class Worker:
    """A PHP process. Used in a with statement, at whose end it is killed."""

    def __init__(self, fleet, *words):
        nodes = ",".join(f"127.0.0.1:{node.port}" for node in fleet.nodes)
        sentinels = ",".join(f"127.0.0.1:{node.sentinel_port}" for node in fleet.nodes
                             if getattr(node, "sentinel_port", None))
        self.process = subprocess.Popen(
            [PHP, str(HERE / "fleet_worker.php"), *words], text=True,
            env={**os.environ, "NODES": nodes, "SENTINELS": sentinels},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.communicate()

    def line(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else ["the process has ended"]

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()


class FailOver(unittest.TestCase):

    def await_waiter(self, ask, key):
        end = time.monotonic() + SECONDS_MAX
        while ask("POSITION", key, "wait") != 1:
            self.assertLess(time.monotonic(), end, "nobody waits")
            time.sleep(0.02)

    def hold_and_wait(self, how, fleet, ask, fail_over, key="k"):
        with contextlib.ExitStack() as workers:
            holder = workers.enter_context(Worker(fleet, "hold", how, key))
            (token,) = holder.line()
            waiter = workers.enter_context(Worker(fleet, "wait", how, key))
            self.await_waiter(ask, key)
            fail_over()
            self.await_waiter(ask, key)
            holder.go_on()
            self.assertEqual(holder.line(), [True, True])
            (later,) = waiter.line()
            self.assertGreater(later, token)
            waiter.go_on()
            self.assertEqual(waiter.line(), [True, True])

    def test_one_partition(self):
        with Fleet(nodes=3, members=1) as fleet:
            def ask(*command):
                with fleet.await_leader().connect() as client:
                    return client.ask(*command)

            def fail_over():
                leader = fleet.await_leader()
                leader.kill()
                fleet.await_leader()
                leader.start()

            with Worker(fleet, "example") as worker:
                self.assertEqual(worker.line(), [2])
            with Worker(fleet, "first", "nodes") as worker:
                self.assertEqual([worker.line() for _ in range(3)], [[True]] * 3)
            for how in ("nodes", "sentinels", "predis-sentinels"):
                with self.subTest(how):
                    self.hold_and_wait(how, fleet, ask, fail_over)

    def test_several_partitions(self):
        with PartitionedFleet(partitions=2, nodes_each=2) as fleet:
            partition = fleet.partition_of("k")

            def ask(*command):
                with fleet.leaders()[partition].connect() as client:
                    return client.ask(*command)

            def fail_over():
                leader = fleet.leaders()[partition]
                leader.kill()
                end = time.monotonic() + SECONDS_MAX
                while fleet.leaders().get(partition) in (None, leader):
                    self.assertLess(time.monotonic(), end, "no node follows")
                    time.sleep(0.05)
                leader.start()

            for how in ("nodes", "predis-cluster", "redis-cluster"):
                with self.subTest(how):
                    with Worker(fleet, "try", how) as worker:
                        self.assertEqual([worker.line() for _ in range(10)], [[True]] * 10)
            self.hold_and_wait("nodes", fleet, ask, fail_over)


if __name__ == "__main__":
    unittest.main()
