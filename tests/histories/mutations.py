"""Faults to plant in a recorded history: each turns the behaviour of a correct server into one that
a faulty server could have shown. A mutation changes the history in place, or returns False if the
fault fits nowhere in it.
"""

from actions import MS, as_map


def _long_grants(history, reconstruction):
    """Yields holds that certainly existed for a while and whose token LOCK returned."""
    holds = [hold for hold in reconstruction.book.holds()
             if hold.token is not None and hold.sure_end - hold.told > 10 * MS]
    by_token = {hold.token: hold for hold in holds}
    for request in history.requests:
        if request.words[0] == "LOCK" and isinstance(request.reply, int):
            hold = by_token.get(request.reply)
            if hold is not None and hold.key == request.words[1]:
                yield request, hold


def drop_a_release(history, reconstruction, number):
    """Removes an UNLOCK that was answered with 1 and made room for another owner, as if never
    sent."""
    ends = [request for request in history.requests
            if request.words[0] == "UNLOCK" and request.reply == 1 and
            _made_room(reconstruction, request)]
    if not ends:
        return False
    history.requests.remove(ends[number % len(ends)])
    return True


def _made_room(reconstruction, end):
    hold = _hold_ended_by(reconstruction, end)
    return hold is not None and hold.limit == 1 and any(
        other is not hold and end.answered < other.told < hold.lease_end and
        other.told < other.sure_end for other in reconstruction.book.holds_of(hold.key))


def _hold_ended_by(reconstruction, request):
    claimant = reconstruction.book.claimants.get((request.words[1], request.words[2]))
    holds = list(claimant.holds.values()) if claimant else []
    if len(holds) != 1 or len(claimant.ends) != 1 or any(
            "SESSION" in ask.options or len(ask.keys) > 1 for ask in claimant.asks):
        return None
    is_broken = any(one.until >= holds[0].first
                    for one in reconstruction.book.breaks.get(holds[0].key, ()))
    return None if is_broken else holds[0]


def give_a_token_twice(history, reconstruction, number):
    grants = list(_long_grants(history, reconstruction))
    first, _ = grants[number % len(grants)]
    second = next((request for request, _ in grants if request.words[1] != first.words[1]), None)
    if second is None:
        return False
    second.reply = first.reply
    return True


def swap_two_grants(history, reconstruction, number):
    """Swaps the tokens of two successive owners."""
    grants = list(_long_grants(history, reconstruction))
    for (first, _), (second, _) in zip(grants[number:], grants[number + 1:]):
        if first.answered < second.sent and first.reply != second.reply:
            first.reply, second.reply = second.reply, first.reply
            return True
    return False


def shorten_a_lease(history, reconstruction, number):
    """A token that a client has only just received is gone when another client looks."""
    grants = list(_long_grants(history, reconstruction))
    tokens = {hold.token: hold for _, hold in grants}
    looks = [request for request in history.requests
             if request.words[0] == "CHECK" and request.reply == 1 and
             request.words[2] in tokens and
             tokens[request.words[2]].is_surely_held(request.sent, request.answered + 5 * MS)]
    if not looks:
        return False
    looks[number % len(looks)].reply = 0
    return True


def lose_a_grant_at_the_restart(history, reconstruction, number):
    """After a restart, the first look at a hold does not find it, and neither does any later
    one."""
    for life in reconstruction.lives[1:]:
        looks = [request for request in history.requests
                 if request.life == life.number and request.words[0] == "LOCKINFO" and
                 request.is_answered and as_map(request.reply)["holders"]]
        for look in looks[number:]:
            holders = [as_map(holder) for holder in as_map(look.reply)["holders"]]
            holds = [hold for hold in reconstruction.book.holds_of(look.words[1])
                     if hold.token in {holder["token"] for holder in holders} and
                     hold.told < life.spawned and hold.lease_end > look.answered + MS]
            if holds:
                fields = look.reply
                fields[fields.index("holders") + 1] = []
                return True
    return False


def undo_a_release(history, reconstruction, number):
    """A token whose release was confirmed exists again when a client looks."""
    over = {hold.token: hold for hold in reconstruction.book.holds() if hold.token is not None}
    looks = [request for request in history.requests
             if request.words[0] == "CHECK" and request.reply == 0 and
             request.words[2] in over and over[request.words[2]].last_end < request.sent - 2 * MS]
    if not looks:
        return False
    looks[number % len(looks)].reply = 1
    return True


def time_out_early(history, reconstruction, number):
    waits = [action for action in reconstruction.actions
             if action.name == "LOCK" and action.wait > 50 * MS and action.is_answered and
             action.reply is None and "NOTIFY" not in action.options]
    if not waits:
        return False
    early = waits[number % len(waits)]
    for request in history.requests:
        if request.client == early.client and request.sent == early.sent:
            request.answered = int(early.sent + early.wait - 2 * MS)
    return True


ALL = (drop_a_release, give_a_token_twice, swap_two_grants, shorten_a_lease,
       lose_a_grant_at_the_restart, undo_a_release, time_out_early)
