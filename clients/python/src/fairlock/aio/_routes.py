"""Which connections the requests about a key use: see fairlock._routes."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any, MutableMapping, Protocol, cast

import redis
import redis.asyncio
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import PRIMARY, ClusterNode, NodesManager
from redis.exceptions import MovedError, RedisClusterException

from .._client import AsyncClient, AsyncClusterClient, AsyncSingleClient, is_asyncio, name_of
from .._replies import same_bytes
from .._routes import Table, address_of, in_order_of_hope, is_table_outdated, without_table
from .._slots import name_in_slot
from .._terms import Name


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

    async def pubsub(self) -> tuple[Any, str | None]:
        """A connection to the server for subscriptions, and the address of the server."""

    @property
    def lone_client(self) -> Any:
        """A client with a single connection, which has none in its pool; otherwise None."""

    async def connect(self) -> tuple[Any, Any]:
        """Returns a connection to the server, and the pool to which it belongs."""

    def heed(self, error: redis.RedisError) -> bool:
        """Learns from the failure of a request; True if it must be sent again at once."""


class SingleRoute:
    """There is one server, or Sentinel names it to the pool."""

    __slots__ = ("_client", "lone_client")
    slot = None
    address = None

    def __init__(self, client: AsyncSingleClient) -> None:
        self._client = client
        has_one = getattr(client, "single_connection_client", False)
        self.lone_client = client if has_one else None

    def topic_name(self, base: str) -> str:
        """See Route."""
        return base

    async def pubsub(self) -> tuple[Any, str | None]:
        """See Route."""
        return self._client.pubsub(), None

    async def connect(self) -> tuple[Any, Any]:
        """See Route."""
        pool = self._client.connection_pool
        return await pool.get_connection("LOCK"), pool

    def heed(self, _error: redis.RedisError) -> bool:
        """See Route."""
        return False


class NodePool:
    """The connections of one node, in the form of a redis.asyncio.ConnectionPool."""

    __slots__ = ("_node", "name")

    def __init__(self, node: ClusterNode) -> None:
        self._node = node
        self.name = node.name

    async def get_connection(self, _name: str, *_hint: object) -> Any:
        """An open one. The server may have closed it while it was idle."""
        connection = self._node.acquire_connection()
        try:
            await connection.connect()
            try:
                is_ready = not await connection.can_read()
            except redis.ConnectionError:
                is_ready = False
            if not is_ready:
                await connection.disconnect()
                await connection.connect()
        except BaseException:
            await self.release(connection)
            raise
        return connection

    async def release(self, connection: Any) -> None:
        """Gives it back."""
        self._node._free.append(connection)


_tables: MutableMapping[object, Table] = weakref.WeakKeyDictionary()  # by client


class ClusterRoute:
    """To the node of a fleet that leads the partition of the key, according to the table of slots
    of a redis.asyncio.RedisCluster. The table is read again after failures."""

    lone_client = None

    def __init__(self, client: AsyncClusterClient, key: Name) -> None:
        self._client = client
        self._table = _tables.setdefault(client, Table(asyncio.Lock()))
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

    async def pubsub(self) -> tuple[Any, str | None]:
        """See Route. redis-py 4.3 has no PubSub for clusters in asyncio."""
        node = await self._leader()
        return PubSub(NodePool(node), encoder=self._client.get_encoder()), node.name

    async def connect(self) -> tuple[Any, Any]:
        """See Route. If the node cannot be reached, tries the one that leads now: nothing has been
        sent yet."""
        pool = NodePool(await self._leader())
        try:
            return await pool.get_connection("LOCK"), pool
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self.heed(error)
            other = NodePool(await self._leader())
            if other.name == pool.name:
                raise
            return await other.get_connection("LOCK"), other

    def heed(self, error: redis.RedisError) -> bool:
        """See Route."""
        if isinstance(error, MovedError):
            if is_table_outdated(self._client):
                self._table.failed = self._used
            else:
                self._client.nodes_manager._moved_exception = error
            return True
        self._table.note(error, self._used)
        return False

    async def _leader(self) -> Any:
        try:
            await self._client.initialize()
            if self._table.failed is not None:
                await self._read_table()
            node = self._client.nodes_manager.get_node_from_slot(self.slot)
            self._used = node.name
            return node
        except (RedisClusterException, LookupError) as error:
            self._table.failed = ""
            raise without_table(self._client, error) from error

    async def _read_table(self) -> None:
        async with self._table.lock:
            failed = self._table.failed
            if failed is not None:  # no other task has read it
                manager = self._client.nodes_manager
                await _replace_table(manager, in_order_of_hope(manager, self.slot, failed))
                self._table.note_read()


async def _replace_table(manager: Any, known: dict[str, Any]) -> None:
    """Reads the table again. redis-py 4.3 would close all connections of the client, including
    those on which requests wait. So the new table is read by another manager, and keeps the nodes
    that the client knows already."""
    options = manager.connection_kwargs
    fresh = NodesManager([ClusterNode(node.host, node.port, **options) for node in known.values()],
                         manager.require_full_coverage, **options)
    try:
        await fresh.initialize()
    except BaseException:
        await fresh.close("startup_nodes")
        raise
    nodes = {name: manager.nodes_cache.get(name, node)
             for name, node in fresh.nodes_cache.items()}
    for name, node in nodes.items():
        node.server_type = fresh.nodes_cache[name].server_type
    manager.slots_cache = {slot: [nodes[node.name] for node in serving]
                           for slot, serving in fresh.slots_cache.items()}
    manager._moved_exception = None
    manager.set_nodes(manager.nodes_cache, nodes, remove_old=True)
    manager.set_nodes(manager.startup_nodes, nodes, remove_old=True)
    manager.default_node = manager.get_nodes_by_server_type(PRIMARY)[0]


def route_to(client: AsyncClient, key: Name) -> Route:
    """Raises TypeError for clients of other kinds."""
    if isinstance(client, redis.asyncio.Redis):
        return SingleRoute(client)
    if isinstance(client, redis.asyncio.RedisCluster):
        return ClusterRoute(client, key)
    if not is_asyncio(client) or not hasattr(client, "connection_pool"):
        raise TypeError("expected a redis.asyncio.Redis or a redis.asyncio.RedisCluster, got "
                        + name_of(client))
    return SingleRoute(cast(AsyncSingleClient, client))


def lasting_route(client: AsyncClient) -> Route | None:
    """To the only server, if there is only one. Raises TypeError like route_to()."""
    route = route_to(client, "")
    return route if route.slot is None else None
