"""Locks in the shape of bsm/redislock: one or several strings, taken with MSETNX, and taken again
by their own token with MSET.

    redislock.py PORT

The scripts are ours; the keys and the commands are those of redislock. Prints what each call
returns.
"""

import json
import sys
import time

import redis

OBTAIN = """
local pairs_ = {}
for _, key in ipairs(KEYS) do
  pairs_[#pairs_ + 1] = key
  pairs_[#pairs_ + 1] = ARGV[1]
end
if redis.call('msetnx', unpack(pairs_)) == 0 then
  local size = tonumber(ARGV[2])
  local token = string.sub(ARGV[1], 1, size)
  for _, key in ipairs(KEYS) do
    if redis.call('getrange', key, 0, size - 1) ~= token then return false end
  end
  redis.call('mset', unpack(pairs_))
end
for _, key in ipairs(KEYS) do redis.call('pexpire', key, ARGV[3]) end
return redis.status_reply('OK')
"""
IF_ALL_ARE_OURS = """
for i, value in ipairs(redis.call('mget', unpack(KEYS))) do
  if value ~= ARGV[1] then return false end
end
"""
REFRESH = IF_ALL_ARE_OURS + """
for _, key in ipairs(KEYS) do redis.call('pexpire', key, ARGV[2]) end
return redis.status_reply('OK')
"""
RELEASE = IF_ALL_ARE_OURS + """
redis.call('del', unpack(KEYS))
return redis.status_reply('OK')
"""
LEFT = IF_ALL_ARE_OURS + """
local least = 0
for _, key in ipairs(KEYS) do
  local left = redis.call('pttl', key)
  if left > 0 and (least == 0 or left < least) then least = left end
end
return least
"""


def show(name, *values):
    print(name, json.dumps(values), flush=True)


class Lock:

    def __init__(self, client, keys, token, metadata=""):
        self.redis = client
        self.keys = keys
        self.token = token
        self.value = token + metadata

    def run(self, script, *values):
        return self.redis.eval(script, len(self.keys), *self.keys, self.value, *values)

    def obtain(self, lease_ms=30_000):
        return self.run(OBTAIN, len(self.token), lease_ms)

    def refresh(self, lease_ms=60_000):
        return self.run(REFRESH, lease_ms)

    def release(self):
        return self.run(RELEASE)

    def left(self):
        left = self.run(LEFT)
        return left and round(left / 10_000)


def main():
    client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
    mine = Lock(client, ["job"], "token-1", " from host a")
    other = Lock(client, ["job"], "token-2")
    show("obtain", mine.obtain(), other.obtain(), mine.left(), other.left())
    show("obtain again with the same token", mine.obtain(60_000), mine.left())
    moved = Lock(client, ["job"], "token-1", " from host b")
    show("obtain with other metadata", moved.obtain(), client.get("job"), moved.left())
    show("the old value", mine.refresh(), mine.release(), mine.left())
    show("refresh", moved.refresh(), moved.left())
    show("release", moved.release(), moved.release(), client.exists("job"))
    show("obtain after it", other.obtain(), other.release())

    several = Lock(client, ["a", "b", "c"], "token-3")
    middle = Lock(client, ["b"], "token-4")
    show("several", several.obtain(), middle.obtain(), several.left())
    show("again", several.obtain(), client.mget("a", "b", "c"))
    show("one of them ends", client.delete("b"), several.refresh(), middle.obtain())
    show("none of them", several.obtain(), several.release(), middle.release())
    show("not all", middle.obtain(), several.obtain(), client.exists("a", "b", "c"))
    show("the rest", client.delete("a", "b", "c"))
    show("a short lease", several.obtain(100))
    time.sleep(0.3)
    show("is over", several.release(), several.left(), middle.obtain(), middle.release())


if __name__ == "__main__":
    main()
