"""Rules for holds: which owners may hold together, and that no hold is lost, shortened or
revived."""

import bisect

from actions import MS
from holds import UNKNOWN

# The server counts whole milliseconds: a lease "may end up to a millisecond late".
LATE = MS


def check(reconstruction, find):
    book = reconstruction.book
    for key in book.of_key:
        holds = [hold for hold in book.holds_of(key) if hold.told < hold.last_end + 1]
        _check_together(key, holds, find)
        _check_instants(key, holds, find)
    for hold in book.holds():
        _check_sights(hold, find)
    _check_tokens(book, find)
    _check_counts(book, find)


def _is_refused_together(holds):
    """Whether these holds may not exist at the same time."""
    shared = [hold for hold in holds if hold.is_shared]
    if shared and len(shared) < len([hold for hold in holds if not hold.is_transferred]):
        return True
    return len(holds) > min(hold.limit for hold in holds)


def _check_together(key, holds, find):
    """All holds that certainly exist (or are in cooldown) at one instant must be compatible."""
    active = []
    for hold in sorted(holds, key=lambda hold: hold.told):
        active = [other for other in active if other.busy_end > hold.told]
        if hold.busy_end <= hold.told:
            continue
        active.append(hold)
        if len(active) > 1 and _is_refused_together(active):
            find("held together", key, " and ".join(
                f"{one.name} surely from {one.told / 1e6:.3f} to {one.busy_end / 1e6:.3f}"
                for one in active))


def _check_instants(key, holds, find):
    """No hold may be granted at an instant at which an incompatible hold certainly exists."""
    surely = sorted((hold for hold in holds if hold.busy_end > hold.told),
                    key=lambda hold: hold.told)
    begins = [hold.told for hold in surely]
    longest = max((hold.busy_end - hold.told for hold in surely), default=0)
    for hold in holds:
        low = bisect.bisect_left(begins, hold.told - longest)
        for other in surely[low:bisect.bisect_right(begins, hold.first)]:
            is_inside = other.told <= hold.first and hold.told < other.busy_end
            if other is not hold and is_inside and not hold.is_transferred and (
                    _is_refused_together([hold, other])):
                find("granted beside", key, f"{hold.name}, granted from {hold.first / 1e6:.3f} to "
                     f"{hold.told / 1e6:.3f}, while {other.name} was surely held from "
                     f"{other.told / 1e6:.3f} to {other.busy_end / 1e6:.3f}")


def _check_sights(hold, find):
    for sight in hold.missed:
        if hold.is_surely_held(sight.sent, sight.answered):
            find("lost hold", hold.key, f"{hold.name}, told by {hold.told / 1e6:.3f} and surely "
                 f"held until {hold.sure_end / 1e6:.3f}, was not there: {sight}")
    for sight in hold.seen:
        if sight.sent > hold.last_end + LATE:
            find("hold came back", hold.key, f"{hold.name}, over by {hold.last_end / 1e6:.3f}, "
                 f"was there: {sight}")


def _check_tokens(book, find):
    """A token belongs to one owner, and to one key or to several keys of one MLOCK."""
    known = {}
    for hold in book.holds():
        if hold.token is UNKNOWN:
            continue
        other = known.setdefault(hold.token, hold)
        is_multi = any(other.key in ask.keys and hold.key in ask.keys for ask in hold.asks)
        if other is not hold and (other.owner != hold.owner or not is_multi):
            find("token given twice", hold.key, f"{hold.name} and {other.name}")
    for claimant in book.claimants.values():
        if claimant.is_redis and len(claimant.holds) > 1 and not claimant.gifts:
            find("token changed", claimant.key, f"{claimant.owner} set it once, and was shown "
                 f"with tokens {sorted(claimant.holds)}")


def _check_counts(book, find):
    """LOCKED, MUNLOCK and BREAK report at least the holds that certainly exist."""
    for key, looks in book.looks.items():
        for look in looks:
            if look.name == "LOCKED" and look.owner is None and look.is_answered:
                _check_count(book, key, look, look.reply, find)
    for key, breaks in book.breaks.items():
        for one in breaks:
            if one.is_answered:
                _check_count(book, key, one, one.reply, find)
    for claimant in book.claimants.values():
        for end in [*claimant.ends, *claimant.renewals]:
            if len(end.keys) > 1 and end.is_answered and end.keys[0] == claimant.key:
                _check_multi(book, end, find)


def _check_count(book, key, look, count, find):
    held = [hold for hold in book.holds_of(key) if look.owner in (None, hold.owner) and
            hold.is_surely_held(look.sent, look.until)]
    if isinstance(count, int) and count < len(held):
        find("lost hold", key, f"{look} though {[hold.name for hold in held]} are surely held")


def _check_multi(book, action, find):
    """Checks MUNLOCK, and MRENEW, which returns 0 if one of the keys is not held."""
    held = [hold for key in action.keys for hold in book.claimant(key, action.owner).holds.values()
            if action.token in (None, hold.token) and
            hold.is_surely_held(action.sent, action.until)]
    if action.name == "MRENEW":
        is_session = any("SESSION" in ask.options for hold in held for ask in hold.asks)
        is_wrong = action.reply == 0 and len(held) == len(action.keys) and not is_session
    else:
        is_wrong = isinstance(action.reply, int) and action.reply < len(held)
    if is_wrong:
        find("lost hold", action.keys[0],
             f"{action} though {[hold.name for hold in held]} are surely held")
