"""The rules of queues: a place that was shown survives, keeps its order, and is granted in order.

Only replies to QUEUE prove that a waiter is connected to the node that leads ("waiting"). A waiter
that has not asked again yet is "absent": its place is retained, and delays nobody.
"""

import bisect

from fleet_holds import FOREVER, MS, options_of

# The campaign starts the nodes with reconnect_grace and restart_grace of 30 s.
GRACE = 25_000 * MS
LATE = 1_000 * MS     # a client may learn this much later that its connection is lost


def places_of(look):
    """Returns (owner, whether it is connected) in the order of the queue."""
    rows = [dict(zip(place[::2], place[1::2])) for place in look.reply or ()]
    return [(row["owner"], row["state"] == "waiting") for row in rows]


class Line:
    """The queue of one key, as it was shown."""

    def __init__(self, book, key, find):
        self.book = book
        self.key = key
        self.find = find
        self.looks = [(look, places_of(look)) for look in book.reads.get(key, ())
                      if look.words[0] == "QUEUE"]
        self.shown = {}   # owner: the looks that show it as waiting, in order
        for look, places in self.looks:
            for owner, is_waiting in places:
                if is_waiting:
                    self.shown.setdefault(owner, []).append(look)
        self.breaks = {owner: self._breaks_of(owner) for owner in self.shown}

    def _breaks_of(self, name):
        """Returns when the owner's place may have ended, other than by the end of a grace
        period."""
        owner = self.book.owner(self.key, name)
        times = [release.sent for release in owner.releases]
        for ask in owner.asks:
            end = self.book.end_of(ask)
            timed_out = ask.sent + options_of(ask)["wait"]
            times.append(end if ask.is_answered else timed_out if timed_out <= end else FOREVER)
            if ask.is_answered and ask.reply is None:
                times.append(timed_out)
        return sorted(times)

    def is_kept(self, name, earlier, later):
        """Whether the place that `earlier` shows must exist until the end of `later`."""
        if name not in self.shown:
            return False
        breaks = self.breaks[name]
        at = bisect.bisect_left(breaks, earlier.sent)
        if at < len(breaks) and breaks[at] <= later.answered:
            return False
        last = 0  # when it was last seen connected without a gap longer than the grace
        for look in self.shown[name]:
            if look.sent <= earlier.sent or last <= look.sent < min(later.sent, last + GRACE):
                last = look.sent
        return later.answered - last < GRACE

    def check(self):
        for number, (later, places) in enumerate(self.looks):
            names = [owner for owner, _ in places]
            for earlier, before in reversed(self.looks[:number]):
                if later.sent - earlier.sent > 2 * GRACE:
                    break
                if earlier.answered < later.sent:
                    self._compare(earlier, before, later, names)
                    break
        for look, places in self.looks:
            self._check_grants(look, [owner for owner, is_waiting in places if is_waiting])

    def _compare(self, earlier, before, later, names):
        shown_before = {owner for owner, _ in before}
        for at, (owner, _) in enumerate(before):
            if not self.is_kept(owner, earlier, later):
                continue
            if owner not in names:
                self._check_lost(owner, earlier, later)
                continue
            followers = {name for name, _ in before[at + 1:]}
            for name in names[:names.index(owner)]:
                is_newer = name not in shown_before and self._asked_after(name, earlier)
                if name in followers or is_newer:
                    self.find("line-order", later.answered, f"{owner} was ahead of {name}",
                              self._text(earlier), self._text(later))

    def _asked_after(self, name, look):
        asks = self.book.owner(self.key, name).asks
        return bool(asks) and asks[0].sent > look.answered

    def _check_lost(self, name, earlier, later):
        owner = self.book.owner(self.key, name)
        if owner.holds:
            is_lost = all(hold.first > later.answered or hold.told < earlier.sent
                          for hold in owner.holds.values())
        else:
            is_lost = not owner.is_unclear
        if is_lost:
            self.find("lost-place", later.answered, f"the place of {name}", self._text(earlier),
                      self._text(later))

    def _check_grants(self, look, names):
        """Checks pairs that wait at the same node, whose later one was answered first."""
        for at, name in enumerate(names):
            ahead = self._request_at(name, look)
            if ahead is None:
                continue
            for follower in names[at + 1:]:
                behind = self._request_at(follower, look)
                if behind is not None and isinstance(behind.reply, int):
                    self._check_pair(look, ahead, behind)

    def _request_at(self, name, look):
        """Returns the owner's request that was waiting while the look was answered."""
        for ask in self.book.owner(self.key, name).asks:
            if ask.sent < look.sent and look.answered < self.book.end_of(ask):
                return ask
        return None

    def _check_pair(self, look, ahead, behind):
        margin = 0 if ahead.is_answered else LATE
        timed_out = ahead.sent + options_of(ahead)["wait"]
        if self.book.end_of(ahead) <= behind.answered + margin or timed_out <= behind.answered:
            return
        if isinstance(ahead.reply, int) and ahead.reply < behind.reply:
            return
        self.find("line-order", behind.answered, f"{ahead.words[2]} was ahead of "
                  f"{behind.words[2]}", self._text(look), *(
                      f"[{one.sent / MS:.3f}, {self.book.end_of(one) / MS:.3f}] {one.words} -> "
                      f"{one.reply}" for one in (behind, ahead)))

    @staticmethod
    def _text(look):
        places = " ".join(name + ("" if is_waiting else " (absent)")
                          for name, is_waiting in places_of(look))
        return f"[{look.sent / MS:.3f}, {look.answered / MS:.3f}] QUEUE {look.words[1]}: {places}"


def check(book, find):
    for key in book.owners:
        Line(book, key, find).check()
