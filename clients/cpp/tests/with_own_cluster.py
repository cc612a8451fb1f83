"""Runs a program with its own fleet of two partitions, which the program can disturb.

    with_own_cluster.py PROGRAM [ARGUMENT...]

NODES contains the addresses of the nodes, which know the users shop and stranger. The program
writes lines to the file descriptor FLEET_ASK, and reads a line from FLEET_REPLY when each is done:

    kill PARTITION        kills the leader of the partition
    hand-over PARTITION   makes it hand over
    pause PARTITION       stops its process
    heal                  starts or continues every node, and waits until the fleet is whole again
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/integration"))
from own_cluster import PartitionedFleet  # noqa: E402

HEAL_SECONDS_MAX = 60
# The permissions that the README names, and those of a server without partitions.
_APPLICATION = ("on >secret ~* owner:* resetchannels &fairlock:* "
                "+@lock +@connection +subscribe +unsubscribe")
USERS = f"""user default on nopass ~* owner:* &* +@all
user shop {_APPLICATION} +cluster|slots
user stranger {_APPLICATION}
"""


def heal(fleet, _):
    for node in fleet.nodes:
        if node.is_running:
            node.go_on()
        else:
            node.start()
    fleet.await_whole(HEAL_SECONDS_MAX)


def hand_over(fleet, partition):
    leader = leader_of(fleet, partition)
    with leader.connect() as client:
        reply = client.ask("CLUSTER", "FAILOVER")
    if reply != "OK":
        raise AssertionError(f"{leader.name} does not hand over: {reply}")
    end = time.monotonic() + HEAL_SECONDS_MAX
    while leader_of(fleet, partition) in (None, leader):
        if time.monotonic() > end:
            raise AssertionError(f"no node follows {leader.name}")
        time.sleep(0.02)


def leader_of(fleet, partition):
    return fleet.leaders().get(int(partition))


ACTIONS = {"heal": heal, "hand-over": hand_over,
           "kill": lambda fleet, partition: leader_of(fleet, partition).kill(),
           "pause": lambda fleet, partition: leader_of(fleet, partition).pause()}


def main(words):
    with tempfile.NamedTemporaryFile("w", suffix=".acl") as users:
        users.write(USERS)
        users.flush()
        with PartitionedFleet(partitions=2, nodes_each=2,
                              options=("--acl-file", users.name)) as fleet:
            return run(fleet, words)


def run(fleet, words):
    asked, ask = os.pipe()
    replied, reply = os.pipe()
    nodes = ",".join(f"127.0.0.1:{node.port}" for node in fleet.nodes)
    with subprocess.Popen(words, pass_fds=(ask, replied), env={
            **os.environ, "NODES": nodes, "FLEET_ASK": str(ask),
            "FLEET_REPLY": str(replied)}) as program:
        os.close(ask)
        os.close(replied)
        with os.fdopen(asked) as lines, os.fdopen(reply, "w", buffering=1) as replies:
            for line in lines:
                action, _, partition = line.strip().partition(" ")
                ACTIONS[action](fleet, partition)
                replies.write("done\n")
        return program.wait()


sys.exit(main(sys.argv[1:]))
