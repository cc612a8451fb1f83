"""Takes locks from the leader, found through Sentinel; prints the node whenever it changes."""

import os
import sys
import threading
import time

import redis
from redis.sentinel import Sentinel

password = os.environ["PASSWORD"] or None
sentinels = [(host, int(port)) for host, port in
             (address.split(":") for address in os.environ["SENTINELS"].split(","))]
client = Sentinel(sentinels, sentinel_kwargs={"password": password}, password=password,
                  decode_responses=True).master_for("main")
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
last = None
while True:
    try:
        client.execute_command("LOCK", "order:42", "redis-py", "PX", 1000)
        node = client.info("cluster")["fleet_node"]
        if node != last:
            print(node, flush=True)
            last = node
    except (redis.ConnectionError, redis.ResponseError):
        pass  # The client connects again by itself.
    time.sleep(0.01)
