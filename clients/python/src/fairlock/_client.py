"""What this library uses of a client of redis-py."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import redis

from ._terms import Command


class Client(Protocol):
    """A redis.Redis, or what Sentinel.master_for() returns."""

    connection_pool: Any

    def pubsub(self) -> Any:
        """A connection for subscriptions."""


class AsyncClient(Protocol):
    """A redis.asyncio.Redis, or what redis.asyncio.Sentinel.master_for() returns."""

    connection_pool: Any

    def pubsub(self) -> Any:
        """A connection for subscriptions."""

    async def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Sends a command, and returns its reply."""


def packed(command: Command, encoder: Any) -> bytes:
    """Encodes a command. redis-py encodes the same bytes, but takes several times as long."""
    parts = [b"*%d\r\n" % len(command)]
    for word in command:
        if type(word) is str:
            word = word.encode(encoder.encoding, encoder.encoding_errors)
        elif type(word) is int:
            word = b"%d" % word
        elif type(word) is not bytes:
            word = bytes(encoder.encode(word))
        parts.append(b"$%d\r\n%b\r\n" % (len(word), word))
    return b"".join(parts)


def _is_asyncio(client: object) -> bool:
    return asyncio.iscoroutinefunction(getattr(client, "execute_command", None))


def require(client: object) -> None:
    """Raises TypeError for clients of other kinds. Only those of Redis Cluster have no pool."""
    if isinstance(client, redis.Redis):
        return  # the usual case, which must not take long
    if _is_asyncio(client) or not hasattr(client, "connection_pool"):
        raise TypeError(f"expected a redis.Redis, got {_name(client)}")


def require_async(client: object) -> None:
    """The same, for asyncio."""
    if not _is_asyncio(client) or not hasattr(client, "connection_pool"):
        raise TypeError(f"expected a redis.asyncio.Redis, got {_name(client)}")


def _name(client: object) -> str:
    return f"{type(client).__module__}.{type(client).__name__}"
