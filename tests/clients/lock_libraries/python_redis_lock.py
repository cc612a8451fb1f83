"""Locks in the documented shape of python-redis-lock: a string with a time to live, and a list that
tells one waiter of the release.

    python_redis_lock.py PORT

The scripts are ours; the keys and the commands are those of python-redis-lock 4. Prints what each
call returns.
"""

import json
import sys
import threading
import time

import redis

RELEASE = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end
redis.call('del', KEYS[2])
redis.call('lpush', KEYS[2], 1)
redis.call('pexpire', KEYS[2], ARGV[2])
redis.call('del', KEYS[1])
return 0
"""
EXTEND = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end
if redis.call('ttl', KEYS[1]) < 0 then return 2 end
redis.call('expire', KEYS[1], ARGV[2])
return 0
"""
RESET = """
redis.call('del', KEYS[2])
redis.call('lpush', KEYS[2], 1)
redis.call('pexpire', KEYS[2], ARGV[1])
return redis.call('del', KEYS[1])
"""
SIGNAL_MS = 1000


def show(name, *values):
    print(name, json.dumps(values), flush=True)


class Lock:

    def __init__(self, client, name, owner, seconds=30):
        self.redis = client
        self.keys = (f"lock:{name}", f"lock-signal:{name}")
        self.owner = owner
        self.seconds = seconds

    def acquire(self, wait=0):
        end = time.monotonic() + wait
        while not self.redis.set(self.keys[0], self.owner, nx=True, ex=self.seconds):
            left = end - time.monotonic()
            if left <= 0 or not self.redis.blpop(self.keys[1], max(1, round(left))):
                return False
        return True

    def run(self, script, *values):
        return self.redis.eval(script, 2, *self.keys, *values)

    def release(self):
        return self.run(RELEASE, self.owner, SIGNAL_MS)


def main():
    client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
    a, b, c = (Lock(client, "job", owner) for owner in "abc")
    show("acquire", a.acquire(), b.acquire())
    show("owner", client.get("lock:job"), client.ttl("lock:job") in (29, 30))
    show("release of another", b.release(), client.exists("lock-signal:job"))
    show("extend", a.run(EXTEND, "a", 60), b.run(EXTEND, "b", 60), client.ttl("lock:job") > 30)
    show("release", a.release(), client.type("lock-signal:job"), client.llen("lock-signal:job"),
         0 < client.pttl("lock-signal:job") <= SIGNAL_MS)
    show("acquire after it", b.acquire())

    # Nobody took the signal of the first release, so a waiter first takes that one.
    waited = []
    waiter = threading.Thread(target=lambda: waited.append(c.acquire(5)))
    waiter.start()
    time.sleep(0.3)
    began = time.monotonic()
    show("release with a waiter", b.release())
    waiter.join()
    show("the waiter", waited, time.monotonic() - began < 1, client.get("lock:job"))
    time.sleep(SIGNAL_MS / 1000 + 0.2)
    show("no signal is left", client.exists("lock-signal:job"))
    show("a wait that ends", a.acquire(1))
    show("reset", c.run(RESET, SIGNAL_MS), a.acquire())
    show("reset all", sorted(client.scan_iter("lock*")), client.delete("lock:job"))


if __name__ == "__main__":
    main()
