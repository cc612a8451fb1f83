"""Judges what the clients of a fleet were told, using only their own histories.

  /usr/bin/python3 tests/fleet/fleet_checker.py FILE.history

tests/histories has a checker for one server, which is told when each process ran. Here the clients
do not know which node executed a request, or when a late one arrives.
"""

import collections
import dataclasses
import sys

from fleet_holds import Book, MS, told
import fleet_lines
import fleet_steps
import fleet_values
import sessions  # this finds the modules of the histories
from records import History

FINDINGS_SHOWN = 20
assert sessions


@dataclasses.dataclass(frozen=True)
class Finding:
    rule: str
    at: int            # nanoseconds, as in the history
    text: str

    def __str__(self):
        return f"{self.rule} at {self.at / MS:.3f}: {self.text}"


class Judgement:
    """The rules of holds, tokens and reads."""

    def __init__(self, history):
        self.book = Book(history)
        self.findings = []

    def find(self, rule, at, *texts):
        self.findings.append(Finding(rule, at, "; ".join(map(str, texts))))

    def judge(self):
        for request in self.book.errors:
            self.find("unexpected-error", request.answered, told(request))
        for key in self.book.owners:
            holds = self.book.holds_of(key)
            self.check_together(holds)
            self.check_tokens(holds)
            self.check_reads(key)
        for owner in self.book.all_owners():
            self.check_requests(owner)
        fleet_lines.check(self.book, self.find)
        fleet_steps.check(self.book, self.find)
        fleet_values.check(self.book, self.find)
        return sorted(self.findings, key=lambda finding: finding.at)

    def check_together(self, holds):
        """No owner is granted a lock while another owner, which it excludes, certainly holds it."""
        active = []
        for hold in sorted(holds, key=lambda one: one.told):
            active = [other for other in active if other.sure_end > hold.told]
            for other in active:
                # The hold may have been granted, and have ended, before the other was granted.
                is_after = hold.token > other.token or hold.sure_end > hold.told
                if is_after and not (hold.is_shared and other.is_shared):
                    self.find("two-holders", hold.told, other, hold, told(other.grant),
                              told(hold.grant))
            if hold.sure_end > hold.told:
                active.append(hold)

    def check_tokens(self, holds):
        """The token of a grant is greater than those of all earlier grants of the key."""
        known = {}
        for hold in holds:
            other = known.setdefault(hold.token, hold)
            if other is not hold:
                self.find("token-order", hold.told, told(other.grant), told(hold.grant))
        ordered = sorted((hold for hold in holds), key=lambda one: one.told)
        self._check_rising([hold for hold in ordered
                            if not hold.is_shared and hold.sure_end > hold.told])
        newest, at = None, 0
        for hold in sorted(holds, key=lambda one: one.asked):
            while at < len(ordered) and ordered[at].told < hold.asked:
                if newest is None or ordered[at].token > newest.token:
                    newest = ordered[at]
                at += 1
            if newest is not None and hold.token < newest.token:
                self.find("token-order", hold.told, told(newest.grant), told(hold.grant))

    def _check_rising(self, exclusive):
        """If holds certainly existed when their owners were told of them, they were granted in that
        order."""
        for earlier, later in zip(exclusive, exclusive[1:]):
            if later.token < earlier.token:
                self.find("token-order", later.told, told(earlier.grant), told(later.grant))

    def check_requests(self, owner):
        """Checks what a holder is told in reply to its own renewals, releases and repeated
        requests."""
        for hold in owner.holds.values():
            for renewal in owner.renewals:
                if renewal.is_answered and renewal.words[-1] == hold.token:
                    self.saw(hold, renewal, renewal.reply == 1)
            for ask in owner.asks:
                if ask.is_answered and ask.reply != hold.token:
                    self.saw(hold, ask, False)
                elif ask.is_answered and ask is not hold.grant:
                    self.saw(hold, ask, True)
            self._check_release(owner, hold)

    def _check_release(self, owner, hold):
        """Checks that the first release finds the hold. A release with the token of an earlier
        hold of the same owner does not refer to this one."""
        releases = [one for one in owner.releases if one.sent >= hold.told and
                    ("TOKEN" not in one.words or one.words[-1] == hold.token)]
        if not releases or not releases[0].is_answered or releases[0].reply != 0:
            return
        if releases[0].answered < hold.kept_until(releases[0]):
            self.lost(hold, releases[0])

    def saw(self, hold, request, is_held):
        """Checks a request that was told that the hold exists, or that it does not."""
        if not is_held and hold.is_sure(request):
            self.lost(hold, request)
        if is_held and hold.released < request.sent:
            self.find("lost-release", request.answered, hold,
                      f"released by {hold.released / MS:.3f}", told(request))

    def lost(self, hold, request):
        """Reports a missing hold: if it was seen after its grant, it has ended early; otherwise, it
        was lost altogether."""
        seen = [sent for sent in hold.renewed if sent < request.sent]
        seen += [read.sent for read in self.book.reads.get(hold.key, ())
                 if read.words == ["CHECK", hold.key, hold.token] and read.reply == 1 and
                 read.sent < request.sent]
        self.find("lease-early" if seen else "lost-grant", request.answered, hold,
                  told(hold.grant), told(request))

    def check_reads(self, key):
        holds = self.book.holds_of(key)
        by_token = {hold.token: hold for hold in holds}
        for read in self.book.reads.get(key, ()):
            name = read.words[0]
            if name == "CHECK" and read.words[2] in by_token:
                self.saw(by_token[read.words[2]], read, read.reply == 1)
            elif name == "LOCKED" and len(read.words) == 2:
                self.check_count(key, holds, read)
            elif name in ("LOCKED", "POSITION"):
                self.check_owner(self.book.owner(key, read.words[2]), read)
            elif name == "QUEUE":
                self.check_queue(key, read)

    def check_count(self, key, holds, read):
        sure = [hold for hold in holds if hold.is_sure(read)]
        if read.reply < len({hold.owner for hold in sure}):
            self.find("false-read", read.answered, *sure, told(read))
        if read.reply == 0:
            return
        possible = sum(bool(owner.asks) and owner.may_hold(read.sent, read.answered)
                       for owner in self.book.owners[key].values())
        if read.reply > possible:
            self.find("false-read", read.answered, f"at most {possible} hold it", told(read))

    def check_owner(self, owner, read):
        """Checks LOCKED with an owner, and POSITION, whose reply 0 means that the owner holds the
        lock."""
        is_position = read.words[0] == "POSITION"
        is_held = read.reply == 0 if is_position else read.reply == 1
        for hold in owner.holds.values():
            if not is_held and hold.is_sure(read):
                self.lost(hold, read)
        if is_held and owner.may_hold_until < read.sent:
            self.find("lost-release", read.answered, *owner.holds.values(), told(read))
        elif is_held and not (owner.asks and owner.asks[0].sent <= read.answered):
            self.find("false-read", read.answered, f"{owner.name} never asked", told(read))
        if is_position and read.reply and not owner.may_wait(read.sent, read.answered):
            self.find("false-read", read.answered, f"{owner.name} does not wait", told(read))

    def check_queue(self, key, read):
        for name, _ in fleet_lines.places_of(read):
            owner = self.book.owner(key, name)
            if owner.is_unclear:
                continue
            if not owner.may_wait(read.sent, read.answered):
                self.find("false-read", read.answered, f"{name} does not wait", told(read))
            for hold in owner.holds.values():
                if hold.is_sure(read):
                    self.find("false-read", read.answered, hold, told(read))


def judge(history):
    return Judgement(history).judge()


def summary(findings):
    return dict(collections.Counter(finding.rule for finding in findings))


def main(arguments):
    findings = judge(History.read(arguments[1]))
    for finding in findings[:FINDINGS_SHOWN]:
        print(finding)
    print(f"{len(findings)} findings {summary(findings)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
