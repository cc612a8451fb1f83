"""Connections of this library's own for asyncio: see fairlock._pools."""

from __future__ import annotations

import asyncio
import copy
import weakref
from typing import Any, AsyncIterator, MutableMapping

import redis.asyncio
import redis.asyncio.connection
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.backoff import NoBackoff

from .._pools import CONNECTIONS_MAX, no_notices, own_options, words_of

NO_NOTICES = no_notices(redis.asyncio.connection)


class _AtTheEnd:
    """Closes the connections of an event loop when the loop shuts down, because it then ends the
    asynchronous generators that have begun. The connections of a client that is gone are closed
    when the next client comes, because a task that did so might be destroyed with the loop."""

    def __init__(self) -> None:
        self._pools: set[Any] = set()
        self._generator = self._close_all(asyncio.get_running_loop())
        #: Pools of clients that are gone.
        self.unused: list[Any] = []
        self.has_begun = False

    def add(self, pool: Any, client: object) -> None:
        """The pool is not used any more once the client is gone."""
        self._pools.add(pool)
        weakref.finalize(client, self.unused.append, pool).atexit = False

    async def begin(self) -> None:
        """Must be called before a connection is opened, unless it was called before and no pool is
        unused."""
        if not self.has_begun:
            self.has_begun = True
            await self._generator.__anext__()
        while self.unused:
            pool = self.unused.pop()
            self._pools.discard(pool)
            await pool.disconnect()

    async def _close_all(self, loop: asyncio.AbstractEventLoop) -> AsyncIterator[None]:
        try:
            yield
        finally:
            _ends.pop(loop, None)
            for pool in self._pools:
                await pool.disconnect()


_ends: MutableMapping[asyncio.AbstractEventLoop, _AtTheEnd] = weakref.WeakKeyDictionary()


class OwnPool:
    """Connections to one server, or to the one that Sentinel names. Belongs to one event loop."""

    def __init__(self, connection_class: Any, options: dict[str, Any], client: object,
                 like: Any = None) -> None:
        """Nothing uses the pool once `client` is gone. `like` is the client's pool, if it has
        one."""
        self.loop = asyncio.get_running_loop()
        options = {**own_options(options, Retry(NoBackoff(), 0), NO_NOTICES),
                   "connection_class": connection_class, "max_connections": CONNECTIONS_MAX}
        if isinstance(like, SentinelConnectionPool):
            self.pool: Any = SentinelConnectionPool(
                like.service_name, _own_sentinels(like.sentinel_manager),
                is_master=like.is_master, check_connection=like.check_connection, **options)
        else:
            self.pool = redis.asyncio.ConnectionPool(**options)
        self._words = words_of(self.pool.get_connection)
        self._end = _ends.get(self.loop) or _ends.setdefault(self.loop, _AtTheEnd())
        self._end.add(self.pool, client)

    async def take(self) -> Any:
        """Returns a connection, which is open, until it is given back to the pool."""
        if self._end.unused or not self._end.has_begun:
            await self._end.begin()
        return await self.pool.get_connection(*self._words)

    async def pubsub(self) -> PubSub:
        """A connection for subscriptions."""
        await self._end.begin()
        return PubSub(self.pool)


def _own_sentinels(manager: Any) -> Any:
    mine = copy.copy(manager)
    mine.sentinels = [
        redis.asyncio.Redis(connection_pool=own_pool(sentinel.connection_pool).pool)
        for sentinel in manager.sentinels]
    return mine


_pools: MutableMapping[Any, OwnPool] = weakref.WeakKeyDictionary()  # our pools, by those of clients


def own_pool(of_client: Any) -> OwnPool:
    """Our pool beside that of a client, in this event loop. It lives as long as that one."""
    mine = _pools.get(of_client)
    if mine is None or mine.loop is not asyncio.get_running_loop():
        mine = OwnPool(of_client.connection_class, of_client.connection_kwargs, of_client,
                       of_client)
        _pools[of_client] = mine
    return mine
