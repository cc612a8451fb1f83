"""Semaphores in the shape of Symfony's: a sorted set of weights, and one of the ends of leases.

    symfony_semaphore.py PORT

The scripts are ours; the keys, their types and the commands are those of Symfony 5.4 to 7. Prints
what each call returns.
"""

import json
import sys
import time

import redis

SAVE = """
local weights, ends = KEYS[1] .. ':weight', KEYS[1] .. ':time'
local owner, now, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('zremrangebyscore', ends, '-inf', now)
redis.call('zinterstore', weights, 2, weights, ends, 'WEIGHTS', 1, 0)
if redis.call('zscore', ends, owner) then return true end
local taken = 0
local members = redis.call('zrange', weights, 0, -1, 'WITHSCORES')
for i = 2, #members, 2 do taken = taken + members[i] end
if taken + tonumber(ARGV[5]) > tonumber(ARGV[4]) then return false end
redis.call('zadd', ends, now + lease, owner)
redis.call('zadd', weights, ARGV[5], owner)
local last = redis.call('zrevrange', ends, 0, 0, 'WITHSCORES')[2]
redis.call('expireat', weights, last + 10)
redis.call('expireat', ends, last + 10)
return true
"""
RENEW = """
local weights, ends = KEYS[1] .. ':weight', KEYS[1] .. ':time'
local added = redis.call('zadd', ends, ARGV[2], ARGV[1])
if added == 1 then
  redis.call('zrem', ends, ARGV[1])
  redis.call('zrem', weights, ARGV[1])
end
local last = redis.call('zrevrange', ends, 0, 0, 'WITHSCORES')[2]
if last == nil then return 1 end
redis.call('expireat', weights, last + 10)
redis.call('expireat', ends, last + 10)
return added
"""
DELETE = """
redis.call('zrem', KEYS[1] .. ':time', ARGV[1])
return redis.call('zrem', KEYS[1] .. ':weight', ARGV[1])
"""


def show(name, *values):
    print(name, json.dumps(values), flush=True)


class Semaphore:

    def __init__(self, client, name, owner, limit, weight=1):
        self.redis = client
        self.key = f"{{{name}}}"
        self.owner = owner
        self.terms = (limit, weight)

    def run(self, script, *values):
        return self.redis.eval(script, 1, self.key, self.owner, *values)

    def save(self, lease=30):
        return self.run(SAVE, int(time.time()), lease, *self.terms)

    def renew(self, lease=60):
        return self.run(RENEW, int(time.time()) + lease)

    def delete(self):
        return self.run(DELETE)

    def weight(self):
        return self.redis.zscore(self.key + ":weight", self.owner)


def main():
    client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
    one, two, three = (Semaphore(client, "seats", owner, 2) for owner in ("o1", "o2", "o3"))
    show("free", one.weight(), one.delete())
    show("save", one.save(), two.save(), three.save(), one.save())
    keys = sorted(client.scan_iter("*"))
    show("keys", {key: client.type(key) for key in keys})
    show("weights", client.zrange("{seats}:weight", 0, -1, withscores=True), three.weight())
    # A refused save has stored the weights again, which takes their time to live.
    show("times to live", [client.ttl(key) > 30 for key in keys])
    show("renew", two.renew(), three.renew(), client.zcard("{seats}:time"))
    show("times to live again", [client.ttl(key) > 60 for key in keys])
    show("delete", one.delete(), one.delete(), three.save(), one.save())
    show("end", two.delete(), three.delete(), client.exists(*keys))

    heavy = Semaphore(client, "weights", "h", 5, 3)
    light = Semaphore(client, "weights", "l", 5, 2)
    other = Semaphore(client, "weights", "m", 5)
    show("weights", heavy.save(), light.save(), other.save(), heavy.weight())
    show("lighter", light.delete(), other.save(), light.save())

    short = Semaphore(client, "short", "s", 1)
    waiting = Semaphore(client, "short", "w", 1)
    show("a short lease", short.save(1), waiting.save())
    time.sleep(2.1)
    show("is over", waiting.save(), short.renew(), short.weight(), waiting.weight())


if __name__ == "__main__":
    main()
