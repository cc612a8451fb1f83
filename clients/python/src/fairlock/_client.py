"""What this library uses of a client of redis-py."""

from __future__ import annotations

from typing import Any, Protocol


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
