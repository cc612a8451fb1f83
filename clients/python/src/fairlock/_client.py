"""What this library uses of a client of redis-py."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, Union

from ._terms import Command


class SingleClient(Protocol):
    """A redis.Redis, or what Sentinel.master_for() returns."""

    connection_pool: Any


class ClusterClient(Protocol):
    """A redis.RedisCluster."""

    nodes_manager: Any

    def get_nodes(self) -> list[Any]:
        """The nodes that it knows."""

    def keyslot(self, key: Any) -> int:
        """The hash slot of a key."""

    def get_redis_connection(self, node: Any) -> Any:
        """The client of one node, with its pool."""


class AsyncSingleClient(Protocol):
    """A redis.asyncio.Redis, or what redis.asyncio.Sentinel.master_for() returns."""

    connection_pool: Any


class AsyncClusterClient(Protocol):
    """A redis.asyncio.RedisCluster."""

    nodes_manager: Any

    def get_nodes(self) -> list[Any]:
        """Those that it knows; none before its first request."""

    def keyslot(self, key: Any) -> int:
        """The hash slot of a key."""


Client = Union[SingleClient, ClusterClient]
AsyncClient = Union[AsyncSingleClient, AsyncClusterClient]


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


def is_asyncio(client: object) -> bool:
    """Whether its commands are coroutines."""
    return asyncio.iscoroutinefunction(getattr(client, "execute_command", None))


def name_of(client: object) -> str:
    """The name of its class, for errors."""
    return f"{type(client).__module__}.{type(client).__name__}"
