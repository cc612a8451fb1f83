"""Takes a lock, and gives up one that was not taken."""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass

import redis

from ._failures import has_no_subscriber, is_temporary, pauses, translated
from ._replies import Explanation, Message
from ._steps import (Answer, Ask, Flow, Listen, Outstanding, Pause, Subscribe,
                     Subscription)
from ._terms import Name, Terms, names_of, now
from .errors import Deadlock, Denied, WaitEnded

_log = logging.getLogger("fairlock")

# The server ends a wait itself. The client waits this much longer before it suspects that the
# reply was lost.
_GRACE_SECONDS = 2.0
_WAIT_SECONDS_MIN = 0.001
# The server counts milliseconds, so its message may arrive earlier than the wait is over here.
_EARLY_SECONDS = 0.005
# A grant that arrives later than this part of the lease after its request is confirmed by RENEW,
# from which the lease then counts: the time of the grant itself is not known here.
_LATE_PART = 0.1
_GIVE_UP_SECONDS = 5.0
# A server that has not answered by the end of the wait gets a last request, which may be in vain.
_LAST_SECONDS = 1.0
# A server that has answered the release has long answered the request before it.
_ANSWER_SECONDS = 0.5


@dataclass(slots=True)
class Grant:
    """A token, and a time from which at least one whole lease counts."""

    token: int
    sent_at: float


class Acquisition:
    """Asks for a lock until it is granted or denied, or the wait is over."""

    def __init__(self, terms: Terms, owner: Name, wait: float | None,
                 has_channel: bool = False, is_named: bool = False) -> None:
        self._terms = terms
        # A message may still be about an earlier wait of an owner that the program named.
        self._is_named = is_named
        self._owner = owner
        self._wait = wait
        self._give_up_at = None if wait is None else now() + wait
        # With NOTIFY, the server would let a request without WAIT wait.
        self._has_channel = has_channel and (wait is None or wait > 0)
        self._subscription: Subscription | None = None
        self._doubted: int | None = None

    def run(self) -> Flow[Grant]:
        """Asks again while the server cannot be reached. The same owner keeps its place."""
        attempts = pauses()
        while True:
            try:
                return (yield from self._ask())
            except redis.RedisError as error:
                if not is_temporary(error):
                    raise translated(error, self._terms.keys) from error
                left = self._left()
                if left == 0:
                    raise translated(error, self._terms.keys) from error
                if self._subscription is not None and has_no_subscriber(error):
                    self._doubted = self._subscription.number
                _log.info("asking again for %r: %s", self._terms.keys, error)
                pause = next(attempts)
                yield Pause(pause if left is None else min(pause, left))

    def _left(self) -> float | None:
        return None if self._give_up_at is None else max(0.0, self._give_up_at - now())

    def _patience(self) -> float | None:
        left = self._left()
        return None if left is None else left + _GRACE_SECONDS

    def _subscribe(self) -> Flow[str]:
        subscription: Subscription = yield Subscribe(self._doubted)
        self._subscription = subscription
        # A message about an earlier request must not be taken for the answer to this one.
        while (yield Listen(0)) is not None:
            pass
        return subscription.name

    def _ask(self) -> Flow[Grant]:
        channel = (yield from self._subscribe()) if self._has_channel else None
        wait = self._left()
        if wait is not None and self._wait:
            wait = max(wait, _WAIT_SECONDS_MIN)
        # A token is parsed in less time than a map. A wait seldom ends without one.
        explains = (wait == 0 or channel is not None
                    or self._terms.max_waiters is not None)
        answer: Answer = yield Ask(self._terms.lock(self._owner, wait, channel, explains),
                                   self._patience())
        if not explains:
            if answer.reply is None:
                return (yield from self._ask_why())
            return (yield from self._confirm(answer.reply, answer.sent_at))
        explanation = Explanation.parse(answer.reply)
        if explanation.status == "queued" and channel is not None:
            return (yield from self._listen(answer.sent_at))
        return (yield from self._decide(explanation, answer.sent_at))

    def _decide(self, explanation: Explanation, sent_at: float) -> Flow[Grant]:
        if explanation.token is None:
            raise Denied(explanation, self._terms.keys, self._wait)
        return (yield from self._confirm(explanation.token, sent_at))

    def _confirm(self, token: int, sent_at: float, always: bool = False) -> Flow[Grant]:
        lease = self._terms.lease
        if always or now() - sent_at > lease * _LATE_PART:
            answer: Answer = yield Ask(self._terms.renew(self._owner, token, lease),
                                       self._patience())
            if answer.reply != 1:
                raise redis.TimeoutError("the lease ended before its grant was confirmed")
            sent_at = answer.sent_at
        return Grant(token, sent_at)

    def _listen(self, sent_at: float) -> Flow[Grant]:
        while True:
            message: Message | None = yield Listen(self._patience())
            if message is None:
                raise redis.TimeoutError("the outcome of the wait was not received in time")
            if message.event == "subscribed":
                raise redis.ConnectionError("the connection of the channel was lost")
            if message.event == "granted" and message.token is not None:
                return (yield from self._confirm(message.token, sent_at, self._is_named))
            if message.event == "timeout" and self._is_wait_over():
                return (yield from self._ask_why())
            if message.event == "cancelled" and (yield from self._still_waits()):
                continue
            if message.event == "cancelled" and message.reason == "deadlock":
                raise Deadlock(f"{self._names()}: the wait would never end")
            if message.event in ("cancelled", "superseded"):
                raise WaitEnded(f"{self._names()}: {message.event}: another request ended this "
                                "wait")

    def _names(self) -> str:
        return names_of(self._terms.keys)

    def _is_wait_over(self) -> bool:
        left = self._left()
        return left is not None and left <= _EARLY_SECONDS

    def _still_waits(self) -> Flow[bool]:
        if not self._is_named:
            return False
        answer: Answer = yield Ask(("POSITION", self._terms.keys[0], self._owner), _GRACE_SECONDS)
        return answer.reply is not None

    def _ask_why(self) -> Flow[Grant]:
        """Asks once more, without waiting, because neither nil nor a message names the holders."""
        answer: Answer = yield Ask(self._terms.lock(self._owner, 0), _GRACE_SECONDS)
        explanation = Explanation.parse(answer.reply)
        if explanation.token is None:
            explanation = dataclasses.replace(explanation, status="timeout")
        return (yield from self._decide(explanation, answer.sent_at))


def abandon(terms: Terms, owner: Name, error: BaseException) -> Flow[None]:
    """Releases what an interrupted request may have got: a place in the queue, or a hold.

    The release uses another connection than the interrupted request, and may overtake it. So it is
    repeated once that request has been answered. If the server could not be reached until the end
    of the wait, a single attempt must do.
    """
    is_silent = isinstance(error, redis.RedisError)
    give_up_at = now() + (0 if is_silent else _GIVE_UP_SECONDS)
    attempts = pauses()
    is_last = yield Outstanding(0)
    while True:
        try:
            yield Ask(terms.unlock(owner), _LAST_SECONDS if is_silent else _GIVE_UP_SECONDS)
        except redis.RedisError as failure:
            if not is_temporary(failure) or now() >= give_up_at:
                _log.warning("giving up %r: %s", terms.keys, failure)
                return
            yield Pause(next(attempts))
            continue
        if is_last:
            return
        # If the request is not answered by then, it was never sent.
        yield Outstanding(_ANSWER_SECONDS)
        is_last = True
