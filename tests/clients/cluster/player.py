"""Drives redis-py's RedisCluster, as player.md describes."""

import json
import logging
import os
import sys

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import RedisClusterException

logging.disable()
NODES = [ClusterNode(host, int(port)) for host, port in
         (address.split(":") for address in os.environ["NODES"].split(","))]


def typed(words):
    """redis-py needs the number of keys of a script as a number."""
    return [*words[:2], int(words[2]), *words[3:]] if words[0] == "EVAL" else words


def plain(reply):
    if reply is True:
        return "OK"
    if isinstance(reply, list):
        return [plain(one) for one in reply]
    return reply.decode() if isinstance(reply, bytes) else reply


def pipeline_of(client, commands):
    pipeline = client.pipeline()
    for words in commands:
        pipeline.execute_command(*typed(words))
    return pipeline.execute()


def answer(client, request):
    if "call" in request:
        return client.execute_command(*typed(request["call"]))
    return pipeline_of(client, request["pipeline"])


def main():
    client = RedisCluster(startup_nodes=NODES)
    for line in sys.stdin:
        try:
            result = {"reply": plain(answer(client, json.loads(line)))}
        except (redis.RedisError, RedisClusterException) as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)


main()
