"""The exceptions of this library. Errors of the connection are those of redis-py."""

from __future__ import annotations

from ._replies import Explanation


class FairlockError(Exception):
    """The base class of the exceptions in this module."""


class Denied(FairlockError):
    """The lock was not granted: at once, or until the wait was over."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__(str(explanation))
        #: Who holds the lock, and how long the wait may take.
        self.explanation = explanation


class LostHold(FairlockError):
    """The lock is not held any more, or this process can no longer be sure that it is."""


class WaitEnded(FairlockError):
    """Another request ended the wait: CANCEL, CLIENT UNBLOCK, or a newer request of this owner."""


class Deadlock(FairlockError):
    """The wait would never end. The text names the owners that wait for each other."""


class NotFairlock(FairlockError):
    """The server does not know the commands of fairlock. It may be a Redis server."""
