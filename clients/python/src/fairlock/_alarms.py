"""Calls functions at given times, from one thread for all holds of the process.

Most holds are released long before their renewal, and a thread for each of them would cost more
than the lock itself.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from dataclasses import dataclass, field
from typing import Callable

from ._terms import now

_CANCELLED_MAX = 64
_SLEEP_SECONDS_MAX = 60.0  # a longer one could overflow


@dataclass(order=True)
class Alarm:
    """A call that is due at a time, and has not been made or cancelled while `call` is set."""

    due: float
    number: int
    call: Callable[[], None] | None = field(compare=False)


class Alarms:
    """Threads may share it. A forked child starts with none."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.forget()

    def forget(self) -> None:
        """In a forked child: another thread may have held the gate."""
        self._gate = threading.Condition()
        self._heap: list[Alarm] = []
        self._cancelled = 0
        self._is_running = False

    def at(self, due: float, call: Callable[[], None]) -> Alarm:
        """Makes the call at this time, in the thread of all alarms: it must not take long."""
        alarm = Alarm(due, next(self._numbers), call)
        with self._gate:
            if not self._is_running:
                threading.Thread(target=self._run, name="fairlock-alarms", daemon=True).start()
                self._is_running = True
            heapq.heappush(self._heap, alarm)
            if self._heap[0] is alarm:
                self._gate.notify()
        return alarm

    def cancel(self, alarm: Alarm) -> bool:
        """False if the call has been made, or was cancelled before."""
        with self._gate:
            if alarm.call is None:
                return False
            alarm.call = None
            self._cancelled += 1
            if self._cancelled > max(_CANCELLED_MAX, len(self._heap) // 2):
                self._heap = [other for other in self._heap if other.call is not None]
                heapq.heapify(self._heap)
                self._cancelled = 0
            return True

    def _run(self) -> None:
        while True:
            for call in self._take_due():
                call()

    def _take_due(self) -> list[Callable[[], None]]:
        """Waits for the next alarm; returns all calls that are due."""
        calls = []
        with self._gate:
            if not self._heap:
                self._gate.wait()
            elif (left := self._heap[0].due - now()) > 0:
                self._gate.wait(min(left, _SLEEP_SECONDS_MAX))
            while self._heap and self._heap[0].due <= now():
                alarm = heapq.heappop(self._heap)
                if alarm.call is None:
                    self._cancelled -= 1
                else:
                    calls.append(alarm.call)
                    alarm.call = None
        return calls


alarms = Alarms()
os.register_at_fork(after_in_child=alarms.forget)
