"""What a lock is asked for, and the commands that ask for it."""

from __future__ import annotations

import math
import numbers
import os
import socket
import time
from dataclasses import dataclass
from typing import Tuple, Union, cast

Name = Union[str, bytes]
DURATION_SECONDS_MAX = 365 * 24 * 3600
Command = Tuple[Union[str, bytes, int], ...]

# Unlike CLOCK_MONOTONIC, this clock also runs while the machine sleeps, as the server's clock does.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """The monotonic time in seconds."""
    return time.clock_gettime(_CLOCK)


class _Process:
    """The first part of all owners that this process makes."""

    def __init__(self) -> None:
        self.name = ""
        self.forget()

    def forget(self) -> None:
        """Called in a forked child."""
        self.name = f"{socket.gethostname()}:{os.getpid()}:"


_process = _Process()
os.register_at_fork(after_in_child=_process.forget)


def make_owner() -> str:
    """A name for one execution: the host, the process and a random part."""
    return _process.name + os.urandom(8).hex()


def shown(name: Name) -> str:
    """A name for people, in which bytes that are not text or not printable become escapes."""
    text = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    # A byte that is no text, as surrogateescape represents it.
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xdc00:02x}"
    return character.encode("unicode_escape").decode()


def names_of(keys: tuple[Name, ...]) -> str:
    """Keys for people."""
    return ", ".join(map(shown, keys))


def check_duration(name: str, seconds: object, may_be_zero: bool = True) -> None:
    """Raises ValueError unless it is a number of seconds that the server accepts."""
    if isinstance(seconds, numbers.Real) and not isinstance(seconds, bool):
        number = cast(float, seconds)
        if (number >= 0 if may_be_zero else number > 0) and number <= DURATION_SECONDS_MAX:
            return
    least = "from 0" if may_be_zero else "greater than 0 and up"
    raise ValueError(f"{name} must be a number of seconds, {least} to {DURATION_SECONDS_MAX}, "
                     f"got {seconds!r}")


def _milliseconds(seconds: float) -> int:
    return max(1, math.ceil(seconds * 1000))


def _duration(seconds: float) -> str:
    return f"{_milliseconds(seconds)}ms"


@dataclass(slots=True)
class Terms:
    """The options of a lock. Times are in seconds."""

    keys: tuple[Name, ...]
    lease: float
    limit: int | None = None
    shared: bool = False
    keep: float | None = None
    min_hold: float | None = None
    max_waiters: int | None = None
    meta: Name | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        if not self.keys:
            raise ValueError("a lock needs at least one key")
        check_duration("lease", self.lease, may_be_zero=False)
        for name, seconds in (("keep", self.keep), ("min_hold", self.min_hold)):
            if seconds is not None:
                check_duration(name, seconds)
        if self.shared and self.limit is not None:
            raise ValueError("a lock is either shared or has a limit, got both")

    def _about_keys(self, command: str) -> Command:
        if len(self.keys) == 1:
            return (command, self.keys[0])
        return (f"M{command}", len(self.keys), *self.keys)

    def lock(self, owner: Name, wait: float | None, channel: str | None = None,
             explains: bool = True) -> Command:
        """LOCK or MLOCK. A wait of None has no end. The reply is a map, or a token or nil."""
        words: list[str | bytes | int] = ["PX", _milliseconds(self.lease)]
        if explains:
            words.append("EXPLAIN")
        if wait is None:
            words += ["WAIT", "FOREVER"]
        elif wait > 0:
            words += ["WAIT", _duration(wait)]
        if channel is not None:
            words += ["NOTIFY", channel]
        if self.shared:
            words.append("SHARED")
        for word, number in (("LIMIT", self.limit), ("MAXWAITERS", self.max_waiters)):
            if number is not None:
                words += [word, number]
        for word, seconds in (("KEEP", self.keep), ("MINHOLD", self.min_hold)):
            if seconds is not None:
                words += [word, _duration(seconds)]
        if self.meta is not None:
            words += ["META", self.meta]
        if self.label is not None:
            words += ["LABEL", self.label]
        return (*self._about_keys("LOCK"), owner, *words)

    def renew(self, owner: Name, token: int, lease: float) -> Command:
        """RENEW or MRENEW; the reply is 1 if all keys are held. With GT, it never shortens a
        lease, even if it arrives after a newer one."""
        return (*self._about_keys("RENEW"), owner, "PX", _milliseconds(lease), "TOKEN", token,
                "GT")

    def unlock(self, owner: Name, token: int | None = None) -> Command:
        """UNLOCK or MUNLOCK. Without a token, it also gives up the owner's place in the queue."""
        command = (*self._about_keys("UNLOCK"), owner)
        return command if token is None else (*command, "TOKEN", token)

    def transfer(self, owner: Name, token: int, new_owner: Name, lease: float) -> Command:
        """TRANSFER; the reply is the new token, or nil."""
        return ("TRANSFER", self.keys[0], owner, new_owner, "PX", _milliseconds(lease),
                "TOKEN", token)
