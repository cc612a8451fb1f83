"""Locks in the documented shape of sidekiq-unique-jobs 7 and 8: a digest with a hash of its
holders, lists that hand it over, and a sorted set of all digests.

    unique_jobs.py PORT

The scripts are ours; the keys, their types and the commands are those of the gem. Prints what each
call returns.
"""

import json
import sys
import threading
import time

import redis

DIGESTS = "uniquejobs:digests"
# Puts a token into the queue of the digest, unless the job holds it or the limit is reached.
QUEUE = """
if redis.call('hexists', KEYS[4], ARGV[1]) == 1 then return ARGV[1] end
local taken = redis.call('hlen', KEYS[4]) + redis.call('llen', KEYS[3])
if taken >= tonumber(ARGV[2]) then return nil end
if redis.call('lpos', KEYS[2], ARGV[1]) then return ARGV[1] end
redis.call('set', KEYS[1], ARGV[1])
redis.call('lpush', KEYS[2], ARGV[1])
redis.call('pexpire', KEYS[2], ARGV[3])
return ARGV[1]
"""
# Makes the job that took the token the holder.
LOCK = """
if redis.call('hexists', KEYS[4], ARGV[1]) == 1 then return ARGV[1] end
redis.call('lrem', KEYS[3], -1, ARGV[1])
redis.call('lrem', KEYS[2], 0, ARGV[1])
redis.call('hset', KEYS[4], ARGV[1], ARGV[2])
redis.call('zadd', KEYS[5], ARGV[2], KEYS[1])
redis.call('pexpire', KEYS[4], ARGV[3])
return ARGV[1]
"""
UNLOCK = """
if redis.call('hexists', KEYS[4], ARGV[1]) == 0 then return nil end
redis.call('lrem', KEYS[2], -1, ARGV[1])
redis.call('lrem', KEYS[3], -1, ARGV[1])
redis.call('hdel', KEYS[4], ARGV[1])
if redis.call('hlen', KEYS[4]) == 0 then
  redis.call('unlink', KEYS[4])
  redis.call('zrem', KEYS[5], KEYS[1])
end
redis.call('del', KEYS[1])
return ARGV[1]
"""
# Removes digests that nobody holds.
REAP = """
local removed = 0
for _, digest in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
  if redis.call('exists', digest .. ':LOCKED') == 0 then
    removed = removed + redis.call('zrem', KEYS[1], digest)
  end
end
return removed
"""


def show(name, *values):
    print(name, json.dumps(values), flush=True)


class Digest:

    def __init__(self, client, digest, limit=1):
        self.redis = client
        self.keys = [digest, f"{digest}:QUEUED", f"{digest}:PRIMED", f"{digest}:LOCKED", DIGESTS]
        self.limit = limit

    def run(self, script, *values):
        return self.redis.eval(script, len(self.keys), *self.keys, *values)

    def lock(self, job, now, wait=0, lease_ms=30_000):
        if self.run(QUEUE, job, self.limit, lease_ms) is None:
            return None
        queued, primed = self.keys[1:3]
        token = (self.redis.brpoplpush(queued, primed, wait) if wait
                 else self.redis.lmove(queued, primed, "RIGHT", "LEFT"))
        return token and self.run(LOCK, token, now, lease_ms)

    def unlock(self, job):
        return self.run(UNLOCK, job)


def main():
    client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
    one = Digest(client, "uniquejobs:d1")
    show("lock", one.lock("j1", 1.5), one.lock("j1", 1.5), one.lock("j2", 2))
    show("keys", {key: client.type(key) for key in sorted(client.scan_iter("uniquejobs:*"))})
    show("holders", client.hgetall(one.keys[3]), 29_000 < client.pttl(one.keys[3]) <= 30_000)
    show("digests", client.zrange(DIGESTS, 0, -1, withscores=True), client.zcard(DIGESTS))
    show("unlock", one.unlock("j2"), one.unlock("j1"), client.exists(*one.keys))
    show("lock after it", one.lock("j2", 3))

    two = Digest(client, "uniquejobs:d2", limit=2)
    show("two at once", *(two.lock(job, number) for number, job in enumerate(("a", "b", "c"))))
    show("by score", client.zrangebyscore(DIGESTS, "(1", "+inf"),
         client.zrevrange(DIGESTS, 0, 0), client.zscan(DIGESTS, match="*d1")[1])
    show("scan of holders", sorted(client.hscan(two.keys[3])[1].items()))

    # A job that waits on the queue gets what is pushed later.
    taken = []
    waiter = threading.Thread(target=lambda: taken.append(
        client.brpoplpush("uniquejobs:d3:QUEUED", "uniquejobs:d3:PRIMED", 5)))
    waiter.start()
    time.sleep(0.3)
    three = Digest(client, "uniquejobs:d3")
    show("queue for a waiter", three.run(QUEUE, "j9", 1, 30_000))
    waiter.join()
    show("the waiter", taken, client.lrange("uniquejobs:d3:PRIMED", 0, -1))
    show("the waiter's lock", three.run(LOCK, "j9", 9, 150), client.llen("uniquejobs:d3:PRIMED"))

    time.sleep(0.3)
    show("reap", client.eval(REAP, 1, DIGESTS), client.zrange(DIGESTS, 0, -1))
    show("unlock all", one.unlock("j2"), two.unlock("a"), two.unlock("b"),
         client.exists(DIGESTS))


if __name__ == "__main__":
    main()
