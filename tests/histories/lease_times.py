"""When the lease of a hold ends, at the earliest and at the latest.

No lease ends early: it runs from the grant, or from the request that renewed it. After a restart it
starts again in full (after a kill) or continues with the remaining time (after a clean stop).
"""

import dataclasses
import math

# An expiry that no client has seen need not survive a crash. After this time, even a slow server
# has written it.
EXPIRY_LAG = 2_000_000_000


@dataclasses.dataclass(slots=True)
class Span:
    """A time that is known only within bounds, and the length of the lease as recorded."""
    earliest: float
    latest: float
    length: float


def _overlaps(one, others):
    return any(other is not one and other.sent <= one.until and one.sent <= other.until
               for other in others)


def _extend(span, ask, is_told):
    if is_told:
        span.earliest = max(span.earliest, ask.sent + ask.lease)
    span.latest = max(span.latest, ask.until + ask.lease)
    span.length = max(span.length, ask.lease)


def _renew(span, renewal, is_exact):
    if is_exact:
        span.earliest = renewal.sent + renewal.lease
        span.latest = renewal.until + renewal.lease
        span.length = renewal.lease
        return
    span.earliest = min(span.earliest, renewal.sent + renewal.lease)
    span.latest = max(span.latest, renewal.until + renewal.lease)
    span.length = max(span.length, renewal.lease)


def _restart(span, life, following):
    if life.is_clean and life.ending <= span.latest:
        span.latest += following.ready - life.ending
    elif not life.is_clean and life.ending <= span.latest + EXPIRY_LAG:
        span.latest = max(span.latest, following.ready + span.length)


def _first_lease(hold, claimant, source):
    """The lease of the grant: from its request, or from a TRANSFER, which may continue with the
    previous holder's remaining time."""
    begun = [ask for ask in claimant.asks if ask.sent <= hold.told]
    gifts = [gift for gift in claimant.gifts if gift.sent <= hold.told and
             (not gift.is_answered or gift.reply == hold.token)]
    leases = [one.lease for one in [*begun, *gifts] if one.name != "TRANSFER" or
              "PX" in one.options]
    span = Span(hold.first + min(leases, default=0), hold.told + max(leases, default=0),
                max(leases, default=0))
    if any("PX" not in gift.options for gift in gifts):
        if source is None:
            return Span(hold.first, float("inf"), float("inf"))
        span.earliest = min(span.earliest, source.earliest) if leases else source.earliest
        # The lease runs from when the reply may be sent, so the remaining time starts then.
        delay = max(gift.until - gift.sent for gift in gifts)
        span.latest = max(span.latest, source.latest + delay)
        span.length = max(span.length, source.length)
    return span


def _changes(hold, claimant, lives):
    """Yields actions that may have changed the lease: (time, kind, action, fact)."""
    may_be_gift = any(not gift.is_answered or gift.reply == hold.token for gift in claimant.gifts)
    later = [other for other in claimant.holds.values()
             if other is not hold and other.told > hold.told]
    over = min((other.told for other in later), default=math.inf)
    unclear = min((other.first for other in later), default=math.inf)
    for ask in claimant.asks:
        is_told = ask.is_grant and ask.reply in ("OK", hold.token)
        if is_told and may_be_gift and ask.sent < hold.told:
            is_told = False  # its waiting request may have been answered by the TRANSFER
        if hold.first <= ask.until and ask.sent < over and (is_told or not ask.is_answered):
            yield ask.sent, 0, ask, is_told
    for renewal in claimant.renewals:
        is_zero = renewal.is_answered and renewal.reply != 1
        is_of_it = renewal.token in (None, hold.token) and not is_zero
        if is_of_it and hold.first <= renewal.until and renewal.sent < over:
            yield renewal.sent, 1, renewal, renewal.is_answered and renewal.until < unclear
    for life, following in zip(lives, lives[1:]):
        if life.ending is not None and life.ended > hold.first:
            yield life.ended, 2, life, following


def lease_span(hold, claimant, lives, source):
    """Returns the Span of the hold's end. `source` is the Span of the hold that a TRANSFER to this
    owner ended, if known."""
    span = _first_lease(hold, claimant, source)
    changes = sorted(_changes(hold, claimant, lives), key=lambda change: change[:2])
    others = [change[2] for change in changes if change[1] < 2]
    for _, kind, what, fact in changes:
        if kind == 0:
            _extend(span, what, fact)
        elif kind == 1:
            _renew(span, what, fact and not _overlaps(what, others))
        else:
            _restart(span, what, fact)
    return span
