"""Which nodes of a fleet of several partitions lead which hash slots, as the nodes say themselves.

The library has a table of its own beside that of RedisCluster, because each major version of
redis-py has different rules for when and by whom that table is read again.
"""

from __future__ import annotations

import bisect
from typing import Any, Callable, Iterable, Optional, Tuple

import redis
from redis.exceptions import MovedError

from ._failures import is_temporary
from ._terms import now

Address = Tuple[str, int]
Remap = Optional[Callable[[Address], Address]]

# Read time-outs make a client read the table at most once in this time.
_TIMEOUTS_SECONDS = 1.0


class Table:
    """Does no input or output. Threads may share it: each attribute is written as a whole."""

    def __init__(self, known: Iterable[Address], remap: Remap = None) -> None:
        """`known` are nodes that can be asked first. `remap` is RedisCluster's `address_remap`."""
        self._known = list(known)
        self._remap = remap
        # The last slot of each partition, and the addresses of its nodes, the leader first.
        self._partitions: tuple[list[int], list[list[Address]]] = ([], [])
        self._failed: Address | None = None  # a request to this node has failed
        self._read_at = now()
        #: Whether it must be read before the next request.
        self.is_outdated = True

    def nodes(self, slot: int) -> list[Address]:
        """The nodes that serve the slot, the leader first; empty if they are not known."""
        lasts, nodes = self._partitions
        number = bisect.bisect_left(lasts, slot)
        return nodes[number] if number < len(nodes) else []

    def to_ask(self, slot: int) -> list[Address]:
        """All nodes. The nodes of the slot's partition come first, because they know first who
        leads it now; the one that may be down comes last."""
        hopes = self.nodes(slot)
        return sorted(self._known, key=lambda node: (node == self._failed, node not in hopes))

    def learn(self, reply: Any, asked: Address) -> None:
        """Takes the reply to CLUSTER SLOTS of one node."""
        ranges = sorted((last, [self._address(node, asked) for node in nodes])
                        for _first, last, *nodes in reply)
        self._partitions = ([last for last, _ in ranges], [nodes for _, nodes in ranges])
        # A node that has left may come back, and may be the only one that the program has named.
        self._known = list(dict.fromkeys(
            [node for _, nodes in ranges for node in nodes] + self._known))
        self._failed, self._read_at, self.is_outdated = None, now(), not ranges

    def _address(self, node: Any, asked: Address) -> Address:
        host = node[0].decode() if isinstance(node[0], bytes) else node[0]
        # A node without a host is the one that was asked.
        return self._reached((host or asked[0], int(node[1])))

    def _reached(self, address: Address) -> Address:
        return address if self._remap is None else self._remap(address)

    def heed(self, error: redis.RedisError, asked: Address) -> bool:
        """A request to this node has failed. True if another node leads, and must be asked at
        once."""
        if isinstance(error, MovedError):
            self._move(error.slot_id, self._reached((error.host or asked[0], error.port)))
            return True
        # Read time-outs are usual while requests wait, and only sometimes the sign of a node that
        # is gone.
        is_soon = now() < self._read_at + _TIMEOUTS_SECONDS
        if is_temporary(error) and not (is_soon and isinstance(error, redis.TimeoutError)):
            self._failed, self.is_outdated = asked, True
        return False

    def _move(self, slot: int, leader: Address) -> None:
        """A partition always has one leader for all its slots."""
        lasts, nodes = self._partitions
        number = bisect.bisect_left(lasts, slot)
        if number == len(nodes):
            self.is_outdated = True
            return
        others = [node for node in nodes[number] if node != leader]
        self._partitions = (lasts, [*nodes[:number], [leader, *others], *nodes[number + 1:]])

    def unknown(self, failure: redis.RedisError | None) -> redis.RedisError:
        """What to raise if no node has answered CLUSTER SLOTS. A node that starts does not know yet
        that it belongs to a fleet of several partitions."""
        text = str(failure)
        if not self._partitions[0] and ("not enabled" in text or "support disabled" in text):
            return redis.ResponseError(
                f"a redis.Redis is needed as the client of this server: {failure}")
        if isinstance(failure, (redis.AuthenticationError,
                                redis.exceptions.NoPermissionError)):
            return failure
        return redis.ConnectionError(f"no node is known for the key: {failure}")
