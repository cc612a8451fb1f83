"""What is known about a hold, and the flows that renew, release and transfer it."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Any, Callable, NoReturn

import redis

from ._acquire import Grant
from ._failures import is_temporary, pauses, translated
from ._replies import Message, token_of
from ._steps import Answer, Ask, Flow, Pause
from ._terms import Command, Name, Terms, check_duration, names_of, now, shown
from .errors import LostHold

_log = logging.getLogger("fairlock")

# A lease is renewed when this part of it is left.
_RENEW_PART = 1 / 3
# A release, or a transfer, is repeated for this time.
_REPEAT_SECONDS = 5.0
_FOREVER_SECONDS = 3600.0
_UNKNOWN = "the server does not know it any more"
_RELEASED = "was released"


def _nothing() -> None:
    return None


def warn_of_drop(hold: object, terms: Terms) -> None:
    """Says that the program has lost a hold without releasing it, in the log and as a warning of
    Python, which shows where the hold was made if it traces allocations."""
    if sys.is_finalizing():
        return
    _log.warning("a hold of %r was dropped without a release: it ends with its lease", terms.keys)
    warnings.warn(f"a hold of {names_of(terms.keys)} was dropped without a release",
                  ResourceWarning, stacklevel=3, source=hold)


class HoldState:
    """A hold as this process sees it. Threads may call it without a lock: each attribute is
    written as a whole, and a hold that has ended never begins again."""

    def __init__(self, terms: Terms, owner: Name, grant: Grant) -> None:
        self.terms = terms
        self.owner = owner
        self.token = grant.token
        self.lease = terms.lease
        # The lease ends no earlier than this, because it counts from a time after `sent_at`.
        self.deadline = grant.sent_at + terms.lease
        self.is_over = False  # its owner releases it, or has transferred it
        self.is_released = False  # there is nothing left to release
        self._heir: Name | None = None  # the heir of a transfer that was sent and not answered
        self._rumour: str | None = None  # why it may be lost, unless that was the transfer itself
        self._lost: str | None = None
        self._process = os.getpid()
        # Returns the Hold of the first acquisition, which nothing here keeps alive, or None.
        self.hold: Callable[[], Any] = _nothing
        self._sharers: dict[int, None] = {}  # each Hold of this state that was not released

    def join(self, hold: object) -> None:
        """Counts an acquisition that holds the lock."""
        self._sharers[id(hold)] = None

    def leave(self, hold: object) -> bool:
        """An acquisition is over. True if it was the last one. May be repeated."""
        self._sharers.pop(id(hold), None)
        return not self._sharers

    def has_left(self, hold: object) -> bool:
        """Whether this acquisition is over, and others are not."""
        return bool(self._sharers) and id(hold) not in self._sharers

    def attention_at(self, renews: bool) -> float:
        """When a third of the lease is left, or when it ends."""
        return self.deadline - (self.lease * _RENEW_PART if renews else 0)

    @property
    def is_of_this_process(self) -> bool:
        """False in a child that was forked while the parent held the lock."""
        return os.getpid() == self._process

    @property
    def lost(self) -> str | None:
        """Why the hold is lost, or None. Reads the clock."""
        if self._lost is None and not self.is_over and now() >= self.deadline:
            self._lost = f"its lease of {self.lease:g} s ended before it was renewed"
        return self._lost

    def drop(self) -> bool:
        """The program has lost the hold without a release: it ends with its lease. False if it is
        over anyway. Takes no lock, because it may be called in the middle of anything."""
        if self.is_over or not self.is_of_this_process or self.lost is not None:
            return False
        self.is_over = True
        return True

    def lose(self, reason: str) -> None:
        """Records the end of the hold, unless its owner ended it."""
        if self._lost is not None or self.is_over:
            return
        self._rumour = self._rumour or reason
        if self._heir is None:  # a transfer that ends at this moment may not have seen `rumour`
            self._lost = reason

    def hear(self, message: Message) -> None:
        """Takes note of a message on the channel."""
        if message.event == "lost" and message.token == self.token:
            self.lose(f"the server reported: {message.reason}")

    def check(self, hold: object = None) -> None:
        """Raises LostHold unless the lock is certainly held: by this acquisition, if one is
        given."""
        doubt = self._doubt()
        if doubt is None and hold is not None and self.has_left(hold):
            doubt = _RELEASED
        if doubt is not None:
            self._raise(doubt)

    @property
    def is_certain(self) -> bool:
        """Whether check() would not raise."""
        return self._doubt() is None

    def _doubt(self) -> str | None:
        if not self.is_of_this_process:
            return "is held by the parent of this process"
        if self.is_over:
            return _RELEASED
        heir = self._heir
        if heir is not None:
            return f"is being transferred to {shown(heir)}, and may have been already"
        reason = self.lost
        return None if reason is None else f"is lost: {reason}"

    def _raise(self, what: str) -> NoReturn:
        raise LostHold(f"{names_of(self.terms.keys)} {what}")

    def _ask_renewal(self, lease: float) -> Flow[None]:
        """A renewal never shortens the lease, in whichever order the server executes renewals and
        replies to them. A refusal is final, because a token never returns."""
        answer: Answer = yield Ask(self.terms.renew(self.owner, self.token, lease),
                                   self.deadline - now())
        if answer.reply != 1:
            self.lose(_UNKNOWN)
        elif self._lost is None:
            # Of two threads at this very moment, the earlier time may win, which is safe too.
            self.deadline = max(self.deadline, answer.sent_at + lease)

    def renew(self, lease: float | None) -> Flow[None]:
        """Renews once."""
        if lease is not None:
            check_duration("lease", lease, may_be_zero=False)
        self.check()
        try:
            yield from self._ask_renewal(lease or self.lease)
        except redis.RedisError as error:
            raise translated(error, self.terms.keys) from error
        self.lease = lease or self.lease
        self.check()

    def watch(self, renews: bool) -> Flow[bool]:
        """Runs until the hold is over. True if it is lost."""
        while not self.is_over:
            if self.lost is not None:
                return True
            # A refusal during a transfer does not end the hold before the transfer does.
            renews = renews and self._rumour is None
            if renews and now() >= self.attention_at(renews):
                yield from self._renew_until_answered()
            else:
                pause = self.attention_at(renews) - now()
                yield Pause(min(max(0.0, pause), _FOREVER_SECONDS))
        return False

    def _renew_until_answered(self) -> Flow[None]:
        """The server may be restarting: asks again while the lease lasts."""
        attempts = pauses()
        while not self.is_over and self.lost is None and self._rumour is None:
            try:
                yield from self._ask_renewal(self.lease)
                return
            except redis.RedisError as error:
                _log.warning("renewing %r: %s", self.terms.keys, error)
                yield Pause(max(0.0, min(next(attempts), self.deadline - now())))

    def release(self) -> Flow[bool]:
        """True if the lock was held until now. If the server cannot be reached, the lease ends the
        hold later, and the result is what this process knew."""
        was_held = self.lost is None
        is_repeated = self.is_over  # and interrupted
        self.is_over = True
        give_up_at = now() + _REPEAT_SECONDS
        attempts = pauses()
        while True:
            try:
                answer: Answer = yield Ask(self.terms.unlock(self.owner, self.token),
                                           _REPEAT_SECONDS)
            except redis.RedisError as error:
                if not is_temporary(error) or now() >= give_up_at:
                    _log.warning("releasing %r: %s", self.terms.keys, error)
                    self.is_released = True
                    return was_held
                is_repeated = True
                yield Pause(next(attempts))
            else:
                self.is_released = True
                # The first of two requests may have been executed although its reply was lost.
                return was_held and (is_repeated or answer.reply == len(self.terms.keys))

    def transfer(self, new_owner: Name, lease: float | None) -> Flow[int]:
        """Returns the new owner's token. From now on, only a refusal by the server makes the hold
        certain again: a request that is still on its way may be executed after anything that is
        asked meanwhile."""
        if lease is not None:
            check_duration("lease", lease, may_be_zero=False)
        self.check()
        if len(self.terms.keys) != 1:
            raise ValueError("only a lock of one key can be transferred")
        command = self.terms.transfer(self.owner, self.token, new_owner, lease or self.lease)
        self._heir = new_owner
        try:
            token = yield from self._ask_transfer(command, new_owner)
            if token is not None:
                self.is_over = self.is_released = True
        except redis.RedisError as error:
            raise translated(error, self.terms.keys) from error
        finally:
            self.end_transfer()
        if token is None:
            self.check()
        return token  # type: ignore[return-value]

    def _ask_transfer(self, command: Command, new_owner: Name) -> Flow[int | None]:
        """Asks again while the server cannot be reached: the token in the command lets only one of
        the requests succeed. Returns None if none did."""
        give_up_at = now() + _REPEAT_SECONDS
        attempts = pauses()
        is_repeated = False
        while True:
            try:
                answer: Answer = yield Ask(command, _REPEAT_SECONDS)
                token: int | None = answer.reply
                if token is None and is_repeated:
                    answer = yield Ask(("LOCKINFO", self.terms.keys[0]), _REPEAT_SECONDS)
                    token = self._token_of_heir(answer.reply, new_owner)
                if token is None:
                    self.lose(_UNKNOWN)
                return token
            except redis.RedisError as error:
                if not is_temporary(error) and not is_repeated:
                    self._refuse_transfer()
                if not is_temporary(error) or now() >= give_up_at or self.lost is not None:
                    raise
                is_repeated = True
                _log.info("transferring %r again: %s", self.terms.keys, error)
                yield Pause(next(attempts))

    def _token_of_heir(self, reply: Any, new_owner: Name) -> int | None:
        """The token that an earlier request has given the new owner: while the lease lasts, nothing
        else can have given it one."""
        token = token_of(new_owner, reply)
        is_later = token is not None and token > self.token
        return token if is_later and self.lost is None else None

    def _refuse_transfer(self) -> None:
        """The server did not execute it, so the hold is what it was."""
        self._heir = None
        if self._rumour is not None:
            self.lose(self._rumour)

    def end_transfer(self) -> None:
        """A hold is lost if its transfer was neither confirmed nor refused."""
        if self._heir is not None and not self.is_over and self._lost is None:
            self._lost = self._rumour or (f"the server has not confirmed its transfer to "
                                          f"{shown(self._heir)}")
        self._heir = None
