"""Holds as clients know them: when each was granted and ended, at the earliest and at the latest.

A hold is identified by its key and its token, or by its key and value if SET took it. Each has:

  first     it was not granted before                  told      it was granted by then
  sure_end  it was held from `told` until then         last_end  it was not held after
"""

import dataclasses
import math

from actions import FOREVER, Action

UNKNOWN = None  # the token of a hold taken by SET, until a client sees it


@dataclasses.dataclass(slots=True)
class Sight:
    """A client saw, in this interval, that a hold exists or does not exist."""
    sent: int
    answered: float
    what: object

    def __str__(self):
        return str(self.what)


@dataclasses.dataclass(slots=True)
class Hold:
    key: str
    owner: str
    token: int | None
    first: float = math.inf
    told: float = math.inf
    sure_end: float = 0
    last_end: float = FOREVER
    lease_end: float = 0
    seen: list = dataclasses.field(default_factory=list)
    missed: list = dataclasses.field(default_factory=list)
    limit: float = 1
    is_shared: bool = False
    is_redis: bool = False
    is_transferred: bool = False
    is_told: bool = False  # told to its owner; if only others saw it, the grant may still be undone
    cooling_end: float = 0
    asks: list = dataclasses.field(default_factory=list)

    @property
    def name(self):
        return f"{self.key} of {self.owner}, token {self.token}"

    @property
    def last_seen(self):
        return max((sight.sent for sight in self.seen), default=0)

    @property
    def busy_end(self):
        """The time before which no other owner may get its slot."""
        return max(self.sure_end, self.cooling_end)

    def is_surely_held(self, begin, end):
        return self.told <= begin and end < self.sure_end


@dataclasses.dataclass(slots=True)
class Claimant:
    """One owner of one key: what it requested there, and what it was given."""
    key: str
    owner: str
    asks: list = dataclasses.field(default_factory=list)
    gifts: list = dataclasses.field(default_factory=list)  # TRANSFERs to this owner
    renewals: list = dataclasses.field(default_factory=list)
    ends: list = dataclasses.field(default_factory=list)
    holds: dict = dataclasses.field(default_factory=dict)

    @property
    def is_redis(self):
        return bool(self.asks) and all(ask.name == "SET" for ask in self.asks)

    def hold(self, token):
        if self.is_redis and not any(gift.may_hold for gift in self.gifts):
            return self._redis_hold(token)
        if token not in self.holds:
            self.holds[token] = Hold(self.key, self.owner, token)
        return self.holds[token]

    def _redis_hold(self, token):
        """A value is set only once, so every token seen with it is the token of that hold."""
        if not self.holds:
            self.holds[token] = Hold(self.key, self.owner, token, is_redis=True)
        known, hold = next(iter(self.holds.items()))
        if known is UNKNOWN and token is not UNKNOWN:
            hold.token = token
            self.holds = {token: hold}
        elif token not in (UNKNOWN, known):
            hold = self.holds[token] = Hold(self.key, self.owner, token, is_redis=True)
        return hold

    def may_have_been_granted(self, token, by):
        """Whether one of its requests, sent before `by`, may have led to that token."""
        for one in [*self.asks, *self.gifts]:
            if one.sent <= by and one.may_hold and (
                    not one.is_grant or one.reply in ("OK", token)):
                return True
        return False


class Book:
    """All claimants of a history, and the other actions on each key."""

    def __init__(self):
        self.claimants = {}
        self.of_key = {}
        self.breaks = {}
        self.deletions = {}
        self.looks = {}

    def claimant(self, key, owner):
        found = self.claimants.get((key, owner))
        if found is None:
            found = self.claimants[key, owner] = Claimant(key, owner)
            self.of_key.setdefault(key, []).append(found)
        return found

    def holds(self):
        for claimant in self.claimants.values():
            yield from claimant.holds.values()

    def holds_of(self, key):
        for claimant in self.of_key.get(key, ()):
            yield from claimant.holds.values()

    def add(self, action: Action):
        if action.kind == "ask":
            for key in action.keys:
                self.claimant(key, action.owner).asks.append(action)
        elif action.kind == "renew":
            for key in action.keys:
                self.claimant(key, action.owner).renewals.append(action)
        elif action.name == "BREAK":
            self.breaks.setdefault(action.keys[0], []).append(action)
        elif action.name == "DEL":
            self.deletions.setdefault(action.keys[0], []).append(action)
        elif action.kind == "end":
            for key in action.keys:
                self.claimant(key, action.owner).ends.append(action)
            if action.heir is not None:
                self.claimant(action.keys[0], action.heir).gifts.append(action)
        elif action.kind == "look":
            self.looks.setdefault(action.keys[0], []).append(action)

    def enders(self, hold):
        """Every request that could have ended the hold."""
        claimant = self.claimants[hold.key, hold.owner]
        for end in claimant.ends:
            if end.name == "RELEASE" and not hold.is_redis:
                continue
            if end.token in (None, hold.token):
                yield end
        for one in self.breaks.get(hold.key, ()):
            if one.owner in (None, hold.owner):
                yield one
        if hold.is_redis:
            yield from self.deletions.get(hold.key, ())
