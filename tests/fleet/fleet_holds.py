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
READS = ("CHECK", "LOCKED", "POSITION", "QUEUE")


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
    release_sent: float = FOREVER
    released: float = FOREVER
    first: float = 0
    lease_end: float = 0  # the lease does not end before

    @property
    def sure_end(self):
        return min(self.release_sent, self.lease_end)

    def is_sure(self, begin, end):
        return self.told <= begin and end < self.sure_end

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

    def build(self):
        for ask in self.asks:
            if isinstance(ask.reply, int):
                self._add(ask)
        for hold in self.holds.values():
            self._end(hold)

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
        self._closes = {}
        for closed in sorted(history.closes, key=lambda one: one.at):
            self._closes.setdefault(closed.client, []).append(closed.at)
        for request in sorted(history.requests, key=lambda one: one.sent):
            self._add(request)
        for owner in self.all_owners():
            owner.build()
        for key in self.owners:
            self._bound(self.holds_of(key))

    def _add(self, request):
        name, key = request.words[:2]
        if request.error is not None:
            self.errors.append(request)
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
