"""A NOTIFY channel for asyncio."""

from __future__ import annotations

import asyncio
import os
from typing import Any, AsyncContextManager

from .._client import AsyncClient
from .._failures import is_temporary, pauses
from .._listeners import Listener
from .._steps import Subscription
from .._subscriber import SUBSCRIBE_SECONDS
from .._terms import Name, Terms, make_owner, now
from .._topics import Topics
from ..errors import FairlockError
from ._routes import lasting_route, route_to
from ._subscriber import Subscriber


class Channel:
    """Lets any number of locks wait over one connection; their requests use one more. In a fleet of
    several partitions, each partition with such a lock needs these two connections.

    Use it as a context manager, and pass it to lock() as `channel`.
    """

    def __init__(self, client: AsyncClient) -> None:
        #: The name of the channel on the server. In a fleet of several partitions, it subscribes to
        #: names that begin with this one.
        self.name = f"fairlock:{make_owner()}"
        self._process = os.getpid()
        self._gate = asyncio.Lock()
        self._topics = Topics(self.name, lambda key: route_to(client, key), Subscriber)
        self._route = lasting_route(client)
        self._is_open = False

    async def __aenter__(self) -> Channel:
        self._is_open = True
        if self._route is not None:
            self._topics.open(self._route)
            await self._open()
        return self

    async def _open(self) -> None:
        """While the server cannot be reached, asks again."""
        attempts, give_up_at = pauses(), now() + SUBSCRIBE_SECONDS
        while True:
            try:
                await self.subscribe(None)
                return
            except BaseException as error:
                if not is_temporary(error) or now() >= give_up_at:
                    await self.close()
                    raise
            await asyncio.sleep(next(attempts))

    async def __aexit__(self, *failure: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections. Do this after the last wait."""
        if self._is_open and os.getpid() == self._process:
            self._is_open = False
            for subscriber in self._topics.subscribers:
                await subscriber.close()

    def gate(self, slot: int | None) -> AsyncContextManager[Any]:
        """Held during each request about keys of a slot, so that those to one server use the same
        connection. For Port."""
        subscriber: Subscriber | None = self._topics.subscriber(slot)
        return self._gate if subscriber is None else subscriber.gate

    def follow(self, slot: int | None, terms: Terms, owner: Name, listener: Listener) -> None:
        """Delivers the messages about these keys of this owner. For Lock."""
        self._topics.follow(slot, terms, owner, listener)

    def unfollow(self, slot: int | None, terms: Terms, owner: Name, listener: Listener) -> None:
        """The opposite of follow()."""
        left = self._topics.unfollow(slot, terms, owner, listener)
        if left is not None and left.subscriber is not None:
            left.subscriber.unsubscribe(left.name)

    async def subscribe(self, slot: int | None, doubted: int | None = None) -> Subscription:
        """Returns once the server knows the name to which it will send the messages. `doubted` is
        the number of a subscription that the server does not know. For Port."""
        self.require_open()
        route = self._topics.route(slot)
        if route is not None:
            await route.find()
        topic, left = self._topics.connect(slot)
        number = await topic.subscriber.subscribe(topic, doubted)
        if left is not None:
            left.subscriber.unsubscribe(left.name)
        return Subscription(topic.name, number)

    def require_open(self) -> None:
        """Raises FairlockError if no wait can begin in this process. For Lock."""
        if not self._is_open or os.getpid() != self._process:
            raise FairlockError("this channel is not open in this process")
