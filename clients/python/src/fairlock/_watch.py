"""What goes on beside the program while it holds a lock, for threads."""

from __future__ import annotations

import logging
import threading
import weakref
from typing import Any, Callable, Generic, TypeVar

from ._alarms import Alarm, alarms
from ._channel import Channel
from ._hold_state import HoldState
from ._nesting import Held, forget_held, note_held
from ._port import Port
from ._replies import Message
from ._routes import Route

AnyHold = TypeVar("AnyHold")
OnLost = Callable[[AnyHold], Any]

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
        self._held = held  # used by the thread that has taken the lock
        self._wake: threading.Event | None = None  # wakes the thread, once there is one
        self._alarm: Alarm | None = None  # which starts the thread
        note_held(held, route.place, state)
        if renews or on_lost is not None or channel is not None:
            self._alarm = alarms.at(state.attention_at(renews), self._start)
        if channel is not None:
            channel.follow(route.slot, state.terms, state.owner, self.hear)

    def hear(self, message: Message) -> None:
        """Takes note of a message on the channel."""
        self.state.hear(message)
        self.notice_loss()

    def notice_loss(self) -> None:
        """Call this if the hold may be lost."""
        if self.state.lost is not None:
            self._wake_thread()
            if self._alarm is not None and alarms.cancel(self._alarm):
                self._start()

    def notice_renewal(self) -> None:
        """Call this when its lease has changed."""
        self._wake_thread()
        if self._alarm is not None and alarms.cancel(self._alarm):
            self._alarm = alarms.at(self.state.attention_at(self._renews), self._start)

    def leave(self) -> None:
        """Call this when the hold is over."""
        self._wake_thread()
        if self._alarm is not None:
            alarms.cancel(self._alarm)
        self.forget()
        if self.channel is not None:
            self.channel.unfollow(self.route.slot, self.state.terms, self.state.owner, self.hear)

    def forget(self) -> None:
        """The thread may ask for these keys again."""
        forget_held(self._held, self.route.place, self.state)

    def _wake_thread(self) -> None:
        if self._wake is not None:
            self._wake.set()

    def _start(self) -> None:
        if self._hold() is None:
            self.leave()
            return
        # From here on, the thread is woken. It sees earlier changes when it begins.
        self._wake = threading.Event()
        # A daemon thread does not keep the process alive, so the lease ends with the process.
        threading.Thread(target=self._run, name="fairlock-renewal", daemon=True).start()

    def _run(self) -> None:
        port = Port(self.route, self.channel, wake=self._wake)
        is_lost = port.run(self.state.watch(self._renews))
        hold = self._hold()
        if hold is None:
            self.leave()
        elif is_lost and self._on_lost is not None:
            try:
                self._on_lost(hold)
            except Exception:
                _log.exception("on_lost of %r failed", self.state.terms.keys)
