"""Connections of this library's own, made in the way of the program's client.

So waits do not use up the program's pool, and no holder has to wait for a connection to release or
renew its lock. These connections make each attempt once: redis-py's own attempts would take longer
than a wait, or even a lease. The library itself asks again, for as long as that makes sense.
"""

from __future__ import annotations

import copy
import inspect
import weakref
from typing import Any, Callable, Hashable, Mapping, MutableMapping

import redis
import redis.connection
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import SentinelConnectionPool

try:
    from redis.maint_notifications import MaintNotificationsConfig
    _NO_NOTICES = {"maint_notifications_config": MaintNotificationsConfig(enabled=False)}
except ImportError:  # before redis-py 7
    _NO_NOTICES = {}

# As many as there are waits.
CONNECTIONS_MAX = 2**31 - 1
# Applies if the client has no time-out of its own, because a server must not keep a thread for ever
# in a handshake.
_HANDSHAKE_SECONDS_MAX = 5.0
_OF_ONE_POOL = ("connection_pool", "maint_", "orig_", "oss_cluster_maint")


def no_notices(connections: Any) -> dict[str, Any]:
    """The options that turn off maintenance notifications for connections of this redis-py module.
    redis-py 7 has no such options for asyncio."""
    base = getattr(connections, "AbstractConnection", None)
    known: Mapping[str, Any] = {} if base is None else inspect.signature(base.__init__).parameters
    return {name: value for name, value in _NO_NOTICES.items() if name in known}


_NO_NOTICES_HERE = no_notices(redis.connection)


def own_options(options: Mapping[str, Any], retry: Any,
                notices: Mapping[str, Any] = _NO_NOTICES_HERE) -> dict[str, Any]:
    """The options of connections like these, which try once. `notices`: see no_notices()."""
    kept = {name: value for name, value in options.items() if not name.startswith(_OF_ONE_POOL)}
    kept["redis_connect_func"] = _weak(options.get("redis_connect_func"))
    return {**kept, **notices, "retry": retry, "retry_on_timeout": False, "retry_on_error": []}


def _weak(on_connect: Any) -> Any:
    """A RedisCluster sets up its connections by a method, which must not keep it alive."""
    if not inspect.ismethod(on_connect):
        return on_connect
    method = weakref.WeakMethod(on_connect)

    def call(connection: Any) -> Any:
        function = method()
        if function is None:
            raise redis.ConnectionError("the client of this connection is gone")
        return function(connection)

    async def call_async(connection: Any) -> None:
        await call(connection)

    return call_async if inspect.iscoroutinefunction(on_connect) else call


def words_of(get_connection: Callable[..., Any]) -> tuple[str, ...]:
    """The arguments of this method of a pool: before redis-py 5.3, the name of a command; since
    then, such a name is deprecated."""
    name = inspect.signature(get_connection).parameters.get("command_name")
    return ("LOCK",) if name is not None and name.default is inspect.Parameter.empty else ()


def place_of(pool: Any) -> Hashable:
    """Distinguishes the keys of this client from those of clients of other servers."""
    if isinstance(pool, SentinelConnectionPool):
        return (pool.service_name, pool.connection_kwargs.get("db") or 0)
    options = pool.connection_kwargs
    return (options.get("host"), options.get("port"), options.get("path"), options.get("db") or 0)


class OwnPool:
    """Connections to one server, or to the one that Sentinel names. Threads may share it."""

    def __init__(self, connection_class: Any, options: Mapping[str, Any], like: Any = None) -> None:
        """`like` is the pool of the client, if it has one."""
        mine = own_options(options, Retry(NoBackoff(), 0))
        is_sentinel = isinstance(like, SentinelConnectionPool)
        probe = connection_class(**mine, **({"connection_pool": None} if is_sentinel else {}))
        #: How long the client waits for a reply, in seconds; None means without end.
        self.read_timeout: float | None = probe.socket_timeout
        mine["socket_timeout"] = probe.socket_timeout or _HANDSHAKE_SECONDS_MAX
        if hasattr(probe, "socket_connect_timeout"):  # a Unix socket has none in redis-py 4.3
            mine["socket_connect_timeout"] = probe.socket_connect_timeout or _HANDSHAKE_SECONDS_MAX
        mine.update(connection_class=connection_class, max_connections=CONNECTIONS_MAX)
        if is_sentinel:
            self.pool: Any = SentinelConnectionPool(
                like.service_name, _own_sentinels(like.sentinel_manager),
                is_master=like.is_master, check_connection=like.check_connection, **mine)
        else:
            self.pool = redis.ConnectionPool(**mine)
        self._words = words_of(self.pool.get_connection)

    def take(self) -> Any:
        """Returns a connection, which is open, until it is given back to the pool."""
        return self.pool.get_connection(*self._words)


def _own_sentinels(manager: Any) -> Any:
    """The same Sentinels, each of which is asked once."""
    mine = copy.copy(manager)
    mine.sentinels = [redis.Redis(connection_pool=own_pool(sentinel.connection_pool).pool)
                      for sentinel in manager.sentinels]
    return mine


_pools: MutableMapping[Any, OwnPool] = weakref.WeakKeyDictionary()  # our pools, by those of clients


def own_pool(of_client: Any) -> OwnPool:
    """Our pool beside that of a client. It lives as long as that one."""
    mine = _pools.get(of_client)
    if mine is None:
        mine = _pools.setdefault(of_client, OwnPool(of_client.connection_class,
                                                    of_client.connection_kwargs, of_client))
    return mine
