"""What a database of small values and locks contains after a sequence of commands, and what each of
them replies. Written from the documentation of the commands; shares no code with the server.

A state is a dict of keys to entries. Neither is ever changed: a command makes a new state.
"""

import dataclasses

from replies import NewToken, TimeLeft, Unordered, WRONG_TYPE, as_score

MS = 1_000_000


class Ttl:
    """The interval within which a key expires, in ns of CLOCK_BOOTTIME. `upper` is None until the
    request that set it has been answered."""

    def __init__(self, length, lower, upper=None):
        self.length = length
        self.lower = lower
        self.upper = upper

    def end_by(self, at):
        """The time was set no later than `at`."""
        if self.upper is None:
            self.upper = at + self.length


class Token:
    """The token of a grant; the number is None until its reply has arrived."""

    def __init__(self, number=None):
        self.number = number


@dataclasses.dataclass(frozen=True)
class Lock:
    owner: str
    is_native: bool  # granted by LOCK, not by SET
    token: Token


@dataclasses.dataclass(frozen=True)
class Entry:
    """`data` is a dict for a hash, a list, a dict of scores for a sorted set, a frozenset for a
    set, and a Lock for a lock."""
    kind: str
    data: object
    ttl: Ttl | None = None


class WrongType(Exception):
    pass


def in_order(scores):
    return sorted(scores, key=lambda member: (scores[member], member.encode()))


def flat(pairs):
    return [word for pair in pairs for word in pair]


def ends_of(elements, end, element=None):
    """Returns the list with the element added, or without the one at that end."""
    if element is not None:
        return [element, *elements] if end == "LEFT" else [*elements, element]
    return elements[1:] if end == "LEFT" else elements[:-1]


class Draft:
    """The state that commands of one request make of another one."""

    def __init__(self, state, sent, unix_ahead_ms):
        self.state = dict(state)
        self.sent = sent
        self.unix_ahead_ms = unix_ahead_ms  # Unix time minus CLOCK_BOOTTIME
        self.ttls = []    # made by this request, as are the tokens
        self.tokens = []

    def run(self, words):
        """Executes a command and returns the expected reply."""
        try:
            return getattr(self, "do_" + words[0].lower())(*words[1:])
        except WrongType:
            return WRONG_TYPE

    def _find(self, key, kind):
        entry = self.state.get(key)
        if entry is not None and entry.kind != kind:
            raise WrongType
        return entry

    def _data(self, key, kind, empty):
        entry = self._find(key, kind)
        return empty if entry is None else entry.data

    def _put(self, key, kind, data):
        """Stores the data of a value, or deletes the value if there are none."""
        old = self.state.pop(key, None) if not data else self.state.get(key)
        if data:
            self.state[key] = Entry(kind, data, old.ttl if old else None)

    def _ttl(self, length_ms):
        ttl = Ttl(length_ms * MS, self.sent + length_ms * MS)
        self.ttls.append(ttl)
        return ttl

    def _token(self):
        self.tokens.append(Token())
        return self.tokens[-1]

    def _is_native(self, key):
        entry = self.state.get(key)
        return entry is not None and entry.kind == "lock" and entry.data.is_native

    # Hashes

    def do_hset(self, key, *pairs):
        old = self._data(key, "hash", {})
        new = {**old, **dict(zip(pairs[::2], pairs[1::2]))}
        self._put(key, "hash", new)
        return len(new) - len(old)

    def do_hsetnx(self, key, field, value):
        old = self._data(key, "hash", {})
        if field in old:
            return 0
        return self.do_hset(key, field, value)

    def do_hincrby(self, key, field, number):
        old = self._data(key, "hash", {})
        value = int(old.get(field, "0")) + int(number)
        self._put(key, "hash", {**old, field: str(value)})
        return value

    def do_hdel(self, key, *fields):
        old = self._data(key, "hash", {})
        new = {field: value for field, value in old.items() if field not in fields}
        if old:
            self._put(key, "hash", new)
        return len(old) - len(new)

    def do_hgetall(self, key):
        return flat(self._data(key, "hash", {}).items())

    def do_hmget(self, key, *fields):
        old = self._data(key, "hash", {})
        return [old.get(field) for field in fields]

    # Lists

    def _push(self, key, end, elements):
        new = self._data(key, "list", [])
        for element in elements:
            new = ends_of(new, end, element)
        self._put(key, "list", new)
        return len(new)

    def do_lpush(self, key, *elements):
        return self._push(key, "LEFT", elements)

    def do_rpush(self, key, *elements):
        return self._push(key, "RIGHT", elements)

    def _pop(self, key, end, count=None):
        old = self._data(key, "list", [])
        if not old:
            return None
        taken = old[:int(count or 1)] if end == "LEFT" else old[::-1][:int(count or 1)]
        left = old[len(taken):] if end == "LEFT" else old[:len(old) - len(taken)]
        self._put(key, "list", left)
        return taken if count is not None else taken[0]

    def do_lpop(self, key, count=None):
        return self._pop(key, "LEFT", count)

    def do_rpop(self, key, count=None):
        return self._pop(key, "RIGHT", count)

    def do_blpop(self, key, _timeout):
        element = self._pop(key, "LEFT")
        return None if element is None else [key, element]

    def do_brpop(self, key, _timeout):
        element = self._pop(key, "RIGHT")
        return None if element is None else [key, element]

    def do_lmove(self, source, target, taken_from, added_to):
        old = self._data(source, "list", [])
        if not old:
            return None
        self._find(target, "list")
        element = old[0 if taken_from == "LEFT" else -1]
        if source == target:
            moved = ends_of(ends_of(old, taken_from), added_to, element)
            self._put(source, "list", moved)
        else:
            self._pop(source, taken_from)
            self._push(target, added_to, [element])
        return element

    def do_rpoplpush(self, source, target):
        return self.do_lmove(source, target, "RIGHT", "LEFT")

    def do_blmove(self, source, target, taken_from, added_to, _timeout):
        return self.do_lmove(source, target, taken_from, added_to)

    def do_lrem(self, key, _all, element):
        old = self._data(key, "list", [])
        new = [each for each in old if each != element]
        if old:
            self._put(key, "list", new)
        return len(old) - len(new)

    def do_lrange(self, key, _first, _last):
        return list(self._data(key, "list", []))

    # Sorted sets

    def do_zadd(self, key, *pairs):
        old = self._data(key, "zset", {})
        new = {**old, **{member: float(score) for score, member in zip(pairs[::2], pairs[1::2])}}
        self._put(key, "zset", new)
        return len(new) - len(old)

    def do_zincrby(self, key, amount, member):
        old = self._data(key, "zset", {})
        score = old.get(member, 0.0) + float(amount)
        self._put(key, "zset", {**old, member: score})
        return as_score(score)

    def do_zrem(self, key, *members):
        old = self._data(key, "zset", {})
        new = {member: score for member, score in old.items() if member not in members}
        if old:
            self._put(key, "zset", new)
        return len(old) - len(new)

    def do_zpopmin(self, key):
        old = self._data(key, "zset", {})
        if not old:
            return []
        member = in_order(old)[0]
        self.do_zrem(key, member)
        return [member, as_score(old[member])]

    def do_zremrangebyscore(self, key, least, most):
        old = self._data(key, "zset", {})
        return self.do_zrem(key, *[member for member, score in old.items()
                                   if float(least) <= score <= float(most)])

    def do_zrange(self, key, _first, _last, _with_scores):
        old = self._data(key, "zset", {})
        return flat((member, as_score(old[member])) for member in in_order(old))

    # Sets

    def do_sadd(self, key, *members):
        old = self._data(key, "set", frozenset())
        new = old.union(members)
        self._put(key, "set", new)
        return len(new) - len(old)

    def do_srem(self, key, *members):
        old = self._data(key, "set", frozenset())
        new = old.difference(members)
        if old:
            self._put(key, "set", new)
        return len(old) - len(new)

    def do_spop(self, key, _all):
        """Only with a count that is at least the number of members."""
        old = self._data(key, "set", frozenset())
        if old:
            self._put(key, "set", frozenset())
        return Unordered(old)

    def do_smembers(self, key):
        return Unordered(self._data(key, "set", frozenset()))

    # Locks, by SET and by LOCK

    def do_set(self, key, value, *options):
        """Must not be called on a lock that LOCK granted."""
        old = self.state.get(key)
        if ("NX" in options and old is not None) or ("XX" in options and old is None):
            return None
        ttl = None
        if "PX" in options:
            ttl = self._ttl(int(options[options.index("PX") + 1]))
        elif "KEEPTTL" in options and old is not None:
            ttl = old.ttl
        if old is not None and old.kind == "lock" and old.data.owner == value:
            token = old.data.token
        else:
            token = self._token()
        self.state[key] = Entry("lock", Lock(value, False, token), ttl)
        return "OK"

    def do_get(self, key):
        entry = self._find(key, "lock")
        return None if entry is None else "" if entry.data.is_native else entry.data.owner

    def do_getdel(self, key):
        entry = self._find(key, "lock")
        if entry is None or entry.data.is_native:
            return None
        del self.state[key]
        return entry.data.owner

    def do_lock(self, key, owner, _px, length_ms):
        """Must be called only on keys that nobody holds."""
        if key in self.state:
            raise WrongType
        token = self._token()
        self.state[key] = Entry("lock", Lock(owner, True, token), self._ttl(int(length_ms)))
        return NewToken(token)

    def do_renew(self, key, owner, _px, length_ms):
        entry = self.state.get(key)
        if entry is None or entry.kind != "lock" or entry.data.owner != owner:
            return 0
        self.state[key] = dataclasses.replace(entry, ttl=self._ttl(int(length_ms)))
        return 1

    def do_unlock(self, key, owner):
        entry = self.state.get(key)
        if entry is None or entry.kind != "lock" or entry.data.owner != owner:
            return 0
        del self.state[key]
        return 1

    # All keys

    def do_del(self, *keys):
        gone = {key for key in keys if key in self.state and not self._is_native(key)}
        for key in gone:
            del self.state[key]
        return len(gone)

    do_unlink = do_del

    def do_exists(self, *keys):
        return sum(key in self.state for key in keys)

    def do_type(self, key):
        entry = self.state.get(key)
        return "none" if entry is None else "string" if entry.kind == "lock" else entry.kind

    def _expire(self, key, length_ms, options):
        entry = self.state.get(key)
        if entry is None or self._is_native(key):
            return 0
        if ("NX" in options and entry.ttl) or ("XX" in options and not entry.ttl):
            return 0
        if length_ms <= 0:
            del self.state[key]
        else:
            self.state[key] = dataclasses.replace(entry, ttl=self._ttl(length_ms))
        return 1

    def do_expire(self, key, seconds, *options):
        return self._expire(key, int(seconds) * 1000, options)

    def do_pexpire(self, key, milliseconds, *options):
        return self._expire(key, int(milliseconds), options)

    def do_pexpireat(self, key, unix_ms):
        left_ms = int(unix_ms) - (self.sent // MS + self.unix_ahead_ms)
        outcome = self._expire(key, left_ms, ())
        if outcome and self.ttls and key in self.state:
            # The end is fixed; the length that is stored depends on when it is executed.
            self.ttls[-1].upper = self.ttls[-1].lower
        return outcome

    def do_persist(self, key):
        entry = self.state.get(key)
        if entry is None or entry.ttl is None or self._is_native(key):
            return 0
        self.state[key] = dataclasses.replace(entry, ttl=None)
        return 1

    def do_pttl(self, key):
        entry = self.state.get(key)
        return -2 if entry is None else -1 if entry.ttl is None else TimeLeft(entry.ttl)

    def do_dbsize(self):
        return len(self.state)

    def do_flushdb(self):
        self.state = {key: entry for key, entry in self.state.items() if self._is_native(key)}
        return "OK"
