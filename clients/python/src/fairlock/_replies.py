"""Parses what the server sends: the map of EXPLAIN, and messages on a NOTIFY channel."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from ._terms import shown


def _text(value: Any) -> str | None:
    """Bytes that are not UTF-8 become lone surrogates, which encode to the same bytes again."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _seconds(milliseconds: Any) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _fields(reply: Any) -> dict[str, Any]:
    """A map is a flat list in RESP 2, and a dict in RESP 3."""
    pairs = reply.items() if isinstance(reply, Mapping) else zip(reply[::2], reply[1::2])
    return {str(_text(name)): value for name, value in pairs}


@dataclass(frozen=True)
class Holder:
    """One of the owners that hold a key. Times are in seconds."""

    owner: str
    token: int
    meta: str | None
    label: str | None
    held_for: float
    #: Until its lease ends; None if it has no end.
    ttl: float | None
    #: "exclusive", "shared" or "semaphore".
    mode: str

    @staticmethod
    def parse(reply: Any) -> Holder:
        """Reads one map of the field `holders`."""
        fields = _fields(reply)
        return Holder(owner=_text(fields["owner"]) or "", token=fields["token"],
                      meta=_text(fields["meta"]), label=_text(fields["label"]),
                      held_for=fields["held_ms"] / 1000, ttl=_seconds(fields["ttl_ms"]),
                      mode=_text(fields["mode"]) or "")


@dataclass(frozen=True)
class Explanation:
    """Why a lock was granted or denied. Times are in seconds."""

    #: "granted", "already", "queued", "denied" or "timeout".
    status: str
    #: "held", "shared", "line", "reserved", "cooling", "full", "drained", "starting", or None.
    reason: str | None
    token: int | None
    #: Until the lease of this owner's hold, or the lease that ends first, is over.
    ttl: float | None
    #: The place in the queue; 1 is next. None without a place.
    position: int | None
    waiters: int
    #: The estimated time until the lock is granted.
    eta: float | None
    #: At most 16 of them.
    holders: tuple[Holder, ...]
    #: The first of several keys that could not be obtained.
    key: str | None = None

    @staticmethod
    def parse(reply: Any) -> Explanation:
        """Reads the reply to LOCK or MLOCK with EXPLAIN."""
        fields = _fields(reply)
        return Explanation(status=_text(fields["status"]) or "", reason=_text(fields["reason"]),
                           token=fields["token"], ttl=_seconds(fields["ttl_ms"]),
                           position=fields["position"], waiters=fields["waiters"],
                           eta=_seconds(fields["eta_ms"]),
                           holders=tuple(map(Holder.parse, fields["holders"])),
                           key=_text(fields.get("key")))

    def __str__(self) -> str:
        parts = [f"{shown(self.key)}: {self.status}" if self.key else self.status]
        if self.reason:
            parts.append(self.reason)
        if self.holders:
            parts.append("held by " + ", ".join(shown(holder.owner) for holder in self.holders))
        if self.position is not None:
            parts.append(f"position {self.position}")
        if self.eta is not None:
            parts.append(f"about {self.eta:.1f} s")
        return ", ".join(parts)


def token_of(owner: str | bytes, reply: Any) -> int | None:
    """The token of this owner's hold, in the reply to LOCKINFO."""
    for holder in map(_fields, _fields(reply)["holders"]):
        if holder["owner"] == same_bytes([owner])[0]:
            return holder["token"]  # type: ignore[no-any-return]
    return None


@dataclass(frozen=True)
class Message:
    """A message on a NOTIFY channel."""

    #: "granted", "timeout", "cancelled", "superseded", "lost"; or "subscribed", which the channel
    #: itself delivers when it has a connection again.
    event: str
    key: bytes = b""
    owner: bytes = b""
    token: int | None = None
    reason: str | None = None

    @staticmethod
    def parse(data: str | bytes) -> Message:
        """Reads the JSON object."""
        fields = json.loads(data)
        return Message(event=fields["event"], key=_exact(fields, "key"),
                       owner=_exact(fields, "owner"), token=fields["token"],
                       reason=fields["reason"])


def _exact(fields: Mapping[str, Any], name: str) -> bytes:
    if f"{name}_base64" in fields:
        return base64.b64decode(fields[f"{name}_base64"])
    return str(fields[name]).encode()


def same_bytes(values: Sequence[str | bytes]) -> tuple[bytes, ...]:
    """Encodes keys and owners as they are sent."""
    return tuple(value.encode() if isinstance(value, str) else value for value in values)
