"""A NOTIFY channel for asyncio."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any, AsyncContextManager

import redis

from .._client import AsyncClient, require_async
from .._failures import describes_errors, is_temporary, pauses
from .._listeners import Listener, Listeners
from .._replies import Message
from .._terms import Name, Terms, make_owner, now
from ..errors import FairlockError

_log = logging.getLogger("fairlock")

_SUBSCRIBE_SECONDS = 5.0


class Channel:
    """Lets any number of locks wait over one connection; their requests use one more.

    Use it as a context manager, and pass it to lock() as `channel`.
    """

    def __init__(self, client: AsyncClient) -> None:
        require_async(client)
        #: The name of the channel on the server.
        self.name = f"fairlock:{make_owner()}"
        self._process = os.getpid()
        self._gate = asyncio.Lock()
        self._listeners = Listeners()
        self._silence = client.connection_pool.connection_kwargs.get("socket_timeout")
        self._pubsub = client.pubsub()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Channel:
        await self._subscribe()
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection. Do this after the last wait."""
        if self._reader is not None and os.getpid() == self._process:
            self._reader.cancel()
            await asyncio.wait({self._reader})
            self._reader = None
            await self._pubsub.close()

    @property
    def gate(self) -> AsyncContextManager[Any]:
        """Held during each request, so that all of them use the same connection. For Port."""
        if self._reader is None or os.getpid() != self._process:
            raise FairlockError("this channel is not open in this process")
        return self._gate

    def follow(self, terms: Terms, owner: Name, listener: Listener) -> None:
        """Delivers the messages about these keys of this owner. For Lock."""
        self._listeners.add(terms, owner, listener)

    def unfollow(self, terms: Terms, owner: Name, listener: Listener) -> None:
        """The opposite of follow()."""
        self._listeners.remove(terms, owner, listener)

    async def _subscribe(self) -> None:
        """While the server cannot be reached, asks again."""
        attempts, give_up_at = pauses(), now() + _SUBSCRIBE_SECONDS
        while True:
            try:
                with describes_errors():
                    await self._pubsub.subscribe(self.name)
                if await self._pubsub.get_message(timeout=_SUBSCRIBE_SECONDS) is not None:
                    return
                raise redis.TimeoutError(f"SUBSCRIBE: no reply within {_SUBSCRIBE_SECONDS:g} s")
            except BaseException as error:
                await self._pubsub.close()
                if not is_temporary(error) or now() >= give_up_at:
                    raise
            await asyncio.sleep(next(attempts))

    async def _read(self) -> None:
        attempts = pauses()
        is_asked = False
        while True:
            try:
                with describes_errors():
                    await self._pubsub.connect()  # if it is closed; subscribes again
                message = await self._pubsub.get_message(timeout=self._silence)
                if message is not None:
                    attempts, is_asked = pauses(), False
                    self._deliver(message)
                elif self._silence is not None:
                    await self._ask_for_life(is_asked)
                    is_asked = True
            except (redis.RedisError, OSError) as error:
                is_asked = False
                _log.warning("the channel subscribes again: %s", error)
                await asyncio.sleep(next(attempts))

    async def _ask_for_life(self, is_asked: bool) -> None:
        """Nothing was received for the client's socket_timeout: the server may be gone."""
        if is_asked:
            await self._pubsub.connection.disconnect()
        else:
            await self._pubsub.ping()

    def _deliver(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            # What was published in between is lost, so all waits must ask again.
            self._listeners.deliver_to_all(Message("subscribed"))
        elif message["type"] == "message":
            self._listeners.deliver(message["data"])
