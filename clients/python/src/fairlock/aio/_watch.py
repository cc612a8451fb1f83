"""What goes on beside the program while it holds a lock, for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import logging
import weakref
from typing import Any, Awaitable, Callable, Generic, Optional, TypeVar

from .._hold_state import HoldState
from .._nesting import Held, forget_held, note_held
from .._replies import Message
from .._terms import now
from ._channel import Channel
from ._port import Port
from ._routes import Route
from ._tasks import start

AnyHold = TypeVar("AnyHold")
OnLost = Callable[[AnyHold], Optional[Awaitable[Any]]]

_log = logging.getLogger("fairlock")


class Watch(Generic[AnyHold]):
    """Renews a hold, and notices its loss. Does not keep the hold alive: if the program drops it
    without a release, it is not renewed any more."""

    def __init__(self, hold: AnyHold, route: Route, state: HoldState, channel: Channel | None,
                 renews: bool, on_lost: OnLost[AnyHold] | None, held: Held) -> None:
        self.route = route
        self.state = state
        self.channel = channel
        self._hold = weakref.ref(hold)
        self._renews = renews
        self._on_lost = on_lost
        self._held = held  # used by the task that has taken the lock
        self._wake: asyncio.Event | None = None  # wakes the task, once there is one
        self._timer: asyncio.TimerHandle | None = None  # which starts the task
        note_held(held, route.place, state)
        if channel is not None:
            channel.follow(route.slot, state.terms, state.owner, self.hear)
        if renews or on_lost is not None or channel is not None:
            self._set_timer()

    def hear(self, message: Message) -> None:
        """Takes note of a message on the channel."""
        self.state.hear(message)
        self.notice_loss()

    def notice_loss(self) -> None:
        """Call this if the hold may be lost."""
        if self.state.lost is None:
            return
        if self._wake is not None:
            self._wake.set()
        elif self._timer is not None:
            self._start()

    def notice_renewal(self) -> None:
        """Call this when its lease has changed."""
        if self._wake is not None:
            self._wake.set()
        elif self._timer is not None and not self.state.is_over:
            self._timer.cancel()
            self._set_timer()

    def leave(self) -> None:
        """Call this when the hold is over."""
        if self._wake is not None:
            self._wake.set()
        elif self._timer is not None:
            self._timer.cancel()
        self.forget()
        if self.channel is not None:
            self.channel.unfollow(self.route.slot, self.state.terms, self.state.owner, self.hear)

    def forget(self) -> None:
        """The task may ask for these keys again."""
        forget_held(self._held, self.route.place, self.state)

    def _set_timer(self) -> None:
        """Most holds are released long before their renewal, and a task for each of them would
        cost more than the lock itself."""
        seconds = max(0.0, self.state.attention_at(self._renews) - now())
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._hold() is None:
            self.leave()
        elif self._wake is None:
            self._wake = asyncio.Event()
            start(self._run(self._wake))

    async def _run(self, wake: asyncio.Event) -> None:
        port = Port(self.route, self.channel, wake=wake)
        is_lost = await port.run(self.state.watch(self._renews))
        hold = self._hold()
        if hold is None:
            self.leave()
        elif is_lost and self._on_lost is not None:
            try:
                result = self._on_lost(hold)
                if inspect.isawaitable(result):
                    await result
            except Exception:
                _log.exception("on_lost of %r failed", self.state.terms.keys)
