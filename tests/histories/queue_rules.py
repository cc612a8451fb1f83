"""Rules for queues: no owner is granted the lock before a waiter that is certainly ahead of it and
still waits, no place is lost, and places do not change their order."""

import bisect
import dataclasses

from actions import FOREVER, MS, as_map
from holds import UNKNOWN
from reconstruction import RESTART_GRACE, holders_in

LEAVING = ("CANCEL", "UNLOCK", "MUNLOCK", "BREAK", "TRANSFER", "SET")


@dataclasses.dataclass(slots=True)
class Place:
    """A request that is certainly in the queue of a key from `since` until `leaves`, unless it is
    granted: a waiting request, or a place retained between two requests (`is_kept`)."""
    key: str
    owner: str
    ask: object
    since: float
    leaves: float
    is_kept: bool

    @property
    def name(self):
        return f"{self.owner} ({self.ask})"

    @property
    def is_exclusive(self):
        return self.ask.limit == 1 and len(self.ask.keys) == 1


def check(reconstruction, find):
    leavings = _leavings(reconstruction)
    shown = _shown_queues(reconstruction)
    for key in reconstruction.book.of_key:
        places = _places(reconstruction, key, leavings, shown.get(key, ()))
        _check_newcomers(reconstruction, key, places, find)
        _check_order(reconstruction, key, places, shown.get(key, ()), find)
        _check_lost(reconstruction, key, places, shown.get(key, ()), find)
        _check_left_waiting(reconstruction, key, places, find)
        _check_numbers(reconstruction, key, places, leavings, shown.get(key, ()), find)


def _shown_queues(reconstruction):
    """Returns the replies to QUEUE by key: (action, owners in order)."""
    shown = {}
    for key, looks in reconstruction.book.looks.items():
        rows = []
        for look in looks:
            if look.name == "QUEUE" and look.is_answered and not look.is_error:
                rows.append((look, [as_map(place)["owner"] for place in look.reply]))
        shown[key] = sorted(rows, key=lambda row: row[0].sent)
    return shown


def _between(shown, begin, end):
    """Yields the rows whose QUEUE was sent between these times."""
    low = bisect.bisect_left(shown, begin, key=lambda row: row[0].sent)
    for row in shown[low:]:
        if row[0].sent >= end:
            return
        yield row


def _leavings(reconstruction):
    """Returns, by key, the requests of any client that may end a place."""
    leavings = {}
    for action in reconstruction.actions:
        if action.name in LEAVING:
            for key in action.keys:
                leavings.setdefault(key, []).append(action)
    return leavings


def _leavings_of(leavings, ask):
    """Yields the requests that may end the places of `ask`, which all end together."""
    for key in ask.keys:
        for action in leavings.get(key, ()):
            if action.until >= ask.sent and (action.name == "BREAK" or action.owner == ask.owner):
                yield action


def _leaves(reconstruction, ask, leavings):
    """Returns the earliest time at which the request may leave the queue without a grant."""
    leaves = ask.sent + ask.wait
    if ask.is_error:
        leaves = min(leaves, ask.until)
    for claimant in (reconstruction.book.claimant(one, ask.owner) for one in ask.keys):
        for other in claimant.asks:
            if other is not ask and other.until >= ask.sent:
                leaves = min(leaves, max(other.sent, ask.sent))
        for end in [*claimant.ends, *claimant.gifts]:
            if end.until >= ask.sent:
                leaves = min(leaves, end.sent)
    for action in _leavings_of(leavings, ask):
        leaves = min(leaves, action.sent)
    return min(leaves, reconstruction.closed_at(ask.client),
               _life_end(reconstruction, ask.life))


def _life_end(reconstruction, number):
    for life in reconstruction.lives:
        if life.number == number and life.ending is not None:
            return life.ending
    return FOREVER


def _places(reconstruction, key, leavings, shown):
    places = []
    for claimant in reconstruction.book.of_key[key]:
        for ask in claimant.asks:
            if not ask.wait and not ask.keep:
                continue
            leaves = _leaves(reconstruction, ask, leavings)
            since = FOREVER
            if "NOTIFY" in ask.options and ask.is_answered and ask.reply is None:
                since = ask.until
            for look, owners in _between(shown, ask.sent, leaves):
                if claimant.owner in owners and look.until < leaves:
                    since = min(since, look.until)
                    break
            if ask.wait and since < leaves:
                places.append(Place(key, claimant.owner, ask, since, leaves, False))
            if ask.keep and ask.is_answered and ask.reply is None:
                places.append(_kept_place(claimant, ask, leavings.get(key, ())))
    return [place for place in places if place is not None]


def _kept_place(claimant, ask, leavings):
    """Returns the place that KEEP retains when its request is answered with nil. A request within a
    step, or with a channel, is treated the same way."""
    key = claimant.key
    leaves = ask.sent + ask.wait + ask.keep
    following = [other for other in claimant.asks if other is not ask and other.sent >= ask.until
                 and not (other.is_answered and other.reply is None and other.keep)]
    for action in [*claimant.ends, *claimant.gifts, *following, *(
            one for one in leavings if one.name in ("BREAK", "CANCEL") and
            one.owner in (None, claimant.owner))]:
        if action.until >= ask.sent:
            leaves = min(leaves, action.sent)
    for other in claimant.asks:
        if other is not ask and other.sent < ask.until and other.until >= ask.sent:
            return None  # two requests overlap
    if leaves <= ask.until or len(ask.keys) > 1:
        return None
    return Place(key, claimant.owner, ask, ask.until, leaves, True)


def _holds_of(reconstruction, key, owner):
    return reconstruction.book.claimant(key, owner).holds.values()


def _is_passed(reconstruction, place, hold):
    """Whether `hold` was granted although `place` is ahead: `place` exists until after that grant,
    and its owner is granted the lock later, or never."""
    if hold.told >= place.leaves or hold.owner == place.owner:
        return False
    if place.is_kept and not (place.is_exclusive and hold.limit == 1):
        return False  # an absent waiter is skipped while there is no free slot for it
    for own in _holds_of(reconstruction, place.key, place.owner):
        if own.told < place.ask.sent:
            continue
        if UNKNOWN not in (own.token, hold.token):
            if own.token <= hold.token:
                return False
        elif own.first <= hold.told:
            return False
    return True


def _asked_at(reconstruction, key, hold):
    return min((ask.sent for ask in hold.asks), default=0)


def _check_newcomers(reconstruction, key, places, find):
    """A request that arrives while another is certainly in the queue is behind it."""
    holds = [hold for hold in reconstruction.book.holds_of(key) if not hold.is_transferred]
    places = sorted(places, key=lambda place: place.since)
    for hold in holds:
        asked = _asked_at(reconstruction, key, hold)
        for place in places:
            if place.since >= asked:
                break
            if place.leaves > hold.told and _is_passed(reconstruction, place, hold):
                find("passed in the queue", key, f"{hold.name}, asked for at {asked / MS:.3f}, was "
                     f"granted by {hold.told / MS:.3f} before {place.name}, who stood in the "
                     f"queue since {place.since / MS:.3f}")


def _check_order(reconstruction, key, places, shown, find):
    """An owner that QUEUE shows ahead of another is granted the lock first."""
    of_owner = {}
    for place in places:
        of_owner.setdefault(place.owner, []).append(place)
    seen = set()
    for look, owners in shown:
        ahead = []
        for owner in owners:
            for place in ahead:
                pair = (id(place.ask), owner, place.is_kept)
                if pair in seen:
                    continue
                seen.add(pair)
                for hold in _holds_of(reconstruction, key, owner):
                    is_later = hold.told > look.until and not hold.is_transferred
                    if is_later and _is_passed(reconstruction, place, hold):
                        find("passed in the queue", key, f"{hold.name}, granted by "
                             f"{hold.told / MS:.3f}, was behind {place.name} in {look}")
            ahead += [place for place in of_owner.get(owner, ())
                      if place.since <= look.until and look.until < place.leaves]


def _check_lost(reconstruction, key, places, shown, find):
    """QUEUE shows every owner that is certainly waiting."""
    for place in places:
        granted = min((hold.first for hold in _holds_of(reconstruction, key, place.owner)
                       if hold.told >= place.ask.sent), default=FOREVER)
        for look, owners in _between(shown, place.since, place.leaves):
            if look.until < min(place.leaves, granted) and place.owner not in owners:
                find("lost place", key, f"{place.name}, in the queue since "
                     f"{place.since / MS:.3f}, is not there: {look}")
                break


def _check_left_waiting(reconstruction, key, places, find):
    """No waiter is left waiting for a free key if nothing blocks it."""
    asks = [ask for claimant in reconstruction.book.of_key[key] for ask in claimant.asks]
    if any(ask.keep or len(ask.keys) > 1 or "MINHOLD" in ask.options for ask in asks):
        return
    for look in reconstruction.book.looks.get(key, ()):
        if look.name != "LOCKINFO" or not look.is_answered or holders_in(look):
            continue
        for place in places:
            granted = min((hold.first for hold in _holds_of(reconstruction, key, place.owner)),
                          default=FOREVER)
            if place.since <= look.sent and look.until < min(place.leaves, granted):
                find("left waiting", key, f"{place.name} waits though nobody holds it: {look}")


def _check_numbers(reconstruction, key, places, leavings, shown, find):
    """Two waiters that stay in a queue keep their order: across a clean stop if they return, and
    across a kill if KEEP retains their places."""
    stops = [(life, following) for life, following in
             zip(reconstruction.lives, reconstruction.lives[1:])]
    steady = {}
    for life, following in stops:
        before = [row for row in shown if row[0].life == life.number]
        after = [row for row in shown if row[0].life == following.number and
                 row[0].until < following.spawned + RESTART_GRACE]
        if not before or not after:
            continue
        look, owners = before[-1]
        for owner in owners:
            steady[owner] = _stays(reconstruction, key, places, leavings, owner, look, life)
        for again, later in after:
            _compare(key, (look, owners), (again, later), steady, find)


def _stays(reconstruction, key, places, leavings, owner, look, life):
    """Returns the time until which the owner, which `look` shows, certainly keeps its place in the
    order after `life` has ended."""
    claimant = reconstruction.book.claimant(key, owner)
    waiting = [ask for ask in claimant.asks if ask.life == life.number and not ask.is_answered and
               ask.sent < look.sent]
    kept = [place for place in places if place.owner == owner and place.is_kept and
            place.since <= look.sent]
    until = max((place.leaves for place in kept), default=0)
    is_back = life.is_clean and len(waiting) == 1 and (
        reconstruction.closed_at(waiting[0].client) > life.ended) and (
        waiting[0].sent + waiting[0].wait > life.ended)
    if not is_back:
        return until
    endings = [*claimant.ends, *claimant.gifts, *_leavings_of(leavings, waiting[0])]
    others = [action.sent for action in endings if action.until >= look.sent]
    if waiting[0].keep:
        others.append(life.ending + waiting[0].keep)  # overrides the grace after a restart
    return max(until, min(others, default=FOREVER))


def _compare(key, first, second, steady, find):
    (look, owners), (again, later) = first, second
    both = [owner for owner in owners if owner in later and steady[owner] > again.until]
    numbers = [later.index(owner) for owner in both]
    for left, right, one, other in zip(numbers, numbers[1:], both, both[1:]):
        if left > right:
            find("changed number", key, f"{one} was ahead of {other} in {look}, and is behind it "
                 f"in {again}")
