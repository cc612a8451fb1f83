"""What a fleet's clients know about the holds, from their requests and replies alone.

A request was executed at some instant between its sending and its answer. One without an answer may
have been executed at any time after it was sent, or never: the network may deliver it late. So
everything here is a bound that holds for every possible choice of these instants.
"""

import bisect
import dataclasses
import math

FOREVER = math.inf
MS = 1_000_000
# Commands for values, and those that change no lock.
VALUES = ("SET", "GET", "INCR", "HSET", "HGET", "HINCRBY")
READS = ("CHECK", "LOCKED", "POSITION", "QUEUE")


# What a command for several keys does to each of them.
OF_EACH_KEY = {"MLOCK": "LOCK", "MRENEW": "RENEW", "MUNLOCK": "UNLOCK"}


def told(request):
    end = f"{request.answered / MS:.3f}" if request.is_answered else "no answer"
    words = " ".join(str(word) for word in request.words)
    return f"[{request.sent / MS:.3f}, {end}] client {request.client}: {words} -> {request.reply}"


def of_each_key(request):
    """Turns a command for several keys into one of each key. MUNLOCK replies with a number: with
    that of all keys, or with 0; fleet_steps.py reports anything else."""
    words = request.words
    if words[0] == "STEP":
        replies = request.reply or [None] * len(words[2:])
        return [dataclasses.replace(request, words=each, reply=reply)
                for each, reply in zip(words[2:], replies)]
    if words[0] == "TRANSFER":
        key, owner, successor, *options = words[1:]
        is_done = isinstance(request.reply, int) and request.reply > 0
        return [dataclasses.replace(request, words=["UNLOCK", key, owner, *options],
                                    reply=int(is_done)),
                dataclasses.replace(request, words=["LOCK", key, successor, *options],
                                    reply=request.reply if is_done else None)]
    if words[0] not in OF_EACH_KEY:
        return [request]
    keys, rest = words[2:2 + words[1]], words[2 + words[1]:]
    reply = request.reply
    if words[0] == "MUNLOCK" and request.is_answered:
        reply = int(reply == len(keys))
    return [dataclasses.replace(request, words=[OF_EACH_KEY[words[0]], key, *rest], reply=reply)
            for key in keys]


def options_of(request):
    words = request.words[3:]
    pairs = {"PX": "lease", "WAIT": "wait", "TOKEN": "token"}
    found = {pairs[word]: value for word, value in zip(words, words[1:]) if word in pairs}
    wait = found.get("wait")
    return {"lease": int(found.get("lease", 0)) * MS,
            "wait": int(wait[:-1]) * 1000 * MS if wait else 0,
            "token": int(found["token"]) if "token" in found else None,
            "shared": "SHARED" in words}


@dataclasses.dataclass(slots=True)
class Hold:
    """One grant. It was held at every instant from `told` to `sure_end`, unless a promise is
    broken; `first` is the earliest instant of the grant."""
    key: str
    owner: str
    token: int
    is_shared: bool
    asked: int            # when its owner first asked
    told: int
    lease: int            # the shortest lease that its owner asked for
    grant: object         # the first request that was answered with the token
    renewed: list         # when each acknowledged renewal was sent
    connection: tuple = ()  # with SESSION, the one whose end ends the hold
    alive_until: float = FOREVER  # until when its session existed, if it has one
    release_sent: float = FOREVER
    released: float = FOREVER
    first: float = 0
    lease_end: float = 0  # the lease does not end before

    @property
    def sure_end(self):
        return min(self.release_sent, self.lease_end, self.alive_until)

    def kept_until(self, request):
        """When it may end other than by a release, as far as this request can tell: it shows that
        its own connection exists."""
        is_own = (request.client, request.life) == self.connection
        return self.lease_end if is_own else min(self.lease_end, self.alive_until)

    def is_sure(self, request):
        """Whether it certainly existed when the request was executed."""
        end = min(self.release_sent, self.kept_until(request))
        return self.told <= request.sent and request.answered < end

    def __str__(self):
        return (f"{self.owner} holds {self.key}, token {self.token}, told {self.told / MS:.3f}, "
                f"surely until {self.sure_end / MS:.3f}")


class Owner:
    """One owner of one key, and everything that it requested there."""

    def __init__(self, key, name):
        self.key = key
        self.name = name
        self.asks = []
        self.renewals = []
        self.releases = []
        self.holds = {}

    @property
    def is_unclear(self):
        """Whether a request has no answer: it may still be granted, or queued, at any time."""
        return any(not ask.is_answered for ask in self.asks)

    @property
    def may_hold_until(self):
        if self.is_unclear or not self.asks:
            return FOREVER
        if not self.holds:
            return max(ask.answered for ask in self.asks)
        last = max(ask.answered for ask in self.asks)
        named = (None, max(self.holds))  # a release with an older token ends nothing
        ends = [one.answered for one in self.releases if one.is_answered and one.sent > last and
                options_of(one)["token"] in named]
        return min(ends, default=FOREVER)

    def may_hold(self, begin, end):
        return self.asks[0].sent <= end and begin <= self.may_hold_until

    def may_wait(self, begin, end):
        """Whether the owner may have had a place in the queue at some instant of the interval."""
        for ask in self.asks:
            if ask.sent <= end and (not ask.is_answered or begin <= ask.answered):
                return True
        return False

    def build(self, alive):
        """`alive` tells for each connection when it existed, at least."""
        for ask in self.asks:
            if isinstance(ask.reply, int):
                self._add(ask)
        for hold in self.holds.values():
            self._end(hold)
            if any("SESSION" in ask.words for ask in self.asks):
                self._bind(hold, alive)

    def _bind(self, hold, alive):
        """A request that arrives late would bind the hold to a connection that ends."""
        bound = {(ask.client, ask.life) for ask in self.asks if ask.reply == hold.token}
        if self.is_unclear or len(bound) != 1:
            hold.alive_until = hold.told
            return
        hold.connection = bound.pop()
        hold.alive_until = max(hold.told, alive[hold.connection])

    def _add(self, ask):
        hold = self.holds.get(ask.reply)
        if hold is not None:
            hold.renewed.append(ask.sent)
            return
        options = options_of(ask)
        lease = min(options_of(one)["lease"] for one in [*self.asks, *self.renewals])
        self.holds[ask.reply] = Hold(self.key, self.name, ask.reply, options["shared"],
                                     self.asks[0].sent, ask.answered, lease, ask, [])

    def _end(self, hold):
        for renewal in self.renewals:
            if options_of(renewal)["token"] == hold.token and renewal.reply == 1:
                hold.renewed.append(renewal.sent)
        for release in self.releases:
            if options_of(release)["token"] in (None, hold.token):
                hold.release_sent = min(hold.release_sent, release.sent)
                if release.is_answered:
                    hold.released = min(hold.released, release.answered)


class Book:
    """All owners of a history, by key, and the reads of each key."""

    def __init__(self, history):
        self.owners = {}
        self.reads = {}
        self.errors = []
        self.several = []  # the answered requests for several keys at once
        self.values = {}  # the requests for each value
        self._alive = {}
        self._closes = {}
        for closed in sorted(history.closes, key=lambda one: one.at):
            self._closes.setdefault(closed.client, []).append(closed.at)
        for request in sorted(history.requests, key=lambda one: one.sent):
            self._add(request)
        for owner in self.all_owners():
            owner.build(self._alive)
        for key in self.owners:
            self._bound(self.holds_of(key))

    def _add(self, request):
        replies = request.reply if request.words[0] == "STEP" and request.reply else [request.reply]
        if any(isinstance(reply, dict) for reply in replies):
            self.errors.append(request)
            return
        if request.is_answered:
            self._alive[request.client, request.life] = request.sent
            if request.words[0] in ("STEP", "MUNLOCK"):
                self.several.append(request)
        for each in of_each_key(request):
            self._add_to_key(each)

    def _add_to_key(self, request):
        name, key = request.words[:2]
        if name in VALUES:
            self.values.setdefault(key, []).append(request)
            return
        if name in READS:
            if request.is_answered:
                self.reads.setdefault(key, []).append(request)
            return
        owner = self.owner(key, request.words[2])
        {"LOCK": owner.asks, "RENEW": owner.renewals, "UNLOCK": owner.releases}[name].append(
            request)

    def owner(self, key, name):
        owners = self.owners.setdefault(key, {})
        if name not in owners:
            owners[name] = Owner(key, name)
        return owners[name]

    def all_owners(self):
        return (owner for owners in self.owners.values() for owner in owners.values())

    def holds_of(self, key):
        return [hold for owner in self.owners.get(key, {}).values()
                for hold in owner.holds.values()]

    def lost_at(self, request):
        """When the client gave up a request without an answer."""
        times = self._closes.get(request.client, [])
        at = bisect.bisect_left(times, request.sent)
        return times[at] if at < len(times) else FOREVER

    def end_of(self, request):
        return request.answered if request.is_answered else self.lost_at(request)

    @staticmethod
    def _bound(holds):
        """A grant comes after the ends of those holds with lower tokens that it excludes."""
        exclusive_end = any_end = 0
        for hold in sorted(holds, key=lambda one: one.token):
            earlier = exclusive_end if hold.is_shared else any_end
            hold.first = min(max(hold.asked, earlier), hold.told)
            hold.lease_end = max([hold.first, *hold.renewed]) + hold.lease
            any_end = max(any_end, hold.sure_end)
            if not hold.is_shared:
                exclusive_end = max(exclusive_end, hold.sure_end)
