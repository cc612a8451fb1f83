"""A fleet of two partitions for a test in another language. Prints the ports of its nodes, then
answers each line on stdin with a line, a JSON value:

    leader PARTITION       the port of the node that leads it
    kill PARTITION         kills that node
    pause PARTITION        stops it with SIGSTOP
    hand-over PARTITION    makes it hand over
    await PARTITION        waits until a node leads that did not before the last of these; its port
    repair                 starts and continues all nodes, and waits until the fleet is whole
"""

import json
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests" / "integration"))
from own_cluster import PartitionedFleet  # noqa: E402

SECONDS_MAX = 30


class Answers:

    def __init__(self, fleet):
        self.fleet = fleet
        self.all_nodes = list(fleet.nodes)
        self.old = None

    def leader(self, partition):
        return self.fleet.leaders().get(int(partition))

    def port(self, partition):
        return self.leader(partition).port

    def kill(self, partition):
        self.old = self.leader(partition)
        self.old.kill()
        self.fleet.nodes.remove(self.old)

    def pause(self, partition):
        self.old = self.leader(partition)
        self.old.pause()
        self.fleet.nodes.remove(self.old)  # a stopped node would not answer

    def hand_over(self, partition):
        self.old = self.leader(partition)
        with self.old.connect() as client:
            answer = client.ask("CLUSTER", "FAILOVER")
        if answer != "OK":
            raise AssertionError(f"{self.old.name} does not hand over: {answer}")

    def await_next(self, partition):
        end = time.monotonic() + SECONDS_MAX
        while self.leader(partition) in (None, self.old):
            if time.monotonic() > end:
                raise AssertionError(f"no node follows {self.old.name}: {self.fleet.logs()}")
            time.sleep(0.02)
        return self.leader(partition).port

    def repair(self):
        for node in self.all_nodes:
            if node.is_running:
                node.go_on()
            else:
                node.start()
        self.fleet.nodes[:] = self.all_nodes
        self.fleet.await_whole(SECONDS_MAX)


with PartitionedFleet(partitions=2, nodes_each=2) as fleet:
    print(json.dumps([node.port for node in fleet.nodes]), flush=True)
    answers = Answers(fleet)
    calls = {"leader": answers.port, "kill": answers.kill, "pause": answers.pause,
             "hand-over": answers.hand_over, "await": answers.await_next, "repair": answers.repair}
    try:
        for line in sys.stdin:
            name, *words = line.split()
            print(json.dumps(calls[name](*words)), flush=True)
    finally:
        fleet.nodes[:] = answers.all_nodes
