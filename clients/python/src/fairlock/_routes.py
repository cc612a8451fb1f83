"""Which connections the requests about a key use: one server's, or those of the node that leads the
key's partition."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Hashable, MutableMapping, Protocol, cast

import redis
from redis.client import PubSub

from ._client import Client, ClusterClient, SingleClient, is_asyncio, name_of
from ._failures import of_a_cluster
from ._pools import OwnPool, own_options, own_pool, place_of
from ._replies import same_bytes
from ._slots import name_in_slot
from ._table import Address, Table
from ._terms import Name

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

    @property
    def read_timeout(self) -> float | None:
        """How long the client waits for a reply, in seconds; None means without end."""

    def topic_name(self, base: str) -> str:
        """The name of a channel for the key, if `base` is the name of the channel."""

    def find(self) -> None:
        """Makes sure that the address is known, if there are several servers."""

    def pubsub(self) -> tuple[Any, Address | None]:
        """A connection to the server for subscriptions, and the address of the server."""

    def connect(self) -> tuple[Any, Any]:
        """Returns a connection to the server, and the pool to which it belongs."""

    def heed(self, error: redis.RedisError) -> bool:
        """Learns from the failure of a request; True if it must be sent again at once."""


class SingleRoute:
    """There is one server, or Sentinel names it to the pool."""

    __slots__ = ("_client", "_own", "place", "read_timeout")
    slot = None
    address = None

    def __init__(self, client: SingleClient) -> None:
        self._client = client  # our pool lives as long as its own
        self._own = own_pool(client.connection_pool)
        self.place = place_of(client.connection_pool)
        self.read_timeout = self._own.read_timeout

    def topic_name(self, base: str) -> str:
        """See Route."""
        return base

    def find(self) -> None:
        """See Route."""

    def pubsub(self) -> tuple[Any, Address | None]:
        """See Route."""
        return PubSub(self._own.pool), None

    def connect(self) -> tuple[Any, Any]:
        """See Route."""
        return self._own.take(), self._own.pool

    def heed(self, _error: redis.RedisError) -> bool:
        """See Route."""
        return False


class Nodes:
    """The nodes that a redis.RedisCluster has, and our connections to each."""

    def __init__(self, client: ClusterClient) -> None:
        nodes = client.get_nodes()
        like = client.get_redis_connection(nodes[0]).connection_pool
        self._class = like.connection_class
        self._options = own_options(like.connection_kwargs, None)
        self._pools: dict[Address, OwnPool] = {}
        self.read_timeout = self.pool((nodes[0].host, nodes[0].port)).read_timeout
        self.table = Table([(node.host, node.port) for node in nodes],
                           getattr(client.nodes_manager, "address_remap", None))
        self.forget_lock()

    def forget_lock(self) -> None:
        """A forked child calls this, because another thread may have held the lock."""
        self._reading = threading.Lock()

    def pool(self, address: Address) -> OwnPool:
        """The pool of one node."""
        pool = self._pools.get(address)
        if pool is None:
            host, port = address
            options = {**self._options, "host": host, "port": port}
            pool = self._pools.setdefault(address, OwnPool(self._class, options))
        return pool

    def leader(self, slot: int) -> Address:
        """Who leads the slot, as far as the nodes know. Reads the table if it is outdated."""
        if self.table.is_outdated:
            with self._reading:
                if self.table.is_outdated:  # no other thread has read it
                    self._read(slot)
        nodes = self.table.nodes(slot)
        if not nodes:
            raise self.table.unknown(None)
        return nodes[0]

    def _read(self, slot: int) -> None:
        failure: redis.RedisError | None = None
        for address in self.table.to_ask(slot):
            try:
                self.table.learn(self._ask_for_slots(self.pool(address)), address)
                return
            except redis.RedisError as error:
                failure = failure or error
        raise self.table.unknown(failure) from failure

    def _ask_for_slots(self, own: OwnPool) -> Any:
        connection = own.take()
        try:
            connection.send_command("CLUSTER", "SLOTS")
            if not connection.can_read(_TABLE_SECONDS_MAX):
                raise redis.TimeoutError(f"no reply within {_TABLE_SECONDS_MAX:g} s")
            return connection.read_response()
        except redis.ResponseError:
            raise
        except BaseException:
            connection.disconnect()
            raise
        finally:
            own.pool.release(connection)


_nodes: MutableMapping[object, Nodes] = weakref.WeakKeyDictionary()  # the nodes by client


def _forget_locks() -> None:
    for nodes in list(_nodes.values()):
        nodes.forget_lock()


os.register_at_fork(after_in_child=_forget_locks)


class ClusterRoute:
    """Leads to the node of a fleet that leads the partition of the key."""

    def __init__(self, client: ClusterClient, key: Name) -> None:
        self._nodes = _nodes.get(client) or _nodes.setdefault(client, Nodes(client))
        self._key = key
        self._client = client  # our connections to its nodes live as long
        self.place = id(client)
        self.read_timeout = self._nodes.read_timeout
        self.slot = client.keyslot(key)
        self._used: Address = ("", 0)  # the node of the last request

    @property
    def address(self) -> Address | None:
        """See Route."""
        nodes = self._nodes.table.nodes(self.slot)
        return nodes[0] if nodes else ("slot", self.slot)

    def topic_name(self, base: str) -> str:
        """See Route."""
        return name_in_slot(base, same_bytes([self._key])[0], self.slot)

    def find(self) -> None:
        """See Route."""
        self._leader()

    def pubsub(self) -> tuple[Any, Address | None]:
        """See Route."""
        address = self._leader()
        return PubSub(self._nodes.pool(address).pool), address

    def connect(self) -> tuple[Any, Any]:
        """See Route. If the node cannot be reached, tries the one that leads now: nothing has been
        sent yet."""
        leader = self._leader()
        try:
            return self._connect_to(leader)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self.heed(error)
            other = self._leader()
            if other == leader:
                raise
            return self._connect_to(other)

    def _connect_to(self, address: Address) -> tuple[Any, Any]:
        own = self._nodes.pool(address)
        return own.take(), own.pool

    def heed(self, error: redis.RedisError) -> bool:
        """See Route."""
        return self._nodes.table.heed(of_a_cluster(error), self._used)

    def _leader(self) -> Address:
        self._used = self._nodes.leader(self.slot)
        return self._used


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
    """Leads to the only server, if there is only one. Raises TypeError like route_to()."""
    route = route_to(client, "")
    return route if route.slot is None else None
