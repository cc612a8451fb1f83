"""Reconstructs a Book from a history: the holds, who saw them, and the bounds on their times."""

import bisect

from actions import FOREVER, MS, actions_of, as_map, nanoseconds
from holds import UNKNOWN, Book, Sight
from lease_times import lease_span

RESTART_GRACE = 30_000 * MS  # the server's default


class Reconstruction:
    """Reads a history once, in the order of the passes below. Reports what it finds to be wrong
    through `find`: (rule, key, text)."""

    def __init__(self, history, find):
        self.history = history
        self.find = find
        self.book = Book()
        self.lives = sorted(history.lives, key=lambda life: life.number)
        self.actions = []
        self._closes = {}
        self._read()
        self._tell_grants()
        self._spread_over_keys()
        self._bound_by_tokens()
        self._collect_sights()
        self._bound_ends()

    def _read(self):
        ends = {life.number: life.ended for life in self.lives if life.ended is not None}
        for request in self.history.requests:
            self.actions += actions_of(request, ends)
        for action in self.actions:
            self.book.add(action)
        for close in self.history.closes:
            if close.by != "server":
                at = self._closes.get(close.client, FOREVER)
                self._closes[close.client] = min(at, close.at)

    def closed_at(self, client):
        """When the client itself first closed that connection, or its sending side."""
        return self._closes.get(client, FOREVER)

    # Pass: which holds existed.

    def _tell(self, key, owner, token, at, by):
        claimant = self.book.claimant(key, owner)
        if not claimant.may_have_been_granted(token, at):
            self.find("unasked grant", key, f"token {token} of {owner}, told by {by}, belongs to "
                                            "no request of that owner")
        hold = claimant.hold(token)
        hold.told = min(hold.told, at)
        return hold

    def _tell_grants(self):
        for action in self.actions:
            if action.is_grant and action.kind == "ask":
                token = UNKNOWN if action.name == "SET" else action.reply
                for key in action.keys:
                    hold = self._tell(key, action.owner, token, action.until, action)
                    hold.is_told = True
                    hold.seen.append(Sight(action.sent, action.until, action))
            elif action.is_grant and action.name == "TRANSFER":
                hold = self._tell(action.keys[0], action.heir, action.reply, action.until, action)
                hold.is_transferred = hold.is_told = True
        for message in self.history.messages:
            event = message.event
            if event["event"] == "granted":
                for key in event.get("keys", [event["key"]]):
                    hold = self._tell(key, event["owner"], event["token"], message.at, event)
                    hold.is_told = True
        for action in self.actions:
            if action.name == "LOCKINFO" and action.is_answered:
                for holder in holders_in(action):
                    hold = self._tell(action.keys[0], holder["owner"], holder["token"],
                                      action.until, action)
                    hold.seen.append(Sight(action.sent, action.until, action))

    def _spread_over_keys(self):
        """An MLOCK token that is seen on one key is assigned to all of its keys."""
        for claimant in list(self.book.claimants.values()):
            several = [ask for ask in claimant.asks if len(ask.keys) > 1]
            if not several:
                continue
            for hold in list(claimant.holds.values()):
                if not any(gift.may_hold for gift in claimant.gifts):
                    for key in several[0].keys:
                        other = self.book.claimant(key, claimant.owner).hold(hold.token)
                        other.told = min(other.told, hold.told)

    def _bound_by_tokens(self):
        """Tokens increase, so each grant lies between those of lower and of higher tokens."""
        numbered = []
        for claimant in self.book.claimants.values():
            begins = [one.sent for one in [*claimant.asks, *claimant.gifts] if one.may_hold]
            for hold in claimant.holds.values():
                self._describe(hold, claimant)
                hold.first = min((one for one in begins if one <= hold.told), default=hold.told)
                if hold.token is not UNKNOWN:
                    numbered.append(hold)
        numbered.sort(key=lambda hold: hold.token)
        latest = None
        for hold in numbered:
            if latest is not None and latest.first > hold.told:
                self.find("tokens do not rise", hold.key, f"{hold.name} was told before "
                          f"{latest.name} was asked for")
            if latest is not None and latest.first > hold.first:
                hold.first = min(latest.first, hold.told)
            if latest is None or hold.first > latest.first:
                latest = hold
        earliest = FOREVER
        for hold in reversed(numbered):
            hold.told = earliest = min(earliest, hold.told)
            hold.first = min(hold.first, hold.told)

    @staticmethod
    def _describe(hold, claimant):
        hold.asks = claimant.asks
        if claimant.gifts and any(gift.may_hold for gift in claimant.gifts):
            hold.is_transferred = True
            hold.limit = FOREVER  # the limit of the previous holder
        if claimant.asks and not hold.is_transferred:
            hold.limit = max(ask.limit for ask in claimant.asks)
            hold.is_shared = any(ask.is_shared for ask in claimant.asks)

    # Pass: which clients saw them, or missed them.

    def _collect_sights(self):
        for claimant in self.book.claimants.values():
            for action in [*claimant.renewals, *claimant.ends]:
                if action.is_answered and len(action.keys) == 1:
                    self._take_answer(claimant, action)
        for key, looks in self.book.looks.items():
            for look in looks:
                if look.is_answered and not look.is_error:
                    self._take_look(key, look)
        for message in self.history.messages:
            if message.event["event"] == "lost":
                self._take_loss(message)

    @staticmethod
    def _take_answer(claimant, action):
        """Replies to RENEW, UNLOCK, TRANSFER and RELEASE of one key show whether it was held."""
        holds = [hold for hold in claimant.holds.values()
                 if action.token in (None, hold.token) and
                 (hold.is_redis or action.name != "RELEASE")]
        sight = Sight(action.sent, action.until, action)
        if action.reply in (0, None):
            for hold in holds:
                is_session = any("SESSION" in ask.options for ask in hold.asks)
                if not (is_session and action.name == "RENEW"):
                    hold.missed.append(sight)
        elif not action.is_error and len(holds) == 1:
            holds[0].seen.append(sight)

    def _take_look(self, key, look):
        sight = Sight(look.sent, look.until, look)
        if look.name == "LOCKINFO":
            shown = {holder["token"] for holder in holders_in(look)}
            for hold in self.book.holds_of(key):
                if hold.token not in shown and hold.first < look.until:
                    hold.missed.append(sight)
        elif look.name == "CHECK":
            for hold in self.book.holds_of(key):
                if hold.token == look.token:
                    (hold.seen if look.reply else hold.missed).append(sight)
        elif look.name == "GET":
            self._take_get(key, look, sight)
        elif look.name in ("LOCKED", "POSITION") and look.owner is not None:
            is_held = look.reply == (1 if look.name == "LOCKED" else 0) and look.reply is not None
            holds = list(self.book.claimant(key, look.owner).holds.values())
            if not is_held:
                for hold in holds:
                    hold.missed.append(sight)
            elif len(holds) == 1:
                holds[0].seen.append(sight)

    def _take_get(self, key, look, sight):
        for hold in self.book.holds_of(key):
            if look.reply is None or (hold.is_redis and look.reply not in ("", hold.owner)):
                hold.missed.append(sight)
            elif hold.is_redis and look.reply == hold.owner:
                hold.seen.append(sight)

    def _take_loss(self, message):
        event = message.event
        claimant = self.book.claimants.get((event["key"], event["owner"]))
        if claimant is None or event["token"] not in claimant.holds:
            self.find("unasked loss", event["key"], f"{event} is of no hold that was told")
            return
        claimant.holds[event["token"]].missed.append(Sight(message.at, message.at, event))

    # Pass: when they ended.

    def _bound_ends(self):
        spans = {}
        for hold in sorted(self.book.holds(), key=lambda hold: (hold.told, hold.first)):
            claimant = self.book.claimants[hold.key, hold.owner]
            span = lease_span(hold, claimant, self.lives, self._source(hold, claimant, spans))
            spans[hold.key, hold.owner, hold.token] = span
            hold.lease_end = span.earliest
            self._bound_last_end(hold, claimant, span)
            self._bound_sure_end(hold, span)
            self._bound_cooling(hold)

    def _source(self, hold, claimant, spans):
        """Returns the lease Span of the hold that a TRANSFER to this owner ended."""
        for gift in claimant.gifts:
            if gift.reply == hold.token:
                holds = self.book.claimant(hold.key, gift.owner).holds.values()
                known = [spans.get((one.key, one.owner, one.token)) for one in holds]
                if len(known) == 1:
                    return known[0]
        return None

    def _granted_by(self, hold, claimant):
        """Returns the latest possible time of the grant, even if the client was told much later."""
        if any("NOTIFY" in ask.options for ask in claimant.asks):
            return hold.told
        sources = [one.until for one in [*claimant.asks, *claimant.gifts] if one.may_hold]
        return min(hold.told, max(sources, default=hold.told))

    def _bound_last_end(self, hold, claimant, span):
        granted_by = self._granted_by(hold, claimant)
        ends = [span.latest]
        ends += [end.until for end in self.book.enders(hold)
                 if end.is_answered and not end.is_error and end.sent >= granted_by]
        ends += [sight.answered for sight in hold.missed if sight.sent >= granted_by]
        if hold.token is not UNKNOWN:
            ends += [other.told for other in claimant.holds.values()
                     if other.token is not UNKNOWN and other.token > hold.token]
        hold.last_end = min(ends)

    def _bound_sure_end(self, hold, span):
        seen = hold.last_seen
        ends = [span.earliest]
        for end in self.book.enders(hold):
            has_missed = end.is_answered and (end.is_error or end.reply in (0, None))
            if not has_missed and end.until >= hold.first and end.until > seen:
                ends.append(end.sent)
        for ask in hold.asks:
            if "SESSION" in ask.options:
                ends.append(self._session_end(ask))
            if not hold.is_told:
                ends.append(self.closed_at(ask.client))  # this may undo a grant until it is told
            is_other = len(ask.keys) > 1 and ask.sent > hold.first and (
                not ask.is_answered or ask.reply != hold.token)
            if is_other and ask.until > seen:
                ends.append(ask.sent)  # an MLOCK gives up its keys if it holds only some of them
        hold.sure_end = max(min(ends), seen)

    def _session_end(self, ask):
        grace = nanoseconds(ask.options.get("GRACE", 0))
        life = bisect.bisect_left([one.number for one in self.lives], ask.life)
        end = self.closed_at(ask.client) + grace
        if life + 1 < len(self.lives):
            end = min(end, self.lives[life + 1].spawned + max(grace, RESTART_GRACE))
        return end

    def _bound_cooling(self, hold):
        times = [nanoseconds(ask.options.get("MINHOLD", 0)) for ask in hold.asks]
        if hold.is_transferred or not times:
            return
        ends = [hold.first + min(times)]
        ends += [one.sent for one in self.book.breaks.get(hold.key, ()) if one.until >= hold.first]
        ends += [end.sent for end in self.book.enders(hold) if end.name == "TRANSFER"]
        hold.cooling_end = min(ends)


def holders_in(look):
    return [as_map(holder) for holder in as_map(look.reply)["holders"]] if look.reply else []
