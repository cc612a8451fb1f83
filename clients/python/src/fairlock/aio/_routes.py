"""Which connections the requests about a key use: see fairlock._routes."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any, Hashable, MutableMapping, Protocol, cast

import redis
import redis.asyncio

from .._client import AsyncClient, AsyncClusterClient, AsyncSingleClient, is_asyncio, name_of
from .._failures import describes_errors, of_a_cluster
from .._pools import own_options, place_of
from .._replies import same_bytes
from .._slots import name_in_slot
from .._table import Address, Table
from .._terms import Name
from ._pools import NO_NOTICES, OwnPool, own_pool
from ._tasks import limited

_TABLE_SECONDS_MAX = 5.0


class Route(Protocol):
    """Leads from a client to the server of a key."""

    @property
    def slot(self) -> int | None:
        """The hash slot of the key; None if there is only one server."""

    @property
    def address(self) -> Address | None:
        """The address of the server, if it is known. Does no input or output."""

    @property
    def place(self) -> Hashable:
        """Equal for clients of the same locks, as far as their options show that."""

    def topic_name(self, base: str) -> str:
        """The name of a channel for the key, if `base` is the name of the channel."""

    async def find(self) -> None:
        """Makes sure that the address is known, if there are several servers."""

    async def pubsub(self) -> tuple[Any, Address | None]:
        """A connection to the server for subscriptions, and the address of the server."""

    async def connect(self) -> tuple[Any, Any]:
        """Returns a connection to the server, and the pool to which it belongs."""

    def heed(self, error: redis.RedisError) -> bool:
        """Learns from the failure of a request; True if it must be sent again at once."""


class SingleRoute:
    """There is one server, or Sentinel names it to the pool."""

    __slots__ = ("_client", "place")
    slot = None
    address = None

    def __init__(self, client: AsyncSingleClient) -> None:
        self._client = client
        self.place = place_of(client.connection_pool)

    def topic_name(self, base: str) -> str:
        """See Route."""
        return base

    async def find(self) -> None:
        """See Route."""

    async def pubsub(self) -> tuple[Any, Address | None]:
        """See Route."""
        return await own_pool(self._client.connection_pool).pubsub(), None

    async def connect(self) -> tuple[Any, Any]:
        """See Route."""
        own = own_pool(self._client.connection_pool)
        return await own.take(), own.pool

    def heed(self, _error: redis.RedisError) -> bool:
        """See Route."""
        return False


class Nodes:
    """The nodes that a redis.asyncio.RedisCluster has, and our connections to each. Belongs to one
    event loop."""

    def __init__(self, client: AsyncClusterClient) -> None:
        # Before the client's first request, it has only those that the program has named.
        nodes = client.get_nodes() or list(client.nodes_manager.startup_nodes.values())
        self.loop = asyncio.get_running_loop()
        self._client = weakref.ref(client)
        self._class, self._options = nodes[0].connection_class, own_options(
            nodes[0].connection_kwargs, None, NO_NOTICES)
        self._pools: dict[Address, OwnPool] = {}
        self.table = Table([(node.host, node.port) for node in nodes],
                           getattr(client.nodes_manager, "address_remap", None))
        self._reading = asyncio.Lock()

    def pool(self, address: Address) -> OwnPool:
        """The pool of one node."""
        pool = self._pools.get(address)
        if pool is None:
            host, port = address
            pool = OwnPool(self._class, {**self._options, "host": host, "port": port},
                           self._client())
            self._pools[address] = pool
        return pool

    async def leader(self, slot: int) -> Address:
        """Who leads the slot, as far as the nodes know. Reads the table if it is outdated."""
        if self.table.is_outdated:
            async with self._reading:
                if self.table.is_outdated:  # no other task has read it
                    await self._read(slot)
        nodes = self.table.nodes(slot)
        if not nodes:
            raise self.table.unknown(None)
        return nodes[0]

    async def _read(self, slot: int) -> None:
        failure: redis.RedisError | None = None
        for address in self.table.to_ask(slot):
            try:
                self.table.learn(await limited(_TABLE_SECONDS_MAX,
                                               _ask_for_slots(self.pool(address))), address)
                return
            except redis.RedisError as error:
                failure = failure or error
            except asyncio.TimeoutError:
                failure = failure or redis.TimeoutError(
                    f"no reply within {_TABLE_SECONDS_MAX:g} s")
        raise self.table.unknown(failure) from failure


async def _ask_for_slots(own: OwnPool) -> Any:
    connection = await own.take()
    try:
        with describes_errors():
            await connection.send_command("CLUSTER", "SLOTS")
            return await connection.read_response()
    except redis.ResponseError:
        raise
    except BaseException:
        await connection.disconnect()
        raise
    finally:
        await own.pool.release(connection)


_nodes: MutableMapping[object, Nodes] = weakref.WeakKeyDictionary()  # the nodes by client


def _nodes_of(client: AsyncClusterClient) -> Nodes:
    nodes = _nodes.get(client)
    if nodes is None or nodes.loop is not asyncio.get_running_loop():
        nodes = _nodes[client] = Nodes(client)
    return nodes


class ClusterRoute:
    """Leads to the node of a fleet that leads the partition of the key."""

    def __init__(self, client: AsyncClusterClient, key: Name) -> None:
        self._client = client
        self._key = key
        self.place = id(client)
        self.slot = client.keyslot(key)
        self._used: Address = ("", 0)  # the node of the last request

    @property
    def address(self) -> Address | None:
        """See Route."""
        nodes = _nodes_of(self._client).table.nodes(self.slot)
        return nodes[0] if nodes else ("slot", self.slot)

    def topic_name(self, base: str) -> str:
        """See Route."""
        return name_in_slot(base, same_bytes([self._key])[0], self.slot)

    async def find(self) -> None:
        """See Route."""
        await self._leader()

    async def pubsub(self) -> tuple[Any, Address | None]:
        """See Route."""
        address = await self._leader()
        return await _nodes_of(self._client).pool(address).pubsub(), address

    async def connect(self) -> tuple[Any, Any]:
        """See Route. If the node cannot be reached, tries the one that leads now: nothing has been
        sent yet."""
        leader = await self._leader()
        try:
            return await self._connect_to(leader)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self.heed(error)
            other = await self._leader()
            if other == leader:
                raise
            return await self._connect_to(other)

    async def _connect_to(self, address: Address) -> tuple[Any, Any]:
        own = _nodes_of(self._client).pool(address)
        return await own.take(), own.pool

    def heed(self, error: redis.RedisError) -> bool:
        """See Route."""
        return _nodes_of(self._client).table.heed(of_a_cluster(error), self._used)

    async def _leader(self) -> Address:
        self._used = await _nodes_of(self._client).leader(self.slot)
        return self._used


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
    """Leads to the only server, if there is only one. Raises TypeError like route_to()."""
    route = route_to(client, "")
    return route if route.slot is None else None
