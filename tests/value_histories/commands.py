"""Random commands for a database that one client has for itself, chosen by what is in it."""

KEYS = [f"k{number}" for number in range(9)]
FIELDS = ["f1", "f2", "f3", "field with blanks", "fünf\r\n"]
COUNTERS = ["n1", "n2"]
SIZE_MAX = 30
TTL_MS = (1_000_000, 300_000_000)


class Commands:

    def __init__(self, chance, owner):
        self.chance = chance
        self.owner = owner
        self.count = 0

    def one(self, state, unix_now_ms, is_waiting_allowed):
        """Returns a command; blocking ones only where there is something to pop."""
        if self.chance.random() < 0.002:
            return ["FLUSHDB"]
        key = self.chance.choice(KEYS)
        entry = state.get(key)
        if self.chance.random() < 0.22:
            return self._about_keys(key, entry, unix_now_ms)
        if entry is None:
            return self._new(key)
        if self.chance.random() < 0.03:
            return self._of_another_type(key, entry)
        return getattr(self, "_" + entry.kind)(key, entry, state, is_waiting_allowed)

    def _word(self):
        """Every element is written only once, so that no old state looks like the new one."""
        self.count += 1
        return f"{self.owner}.{self.count}" + self.chance.choice(["", "", "", "x" * 300, "\0ü\r\n"])

    def _words(self, most=3):
        return [self._word() for _ in range(self.chance.randint(1, most))]

    def _length_ms(self):
        return self.chance.randrange(*TTL_MS)

    def _about_keys(self, key, entry, unix_now_ms):
        choices = [["PEXPIRE", key, self._length_ms()], ["PEXPIRE", key, self._length_ms()],
                   ["EXPIRE", key, self._length_ms() // 1000, self.chance.choice(["NX", "XX"])],
                   ["PEXPIREAT", key, unix_now_ms + self._length_ms()], ["PERSIST", key],
                   ["PTTL", key], ["PTTL", key], ["TYPE", key], ["EXISTS", *KEYS],
                   ["DEL", key], ["UNLINK", key, self.chance.choice(KEYS)], ["DBSIZE"],
                   ["PEXPIREAT", key, 1], ["PEXPIRE", key, 0]]
        if entry is None or entry.kind != "lock" or not entry.data.is_native:
            choices.append(["SET", key, self._word()])
            choices.append(["SET", key, self._word(), "PX", self._length_ms()])
        return self.chance.choice(choices)

    def _new(self, key):
        return self.chance.choice([
            ["HSET", key, self.chance.choice(FIELDS), self._word(), "f1", self._word()],
            ["HINCRBY", key, "n1", self.chance.randint(-5, 5)],
            ["RPUSH", key, *self._words(6)], ["LPUSH", key, *self._words()],
            ["ZADD", key, self.chance.randint(-9, 9), self._word()],
            ["SADD", key, *self._words()],
            ["SET", key, self._word(), "NX", "PX", self._length_ms()], ["SET", key, self._word()],
            ["LOCK", key, self.owner, "PX", self._length_ms()],
            ["LOCK", key, self.owner, "PX", self._length_ms()],
            ["RPOPLPUSH", key, self.chance.choice(KEYS)], ["LPOP", key], ["GETDEL", key]])

    def _of_another_type(self, key, entry):
        return self.chance.choice([
            request for kind, request in [
                ("hash", ["HSET", key, "f1", "x"]), ("list", ["RPUSH", key, "x"]),
                ("zset", ["ZADD", key, 1, "x"]), ("set", ["SADD", key, "x"])]
            if kind != entry.kind])

    def _hash(self, key, entry, _state, _is_waiting_allowed):
        field = self.chance.choice(list(entry.data))
        if len(entry.data) == 1:
            return self.chance.choice([["HDEL", key, field], self._setting(key)])
        return self.chance.choice([
            self._setting(key), self._setting(key),
            ["HSETNX", key, self.chance.choice(FIELDS), self._word()],
            ["HINCRBY", key, self.chance.choice(COUNTERS), self.chance.randint(-5, 5)],
            ["HDEL", key, field], ["HDEL", key, *FIELDS, *COUNTERS], ["HGETALL", key],
            ["HMGET", key, *FIELDS]])

    def _setting(self, key):
        pairs = [(self.chance.choice(FIELDS), self._word())
                 for _ in range(self.chance.randint(1, 3))]
        return ["HSET", key, *[word for pair in pairs for word in pair]]

    def _list(self, key, entry, state, is_waiting_allowed):
        target = self.chance.choice(
            [other for other in KEYS if other not in state or state[other].kind == "list"])
        ends = [self.chance.choice(["LEFT", "RIGHT"]) for _ in range(2)]
        choices = [["LPOP", key], ["RPOP", key], ["LPOP", key, self.chance.randint(1, 4)],
                   ["LMOVE", key, target, *ends], ["RPOPLPUSH", key, target],
                   ["LREM", key, 0, self.chance.choice(entry.data)], ["LRANGE", key, 0, -1]]
        if is_waiting_allowed:
            choices += [["BLPOP", key, 0], ["BRPOP", key, 0], ["BLMOVE", key, target, *ends, 0]]
        if len(entry.data) < SIZE_MAX:
            choices += [["RPUSH", key, *self._words()], ["LPUSH", key, *self._words()]] * 3
        return self.chance.choice(choices)

    def _zset(self, key, entry, _state, _is_waiting_allowed):
        member = self.chance.choice(list(entry.data))
        choices = [["ZINCRBY", key, self.chance.choice([1, -2, 0.5]), member],
                   ["ZREM", key, member, self._word()], ["ZPOPMIN", key],
                   ["ZADD", key, self.chance.randint(-9, 9), member],
                   ["ZREMRANGEBYSCORE", key, -1, 1], ["ZRANGE", key, 0, -1, "WITHSCORES"]]
        if len(entry.data) < SIZE_MAX:
            choices += [["ZADD", key, self.chance.randint(-9, 9), self._word(), 2.5,
                         self._word()]] * 3
        return self.chance.choice(choices)

    def _set(self, key, entry, _state, _is_waiting_allowed):
        member = self.chance.choice(sorted(entry.data))
        choices = [["SREM", key, member, self._word()], ["SPOP", key, 1000], ["SMEMBERS", key]]
        if len(entry.data) < SIZE_MAX:
            choices += [["SADD", key, *self._words()], ["SADD", key, member, self._word()]] * 2
        return self.chance.choice(choices)

    def _lock(self, key, entry, _state, _is_waiting_allowed):
        if entry.data.is_native:
            return self.chance.choice([
                ["UNLOCK", key, self.owner], ["RENEW", key, self.owner, "PX", self._length_ms()],
                ["GET", key], ["GETDEL", key]])
        return self.chance.choice([
            ["SET", key, entry.data.owner, "PX", self._length_ms()],
            ["SET", key, self._word(), "XX"], ["SET", key, self._word(), "KEEPTTL"],
            ["SET", key, self._word(), "NX"], ["GET", key], ["GETDEL", key],
            ["RENEW", key, entry.data.owner, "PX", self._length_ms()],
            ["UNLOCK", key, entry.data.owner]])
