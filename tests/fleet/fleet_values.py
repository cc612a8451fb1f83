"""The rules of values: registers whose writes are all different, and counters.

Each value of a register is written by one request, so it is there during one interval of time. It
is certainly there between the earliest end and the latest beginning of the requests that wrote or
read it, in this order (Gibbons and Korach, Testing Shared Memories, 1997). No execution explains
two such intervals of different values that overlap, nor a value whose requests all lie within the
interval of another one; and otherwise, one does. A write without an answer may be executed late,
or never.
"""

import bisect
import dataclasses
import math

from fleet_holds import FOREVER, told

WRITES = ("SET", "HSET")
INCREMENTS = ("INCR", "HINCRBY")


@dataclasses.dataclass(slots=True)
class Zone:
    """The requests of one value. If `earliest_end` is before `latest_begin`, the value is there
    between them."""
    request: object
    earliest_end: float
    latest_begin: float

    @property
    def is_sure(self):
        return self.earliest_end < self.latest_begin

    @property
    def begin(self):
        return min(self.earliest_end, self.latest_begin)

    @property
    def end(self):
        return max(self.earliest_end, self.latest_begin)

    def add(self, read):
        self.earliest_end = min(self.earliest_end, read.answered)
        self.latest_begin = max(self.latest_begin, read.sent)


def end_of(request):
    return request.answered if request.is_answered else FOREVER


class Register:

    def __init__(self, find):
        self.find = find
        self.zones = {}

    def check(self, requests):
        writes = [one for one in requests if one.words[0] in WRITES]
        reads = [one for one in requests if one.words[0] not in WRITES and one.is_answered]
        for write in writes:
            self.zones[write.words[-1]] = Zone(write, end_of(write), write.sent)
        self.zones[None] = Zone(None, -math.inf, -math.inf)
        for read in reads:
            zone = self.zones.get(read.reply)
            if zone is None or (zone.request is not None and zone.request.sent > read.answered):
                self.find("unknown-value", read.answered, told(read))
            else:
                zone.add(read)
        self._compare()

    def _compare(self):
        sure = sorted((zone for zone in self.zones.values() if zone.is_sure),
                      key=lambda one: one.begin)
        for earlier, later in zip(sure, sure[1:]):
            if later.begin < earlier.end:
                self._stale(earlier, later)
        begins = [zone.begin for zone in sure]
        for zone in self.zones.values():
            at = bisect.bisect_left(begins, zone.begin) - 1
            if not zone.is_sure and at >= 0 and zone.end < sure[at].end:
                self._stale(sure[at], zone)

    def _stale(self, one, other):
        texts = [told(zone.request) if zone.request else "no value" for zone in (one, other)]
        self.find("stale-value", max(one.begin, other.begin), *texts,
                  "both are the value at the same time")


class Counter:
    """A number that only grows, by 1 with each increment."""

    def __init__(self, find):
        self.find = find

    def check(self, requests):
        increments = [one for one in requests if one.words[0] in INCREMENTS]
        answered = [one for one in requests if one.is_answered]
        self._check_given_twice(increments)
        begun = sorted(one.sent for one in increments)
        ended = sorted(answered, key=end_of)
        greatest, at = 0, 0
        for one in sorted(answered, key=lambda each: each.sent):
            while end_of(ended[at]) < one.sent:
                greatest = max(greatest, value_of(ended[at]))
                at += 1
            if value_of(one) < greatest + (one.words[0] in INCREMENTS):
                self.find("stale-value", one.answered, told(one), f"after {greatest}")
            if value_of(one) > bisect.bisect_left(begun, one.answered):
                self.find("unknown-value", one.answered, told(one))

    def _check_given_twice(self, increments):
        known = {}
        for one in increments:
            if one.is_answered and known.setdefault(one.reply, one) is not one:
                self.find("stale-value", one.answered, told(known[one.reply]), told(one))


def value_of(request):
    return int(request.reply or 0)


def check(book, find):
    for requests in book.values.values():
        is_counter = any(one.words[0] in INCREMENTS for one in requests)
        (Counter if is_counter else Register)(find).check(requests)
