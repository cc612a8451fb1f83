"""Takes and releases locks with redis-py, as worker.md describes. Argument: sync or asyncio."""

import asyncio
import json
import os
import sys
import threading
import time

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel

OWNER = os.environ["OWNER"]
KEYS = os.environ["KEYS"].split(",")
is_over = threading.Event()


def address(text):
    host, port = text.split(":")
    return host, int(port)


def client_of(library, sentinel_module):
    if os.environ["MODE"] == "sentinel":
        sentinels = [address(text) for text in os.environ["SENTINELS"].split(",")]
        return sentinel_module.Sentinel(sentinels).master_for("main")
    host, port = address(os.environ["NODE"])
    return library.Redis(host=host, port=port)


async def reply_of(client, words):
    reply = client.execute_command(*words)
    return await reply if asyncio.iscoroutine(reply) else reply


async def ask(client, *words):
    """Repeats the request until it is answered."""
    while True:
        line = {"op": words[0], "key": words[1], "begun": time.monotonic_ns() // 1000}
        try:
            line["reply"] = await reply_of(client, words)
        except redis.RedisError as error:
            line["error"] = f"{type(error).__name__}: {error}"
        line["ended"] = time.monotonic_ns() // 1000
        print(json.dumps(line), flush=True)
        if "reply" in line:
            return line["reply"]
        time.sleep(0.01)


async def work(client):
    held_key = f"{OWNER}:held"
    held = await ask(client, "LOCK", held_key, OWNER, "PX", 600_000)
    turn = 0
    while not is_over.is_set():
        key = KEYS[turn % len(KEYS)]
        turn += 1
        token = await ask(client, "LOCK", key, OWNER, "PX", 30_000, "WAIT", "200ms")
        if token is not None:
            time.sleep(0.005)
            await ask(client, "CHECK", key, token)
            await ask(client, "UNLOCK", key, OWNER)
        await ask(client, "RENEW", held_key, OWNER, "PX", 600_000, "TOKEN", held)
        time.sleep(0.02)


threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
if sys.argv[1] == "asyncio":
    asyncio.run(work(client_of(redis.asyncio, redis.asyncio.sentinel)))
else:
    asyncio.run(work(client_of(redis, redis.sentinel)))
