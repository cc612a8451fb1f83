"""The client libraries whose cluster mode is driven, and their running players (player.md)."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import own_go
import stacks
import worker_process

FOLDER = pathlib.Path(__file__).parent

PYTHON = [sys.executable, "-B"]
# Built beforehand; if it is not set, the player is built when it is needed.
GO_PLAYER = os.environ.get("GO_PLAYER")


def go_stack():
    stack = stacks.ALL["go-redis"]
    if GO_PLAYER:
        return dataclasses.replace(stack, program=[GO_PLAYER], build=())
    program = "{build}/go_player"
    return dataclasses.replace(stack, program=[program],
                               build=stacks.go_build(str(FOLDER / "player.go"), program))


def java_stack(name, jar, *words):
    return stacks.Stack(name, "Java 17, and deploy/build-java-client.sh", stacks.java_version(jar),
                        stacks.java_program("ClusterPlayer", *words))


ALL = {stack.name: stack for stack in (
    dataclasses.replace(stacks.ALL["redis-py"], program=[*PYTHON, str(FOLDER / "player.py")]),
    stacks.node_stack("ioredis", "ioredis", "cluster_player_ioredis.js"),
    stacks.node_stack("node-redis", "redis", "cluster_player_node_redis.js", RESP="2"),
    stacks.node_stack("node-redis RESP3", "redis", "cluster_player_node_redis.js", RESP="3"),
    dataclasses.replace(stacks.ALL["redis gem"],
                        program=[stacks.RUBY, str(FOLDER / "player.rb")]),
    go_stack(),
    java_stack("Lettuce", "lettuce-core"),
    java_stack("Jedis", "jedis", "jedis"),
    stacks.Stack("redis-cli", "redis-tools", ["sh", "-c", "redis-cli --version | cut -d' ' -f2"],
                 [*PYTHON, str(FOLDER / "player_redis_cli.py")]),
)}

if own_go.why_not() and not GO_PLAYER:
    del ALL["go-redis"]
    print(f"skipped, go-redis: {own_go.why_not()}")

if not (stacks.CLIENTS / "java/target/complete").exists():
    del ALL["Lettuce"], ALL["Jedis"]
    print("skipped, Lettuce and Jedis: deploy/build-java-client.sh has not built clients/java")

# Which requests besides calls each library has functions for.
JAVASCRIPT = {"pipeline", "transaction", "subscribe"}
ABILITIES = {
    "redis-py": {"pipeline"},
    "ioredis": JAVASCRIPT,
    "node-redis": JAVASCRIPT,
    "node-redis RESP3": JAVASCRIPT,
    "redis gem": {"pipeline", "transaction"},
    "go-redis": {"pipeline", "transaction"},
    "Lettuce": set(),
    "Jedis": set(),
    "redis-cli": {"transaction", "subscribe"},
}


class Refused(Exception):
    """The error that the library reported."""


class Player:

    def __init__(self, stack, command, nodes, log):
        self.name = stack.name
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True,
                env={**os.environ, **stack.environment,
                     "NODES": ",".join(f"127.0.0.1:{node.port}" for node in nodes)})

    def ask(self, kind, value):
        self.process.stdin.write(json.dumps({kind: value}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the player of {self.name} ended")
        result = json.loads(line)
        if "error" in result:
            raise Refused(result["error"])
        return result["reply"]

    def call(self, *words):
        return self.ask("call", [str(word) for word in words])

    def stop(self):
        """Returns the exit status, or None if the player had to be killed."""
        status = worker_process.end(self.process)
        self.process.stdout.close()
        return status
