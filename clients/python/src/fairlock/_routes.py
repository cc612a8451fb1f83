"""Which connections the requests about a key use: one server's, or those of the node that leads the
key's partition."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, MutableMapping, Protocol, cast

import redis
from redis.exceptions import MovedError, RedisClusterException

from ._client import Client, ClusterClient, SingleClient, is_asyncio, name_of
from ._failures import is_temporary
from ._replies import same_bytes
from ._slots import name_in_slot
from ._terms import Name, now

# Read time-outs make a client read the table at most once in this time.
_TIMEOUTS_SECONDS = 1.0


class Route(Protocol):
    """From a client to the server of a key."""

    @property
    def slot(self) -> int | None:
        """The hash slot of the key; None if there is only one server."""

    @property
    def address(self) -> str | None:
        """Of the server, as far as this is known. Does no input or output."""

    def topic_name(self, base: str) -> str:
        """The name of a channel for the key, if `base` is the name of the channel."""

    def pubsub(self) -> tuple[Any, str | None]:
        """A connection to the server for subscriptions, and the address of the server."""

    def connect(self) -> tuple[Any, Any]:
        """Returns a connection to the server, and the pool to which it belongs."""

    def heed(self, error: redis.RedisError) -> bool:
        """Learns from the failure of a request; True if it must be sent again at once."""


class SingleRoute:
    """There is one server, or Sentinel names it to the pool."""

    __slots__ = ("_client",)
    slot = None
    address = None

    def __init__(self, client: SingleClient) -> None:
        self._client = client

    def topic_name(self, base: str) -> str:
        """See Route."""
        return base

    def pubsub(self) -> tuple[Any, str | None]:
        """See Route."""
        return self._client.pubsub(), None

    def connect(self) -> tuple[Any, Any]:
        """See Route."""
        pool = self._client.connection_pool
        return pool.get_connection("LOCK"), pool

    def heed(self, _error: redis.RedisError) -> bool:
        """See Route."""
        return False


class Table:
    """What is known about the table of slots of a cluster client."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock  # held while the table is read again
        #: Reads the table again before the next request: a request to this node has failed.
        self.failed: str | None = None
        self._read_at = now()

    def note(self, error: redis.RedisError, node: str) -> None:
        """A request to the node has failed. Read time-outs are usual while requests wait, and only
        sometimes the sign of a node that is gone."""
        is_soon = now() < self._read_at + _TIMEOUTS_SECONDS
        if is_temporary(error) and not (is_soon and isinstance(error, redis.TimeoutError)):
            self.failed = node

    def note_read(self) -> None:
        """The table has been read."""
        self.failed = None
        self._read_at = now()


_tables: MutableMapping[object, Table] = weakref.WeakKeyDictionary()  # by client


def _forget_locks() -> None:
    for table in list(_tables.values()):
        table.lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_locks)


class ClusterRoute:
    """To the node of a fleet that leads the partition of the key, according to the table of slots
    of a redis.RedisCluster. The table is read again after failures."""

    def __init__(self, client: ClusterClient, key: Name) -> None:
        self._client = client
        self._table = _tables.setdefault(client, Table(threading.Lock()))
        self._key = key
        self.slot = client.keyslot(key)
        self._used = ""  # the name of the node

    @property
    def address(self) -> str | None:
        """See Route."""
        return address_of(self._client, self.slot)

    def topic_name(self, base: str) -> str:
        """See Route."""
        return name_in_slot(base, same_bytes([self._key])[0], self.slot)

    def pubsub(self) -> tuple[Any, str | None]:
        """See Route."""
        node = self._leader()
        return self._client.get_redis_connection(node).pubsub(), node.name

    def connect(self) -> tuple[Any, Any]:
        """See Route. If the node cannot be reached, tries the one that leads now: nothing has been
        sent yet."""
        node = self._leader()
        try:
            return self._connect_to(node)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self.heed(error)
            other = self._leader()
            if other.name == node.name:
                raise
            return self._connect_to(other)

    def _connect_to(self, node: Any) -> tuple[Any, Any]:
        pool = self._client.get_redis_connection(node).connection_pool
        return pool.get_connection("LOCK"), pool

    def heed(self, error: redis.RedisError) -> bool:
        """See Route."""
        if isinstance(error, MovedError):
            if is_table_outdated(self._client):
                self._table.failed = self._used
            else:
                self._client.nodes_manager.update_moved_exception(error)
            return True
        self._table.note(error, self._used)
        return False

    def _leader(self) -> Any:
        try:
            if self._table.failed is not None:
                self._read_table()
            node = self._client.nodes_manager.get_node_from_slot(self.slot)
            self._used = node.name
            return node
        except (RedisClusterException, LookupError) as error:
            self._table.failed = ""
            raise without_table(self._client, error) from error

    def _read_table(self) -> None:
        with self._table.lock:
            failed = self._table.failed
            if failed is None:
                return  # another thread has read it
            manager = self._client.nodes_manager
            manager.startup_nodes = in_order_of_hope(manager, self.slot, failed)
            _read(manager)
            self._table.note_read()


def _read(manager: Any) -> None:
    try:
        manager.initialize()
    except IndexError:
        # redis-py 4.3 has read the table, but finds no default node once no node has the role in
        # which it was first seen.
        pass


def address_of(client: Any, slot: int) -> str:
    """The name of the node that leads the slot, according to the table; or of the slot."""
    nodes = client.nodes_manager.slots_cache.get(slot)
    return str(nodes[0].name) if nodes else f"slot {slot}"


def without_table(client: Any, error: Exception) -> redis.RedisError:
    """What to raise if redis-py could not read the table. A node that starts does not know yet that
    it belongs to a fleet of several partitions."""
    if "not enabled" in str(error) and not client.nodes_manager.slots_cache:
        return redis.ResponseError(f"a redis.Redis is needed as the client of this server: {error}")
    if "no permissions" in str(error):
        return redis.exceptions.NoPermissionError(str(error))
    return redis.ConnectionError(f"no node is known for the key: {error}")


def is_table_outdated(client: Any) -> bool:
    """Counts a redirection. Like redis-py, takes several for a sign that the whole table must be
    read again."""
    client.reinitialize_counter += 1
    steps = client.reinitialize_steps
    return bool(steps) and client.reinitialize_counter % steps == 0


def in_order_of_hope(manager: Any, slot: int, failed: str) -> dict[str, Any]:
    """The nodes that can be asked for the table. Those of the slot's partition know first who leads
    it now; the one that may be down comes last."""
    hopes = {node.name for node in manager.slots_cache.get(slot, ())}
    return dict(sorted(manager.startup_nodes.items(),
                       key=lambda item: (item[0] == failed, item[0] not in hopes)))


def route_to(client: Client, key: Name) -> Route:
    """Raises TypeError for clients of other kinds."""
    if isinstance(client, redis.Redis):  # the usual case, which must not take long
        return SingleRoute(client)
    if isinstance(client, redis.RedisCluster):
        return ClusterRoute(client, key)
    if is_asyncio(client) or not hasattr(client, "connection_pool"):
        raise TypeError(f"expected a redis.Redis or a redis.RedisCluster, got {name_of(client)}")
    return SingleRoute(cast(SingleClient, client))


def lasting_route(client: Client) -> Route | None:
    """To the only server, if there is only one. Raises TypeError like route_to()."""
    route = route_to(client, "")
    return route if route.slot is None else None
