"""Locks in the documented shape of Redisson's: what its objects store, and what they ask.

    redisson.py PORT

The scripts are ours; the keys, their types and the commands are those of Redisson 3. Prints what
each call returns.
"""

import json
import sys
import threading
import time

import redis

# An RLock is a hash of "client:thread" to the number of times that it was locked.
LOCK = """
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
"""
UNLOCK = """
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 0)
return 1
"""
RENEW = """
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('pexpire', KEYS[1], ARGV[1])
return 1
"""
# An RFairLock also has a list of those who wait, and a sorted set of the times until which they
# may.
FAIR_LOCK = """
while true do
  local first = redis.call('lindex', KEYS[2], 0)
  if not first then break end
  if tonumber(redis.call('zscore', KEYS[3], first)) > tonumber(ARGV[3]) then break end
  redis.call('zrem', KEYS[3], first)
  redis.call('lpop', KEYS[2])
end
local first = redis.call('lindex', KEYS[2], 0)
if redis.call('exists', KEYS[1]) == 0 and (not first or first == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[4]), waiter)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  return nil
end
local ends = redis.call('zscore', KEYS[3], ARGV[2])
if ends then return tonumber(ends) - tonumber(ARGV[3]) end
local last = redis.call('lindex', KEYS[2], -1)
local left = last and tonumber(redis.call('zscore', KEYS[3], last)) - tonumber(ARGV[3])
  or redis.call('pttl', KEYS[1])
if redis.call('zadd', KEYS[3], left + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return left
"""
FAIR_UNLOCK = """
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end
redis.call('del', KEYS[1])
local first = redis.call('lindex', KEYS[2], 0)
if first then redis.call('publish', KEYS[3] .. ':' .. first, 0) end
return 1
"""
# An RReadWriteLock is a hash with a field `mode`, and one key with a time to live for each reading.
READ_LOCK = """
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then redis.call('hset', KEYS[1], 'mode', 'read') end
if not mode or mode == 'read' or redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 1 then
  local count = redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':' .. count, 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[1])))
  return nil
end
return redis.call('pttl', KEYS[1])
"""
WRITE_LOCK = """
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 1) then
  redis.call('hset', KEYS[1], 'mode', 'write')
  redis.call('hincrby', KEYS[1], ARGV[2] .. ':write', 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
"""
READ_UNLOCK = """
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end
local count = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if count == 0 then redis.call('hdel', KEYS[1], ARGV[1]) end
redis.call('del', KEYS[2] .. ':' .. (count + 1))
if redis.call('hlen', KEYS[1]) > 1 then
  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    local number = tonumber(redis.call('hget', KEYS[1], field))
    if number then return 0 end
  end
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[3], 0)
return 1
"""
WRITE_UNLOCK = """
if redis.call('hexists', KEYS[1], ARGV[1] .. ':write') == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[1] .. ':write', -1) > 0 then return 0 end
redis.call('hdel', KEYS[1], ARGV[1] .. ':write')
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[2], 0)
else
  redis.call('hset', KEYS[1], 'mode', 'read')
end
return 1
"""
# An RSemaphore is a number.
TAKE = """
local free = redis.call('get', KEYS[1])
if free and tonumber(free) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  return 1
end
return 0
"""
GIVE_BACK = """
local free = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('publish', KEYS[2], free)
return free
"""
# An RPermitExpirableSemaphore is a number, and a sorted set of the permits by the end of their
# leases.
TAKE_PERMIT = """
local ended = redis.call('zrangebyscore', KEYS[2], 0, ARGV[3], 'limit', 0, 10)
if #ended > 0 then
  redis.call('zrem', KEYS[2], unpack(ended))
  redis.call('incrby', KEYS[1], #ended)
end
local free = redis.call('get', KEYS[1])
if free and tonumber(free) > 0 then
  redis.call('decrby', KEYS[1], 1)
  redis.call('zadd', KEYS[2], ARGV[2], ARGV[1])
  return ARGV[1]
end
local first = redis.call('zrange', KEYS[2], 0, 0, 'WITHSCORES')
return #first > 0 and 'the first one ends later' or nil
"""
GIVE_PERMIT_BACK = """
if redis.call('zrem', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('incrby', KEYS[1], 1)
return 1
"""
# An RCountDownLatch is a number; the message at zero opens it.
SET_LATCH = """
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('set', KEYS[1], ARGV[1])
redis.call('publish', KEYS[2], 1)
return 1
"""
COUNT_DOWN = """
local left = redis.call('decr', KEYS[1])
if left <= 0 then redis.call('del', KEYS[1]) end
if left == 0 then redis.call('publish', KEYS[2], 0) end
return left
"""


class Player:

    def __init__(self, port):
        self.redis = redis.Redis(port=port, decode_responses=True)

    def show(self, name, *values):
        print(name, json.dumps(values), flush=True)

    def run(self, script, *words):
        keys, values = words
        return self.redis.eval(script, len(keys), *keys, *values)

    def listen(self, channel):
        """Returns a function that returns the next message."""
        listener = self.redis.pubsub(ignore_subscribe_messages=True)
        listener.subscribe(channel)
        listener.get_message(timeout=2)

        def next_message():
            end = time.monotonic() + 2
            while time.monotonic() < end:
                message = listener.get_message(timeout=0.1)
                if message:
                    return message["data"]
            return None
        return next_message

    def lock(self):
        keys, a, b = ["redisson:lock"], "u1:1", "u2:7"
        channel = "redisson_lock__channel:{redisson:lock}"
        heard = self.listen(channel)
        self.show("lock", self.run(LOCK, keys, [30_000, a]), self.run(LOCK, keys, [30_000, a]))
        left = self.run(LOCK, keys, [30_000, b])
        self.show("lock of another", 29_000 < left <= 30_000)
        self.show("type, fields", self.redis.type(keys[0]), self.redis.hgetall(keys[0]))
        self.show("renew", self.run(RENEW, keys, [60_000, a]), self.run(RENEW, keys, [60_000, b]))
        self.show("time to live", 59 <= self.redis.ttl(keys[0]) <= 60)
        both = [*keys, channel]
        self.show("unlock", *(self.run(UNLOCK, both, [30_000, owner]) for owner in (b, a, a)),
                  heard())
        self.show("lock after it", self.run(LOCK, keys, [100, b]))
        time.sleep(0.25)
        self.show("after the lease", self.redis.exists(keys[0]), self.run(LOCK, keys, [30_000, a]))
        self.show("force unlock", self.redis.delete(keys[0]))

    def fair_lock(self):
        keys = ["fair", "redisson_lock_queue:{fair}", "redisson_lock_timeout:{fair}"]
        channel = "redisson_lock__channel:{fair}"
        heard = self.listen(f"{channel}:u2:1")

        def lock(owner, now, lease=30_000):
            return self.run(FAIR_LOCK, keys, [lease, owner, now, 300_000])
        now = 1_000_000
        self.show("fair lock", lock("u1:1", now))
        self.show("fair lock: two wait", lock("u2:1", now) > 29_000, lock("u3:1", now) > 329_000,
                  self.redis.lrange(keys[1], 0, -1), self.redis.zcard(keys[2]))
        unlocked = self.run(FAIR_UNLOCK, [keys[0], keys[1], channel], ["u1:1"])
        self.show("fair unlock: the first waiter gets the message", unlocked, heard())
        self.show("fair lock: the second one may not pass", lock("u3:1", now) is not None)
        self.show("fair lock: the first one", lock("u2:1", now), self.redis.lrange(keys[1], 0, -1))
        self.run(FAIR_UNLOCK, [keys[0], keys[1], channel], ["u2:1"])
        self.show("fair lock: a waiter whose time is over", lock("u4:1", now + 10_000_000),
                  self.redis.exists(*keys[1:]))
        self.redis.delete(*keys)

    def read_write_lock(self):
        name, channel = "rw", "redisson_rwlock:{rw}"

        def read(owner):
            return self.run(READ_LOCK, [name, f"{{rw}}:{owner}:rwlock_timeout"], [30_000, owner])
        self.show("two readers", read("a"), read("b"), self.redis.hgetall(name))
        self.show("a writer beside them", self.run(WRITE_LOCK, [name], [30_000, "c"]) > 29_000)
        for owner in "ab":
            self.show("read unlock", self.run(
                READ_UNLOCK, [name, f"{{rw}}:{owner}:rwlock_timeout", channel], [owner]),
                self.redis.exists(f"{{rw}}:{owner}:rwlock_timeout:1"))
        self.show("the writer", self.run(WRITE_LOCK, [name], [30_000, "c"]),
                  self.redis.hget(name, "mode"))
        self.show("a reader beside it", read("a") > 29_000)
        self.show("the writer reads", read("c"), sorted(self.redis.hkeys(name)))
        self.show("write unlock", self.run(WRITE_UNLOCK, [name, channel], ["c"]),
                  self.redis.hget(name, "mode"))
        self.show("a reader after it", read("a"))
        self.redis.delete(name)

    def semaphore(self):
        keys, channel = ["seats"], "redisson_sc:{seats}"
        heard = self.listen(channel)
        self.redis.set(keys[0], 3)
        self.show("semaphore", *(self.run(TAKE, keys, [permits]) for permits in (2, 2, 1, 1)))
        self.show("semaphore: give back", self.run(GIVE_BACK, [*keys, channel], [2]), heard(),
                  self.redis.get(keys[0]))
        self.redis.delete(keys[0])

    def permits(self):
        keys = ["permits", "{permits}:timeout"]

        def take(permit, now, lease=1_000):
            return self.run(TAKE_PERMIT, keys, [permit, now + lease, now])
        self.redis.set(keys[0], 2)
        self.show("permits", take("p1", 1000), take("p2", 1500), take("p3", 1600))
        self.show("permit back", self.run(GIVE_PERMIT_BACK, keys, ["p1"]),
                  self.run(GIVE_PERMIT_BACK, keys, ["p1"]), take("p3", 1700))
        self.show("a permit whose lease has ended", take("p4", 2600),
                  self.redis.zrange(keys[1], 0, -1, withscores=True), self.redis.get(keys[0]))
        self.redis.delete(*keys)

    def latch(self):
        keys = ["latch", "redisson_countdownlatch__channel__{latch}"]
        heard = self.listen(keys[1])
        self.show("latch", self.run(SET_LATCH, keys, [2]), self.run(SET_LATCH, keys, [5]), heard())
        counts = []
        counter = threading.Thread(target=lambda: counts.extend(
            self.run(COUNT_DOWN, keys, []) for _ in range(2)))
        counter.start()
        self.show("latch opens", heard())
        counter.join()
        self.show("latch: counts, keys left", counts, self.redis.exists(keys[0]))


def main():
    player = Player(int(sys.argv[1]))
    for part in (player.lock, player.fair_lock, player.read_write_lock, player.semaphore,
                 player.permits, player.latch):
        part()


if __name__ == "__main__":
    main()
