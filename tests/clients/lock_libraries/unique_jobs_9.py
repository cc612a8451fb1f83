"""Locks in the shape of sidekiq-unique-jobs 9: a hash of the holders of each digest, whose values
are JSON objects, and one sorted set of all digests.

    unique_jobs_9.py PORT

The scripts are ours; the keys, their types and the commands are those of the gem. Prints what each
call returns.
"""

import json
import sys

import redis

DIGESTS = "uniquejobs:digests"
LOCK = """
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return ARGV[1] end
if redis.call('hlen', KEYS[1]) >= tonumber(ARGV[2]) then return nil end
redis.call('hset', KEYS[1], ARGV[1], ARGV[3])
redis.call('zadd', KEYS[2], ARGV[4], (string.gsub(KEYS[1], ':LOCKED$', '')))
if tonumber(ARGV[5]) > 0 then redis.call('pexpire', KEYS[1], ARGV[5]) end
return ARGV[1]
"""
UNLOCK = """
local digest = string.gsub(KEYS[1], ':LOCKED$', '')
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 and redis.call('hlen', KEYS[1]) > 0 then return nil end
if redis.call('hlen', KEYS[1]) == 0 then
  redis.call('zrem', KEYS[2], digest)
  redis.call('unlink', KEYS[1])
end
return ARGV[1]
"""
FETCH = """
local job = redis.call('lmove', KEYS[1], KEYS[2], 'RIGHT', 'LEFT')
if not job then return nil end
local ok, item = pcall(cjson.decode, job)
if not ok or not item['lock_digest'] then return {job, -1} end
return {job, redis.call('hexists', item['lock_digest'] .. ':LOCKED', item['jid'])}
"""


def show(name, *values):
    print(name, json.dumps(values), flush=True)


class Digest:

    def __init__(self, client, name, limit=1):
        self.redis = client
        self.keys = [f"{name}:LOCKED", DIGESTS]
        self.limit = limit

    def lock(self, job, now, lease_ms=0):
        metadata = json.dumps({"worker": "W", "lock_args": [{"time": 1}], "time": now, "at": None})
        return self.redis.eval(LOCK, 2, *self.keys, job, self.limit, metadata, now, lease_ms)

    def unlock(self, job):
        return self.redis.eval(UNLOCK, 2, *self.keys, job)


def main():
    client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
    one = Digest(client, "uniquejobs:d1")
    show("lock", one.lock("j1", 1.5), one.lock("j1", 2), one.lock("j2", 2))
    show("keys", {key: client.type(key) for key in sorted(client.scan_iter("*"))})
    show("holders", {job: json.loads(text)["time"]
                     for job, text in client.hgetall(one.keys[0]).items()})
    show("unlock", one.unlock("j2"), one.unlock("j1"), client.exists(*one.keys))
    two = Digest(client, "uniquejobs:d2", limit=2)
    show("two at once", *(two.lock(job, number, 30_000)
                          for number, job in enumerate(("a", "b", "c"))))
    show("lease", 29_000 < client.pttl(two.keys[0]) <= 30_000)
    show("digests", client.zrange(DIGESTS, 0, -1, withscores=True),
         client.zscan(DIGESTS, match="*", count=50)[1], client.zcard(DIGESTS),
         client.zrangebyscore(DIGESTS, 0, 5, start=0, num=10))

    # What the replace strategy deletes, even if the job has no digest.
    show("delete by digest", client.unlink(two.keys[0]), client.zrem(DIGESTS, "uniquejobs:d2"),
         client.unlink(""), client.exists(""), client.zrem(DIGESTS, ""))

    job = json.dumps({"lock_digest": "uniquejobs:d1", "jid": "j1"})
    one.lock("j1", 3)
    client.lpush("queue:default", job, "no JSON")
    show("fetch", *(client.eval(FETCH, 2, "queue:default", "uniquejobs:working:p")
                    for _ in range(3)))
    show("acknowledge", client.lrem("uniquejobs:working:p", 1, job))
    with client.pipeline(transaction=False) as pipe:
        pipe.hincrby("uniquejobs:metrics|261128|4:50", "until_executed|locked", 1)
        pipe.expire("uniquejobs:metrics|261128|4:50", 28_800)
        show("metrics", pipe.execute())


if __name__ == "__main__":
    main()
