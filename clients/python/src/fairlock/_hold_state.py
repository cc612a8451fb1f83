"""What is known about a hold, and the flows that renew, release and transfer it."""

from __future__ import annotations

import logging
import os

import redis

from ._acquire import Grant
from ._failures import is_temporary, pauses, translated
from ._replies import Message
from ._steps import Answer, Ask, Flow, Pause
from ._terms import Name, Terms, now
from .errors import LostHold

_log = logging.getLogger("fairlock")

# A lease is renewed when a third of it is left.
_RENEW_PART = 2 / 3
_RELEASE_SECONDS = 5.0
_FOREVER_SECONDS = 3600.0


class HoldState:
    """A hold as this process sees it. Threads may call it without a lock: each attribute is
    written as a whole, and a hold that has ended never begins again."""

    def __init__(self, terms: Terms, owner: Name, grant: Grant) -> None:
        self.terms = terms
        self.owner = owner
        self.token = grant.token
        # When the request was sent from which the lease counts, and its length: one attribute,
        # because threads must see both or neither.
        self._span = (grant.sent_at, terms.lease)
        self.is_over = False  # its owner releases it, or has transferred it
        self.is_released = False  # there is nothing left to release
        self._is_leaving = False  # a transfer has been sent
        self._lost: str | None = None
        self._process = os.getpid()

    @property
    def lease(self) -> float:
        """The length of the lease."""
        return self._span[1]

    @property
    def deadline(self) -> float:
        """The lease ends no earlier than this, because it counts from a later time."""
        sent_at, lease = self._span
        return sent_at + lease

    def attention_at(self, renews: bool) -> float:
        """When a third of the lease is left, or when it ends."""
        sent_at, lease = self._span
        return sent_at + lease * (_RENEW_PART if renews else 1)

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

    def lose(self, reason: str) -> None:
        """Records the end of the hold, unless its owner ended it."""
        if self._lost is None and not self.is_over and not self._is_leaving:
            self._lost = reason

    def hear(self, message: Message) -> bool:
        """Takes note of a message on the channel; True if the hold is lost."""
        if message.event == "lost" and message.token == self.token:
            self.lose(f"the server reported: {message.reason}")
        return self._lost is not None

    def check(self) -> None:
        """Raises LostHold unless the lock is certainly held."""
        if not self.is_of_this_process:
            raise LostHold(f"{self.terms.keys!r} is held by the parent of this process")
        if self.is_over:
            raise LostHold(f"{self.terms.keys!r} was released")
        reason = self.lost
        if reason is not None:
            raise LostHold(f"{self.terms.keys!r} is lost: {reason}")

    def _ask_renewal(self, lease: float) -> Flow[None]:
        """Until the reply tells, the lease ends at the earlier of both times: the server may have
        shortened it already."""
        begun_at = now()
        if begun_at + lease < self.deadline:
            self._span = (begun_at, lease)
        answer: Answer = yield Ask(self.terms.renew(self.owner, self.token, lease),
                                   self.deadline - begun_at)
        if answer.reply != 1:
            self.lose("the server does not know it any more")
        elif self._lost is None:
            self._span = (answer.sent_at, lease)

    def renew(self, lease: float | None) -> Flow[None]:
        """Renews once."""
        self.check()
        try:
            yield from self._ask_renewal(lease or self.lease)
        except redis.RedisError as error:
            raise translated(error) from error
        self.check()

    def watch(self, renews: bool) -> Flow[bool]:
        """Runs until the hold is over. True if it is lost."""
        while not self.is_over:
            if self.lost is not None:
                return True
            if renews and now() >= self.attention_at(renews):
                yield from self._renew_until_answered()
            else:
                pause = self.attention_at(renews) - now()
                yield Pause(min(max(0.0, pause), _FOREVER_SECONDS))
        return False

    def _renew_until_answered(self) -> Flow[None]:
        """The server may be restarting: asks again while the lease lasts."""
        attempts = pauses()
        while not self.is_over and self.lost is None:
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
        give_up_at = now() + _RELEASE_SECONDS
        attempts = pauses()
        while True:
            try:
                answer: Answer = yield Ask(self.terms.unlock(self.owner, self.token),
                                           _RELEASE_SECONDS)
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
        """Returns the new owner's token."""
        self.check()
        if len(self.terms.keys) != 1:
            raise ValueError("only a lock of one key can be transferred")
        command = self.terms.transfer(self.owner, self.token, new_owner, lease or self.lease)
        self._is_leaving = True
        try:
            answer: Answer = yield Ask(command, self.deadline - now())
            token: int = answer.reply
            self.is_over = self.is_released = token is not None
        except redis.RedisError as error:
            raise translated(error) from error
        finally:
            self._is_leaving = False
        if token is None:
            self.lose("the server does not know it any more")
            self.check()
        return token
