"""Calls functions at given times, from one thread for all holds of the process.

Most holds are released long before their renewal, and a thread for each of them would cost more
than the lock itself. For the same reason, setting an alarm and cancelling it take no lock and wake
no thread, unless the alarm is due before all others.
"""

from __future__ import annotations

import heapq
import itertools
import math
import os
import threading
from typing import Callable

from ._terms import now

_CANCELLED_MAX = 64
_SLEEP_SECONDS_MAX = 60.0  # a longer one could overflow


class Alarm:
    """A call that is due at a time. `calls` is empty once the call has been made or cancelled: to
    remove an item from a list is one step of the interpreter, so only one thread succeeds."""

    __slots__ = ("due", "calls")

    def __init__(self, due: float, call: Callable[[], None]) -> None:
        self.due = due
        self.calls = [call]

    def take(self) -> Callable[[], None] | None:
        """Returns the call, but only the first time."""
        try:
            return self.calls.pop()
        except IndexError:
            return None


class Alarms:
    """Threads may share it. A forked child starts with none.

    1. A new alarm is in `_new` until the thread moves it to the heap, or until it is cancelled.
    2. Unless the thread has been notified, it wakes at `_wakes_at`, and no alarm is due earlier.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.forget()

    def forget(self) -> None:
        """A forked child calls this, because another thread may have held the gate."""
        self._gate = threading.Condition()
        self._new: dict[Alarm, None] = {}
        self._heap: list[tuple[float, int, Alarm]] = []
        self._cancelled = 0  # how many since the heap was cleaned; an estimate
        self._wakes_at = math.inf
        self._is_running = False

    def at(self, due: float, call: Callable[[], None]) -> Alarm:
        """Makes the call at this time, in the thread of all alarms: it must not take long."""
        alarm = Alarm(due, call)
        self._new[alarm] = None
        if due < self._wakes_at:
            self._wake()
        return alarm

    def cancel(self, alarm: Alarm) -> bool:
        """False if the call has been made, or was cancelled before."""
        if alarm.take() is None:
            return False
        if self._new.pop(alarm, self) is self:
            self._count_cancelled()
        return True

    def __len__(self) -> int:
        """How many alarms are stored, including those in the heap that have been cancelled."""
        return len(self._new) + len(self._heap)

    def _wake(self) -> None:
        with self._gate:
            if not self._is_running:
                threading.Thread(target=self._run, name="fairlock-alarms", daemon=True).start()
                self._is_running = True
            self._gate.notify()

    def _count_cancelled(self) -> None:
        with self._gate:
            self._cancelled += 1
            if self._cancelled > max(_CANCELLED_MAX, len(self._heap) // 2):
                self._heap = [item for item in self._heap if item[2].calls]
                heapq.heapify(self._heap)
                self._cancelled = 0

    def _run(self) -> None:
        while True:
            for call in self._take_due():
                call()

    def _take_due(self) -> list[Callable[[], None]]:
        """Waits for the next alarm; returns all calls that are due."""
        with self._gate:
            calls = self._pop_due()
            if not calls:
                left = min(self._wakes_at - now(), _SLEEP_SECONDS_MAX)
                self._gate.wait(max(0.0, left))
                calls = self._pop_due()
        return calls

    def _pop_due(self) -> list[Callable[[], None]]:
        # An alarm that is set from here on notifies the thread, which then waits or comes back.
        self._wakes_at = math.inf
        while self._new:
            try:
                alarm, _ = self._new.popitem()
            except KeyError:  # cancelled in between
                break
            heapq.heappush(self._heap, (alarm.due, next(self._numbers), alarm))
        calls = []
        while self._heap and (self._heap[0][0] <= now() or not self._heap[0][2].calls):
            call = heapq.heappop(self._heap)[2].take()
            if call is not None:
                calls.append(call)
        if self._heap:
            self._wakes_at = self._heap[0][0]
        return calls


alarms = Alarms()
os.register_at_fork(after_in_child=alarms.forget)
