"""The exceptions of this library. Errors of the connection are those of redis-py."""

from __future__ import annotations

from ._replies import Explanation, Holder
from ._terms import Name, names_of, shown


class FairlockError(Exception):
    """The base class of the exceptions in this module."""


class Denied(FairlockError):
    """The lock was not granted: at once, or until the wait was over."""

    def __init__(self, explanation: Explanation, keys: tuple[Name, ...] = (),
                 wait: float | None = None) -> None:
        super().__init__(explanation, keys, wait)
        #: Who holds the lock, and how long the wait may take.
        self.explanation = explanation
        self.keys = keys
        #: How long it has lasted at most, in seconds.
        self.wait = wait

    def __str__(self) -> str:
        """For example: order:42 not granted in 10 s: held by worker-2 for 3 s; 2 waiting."""
        why = self.explanation
        parts = []
        if why.holders:
            parts.append("held by " + ", ".join(f"{shown(holder.owner)} for {_rounded(holder)} s"
                                                for holder in why.holders))
        elif why.reason:
            parts.append(why.reason)
        if why.waiters:
            parts.append(f"{why.waiters} waiting")
        if why.position is not None:
            parts.append(f"position {why.position}")
        if why.eta is not None:
            parts.append(f"about {why.eta:.1f} s")
        which = f" ({shown(why.key)})" if why.key and len(self.keys) > 1 else ""
        when = f" in {self.wait:g} s" if self.wait else ""
        return f"{names_of(self.keys)} not granted{when}: {'; '.join(parts)}{which}"


def _rounded(holder: Holder) -> str:
    return f"{holder.held_for:.0f}" if holder.held_for >= 10 else f"{holder.held_for:.1f}"


class LostHold(FairlockError):
    """The lock is not held any more, or this process can no longer be sure that it is."""


class WaitEnded(FairlockError):
    """Another request ended the wait: CANCEL, CLIENT UNBLOCK, or a newer request of this owner."""


class Deadlock(FairlockError):
    """The wait would never end. The text names the owners that wait for each other."""


class NotFairlock(FairlockError):
    """The server does not know the commands of fairlock. It may be a Redis server."""
