"""One subscription connection of a channel, for asyncio."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import redis

from .._failures import describes_errors, pauses
from .._replies import Message
from .._subscriber import SUBSCRIBE_SECONDS
from .._table import Address
from .._topics import Topic
from ._routes import Route
from ._tasks import start, within

_log = logging.getLogger("fairlock")


class Subscriber:
    """Subscribes to the topics of one partition, at the node that leads it.

    A task reads. When it loses the connection, it subscribes to all topics at the node that leads
    then. If nothing listens to them, it ends, and the next wait starts another one.
    """

    def __init__(self, route: Route) -> None:
        self.route = route  # the route of any key of the partition
        #: By name. The channel changes it.
        self.topics: dict[str, Topic] = {}
        #: Held during each request about these topics.
        self.gate = asyncio.Lock()
        self._pubsub: Any = None  # while it is connected
        self._address: Address | None = None  # the address of the node
        self._number = 0  # the number of connections until now
        self._asked: set[str] = set()  # the names that this connection has asked for
        # By name. Each is set when the subscription is confirmed, or set and removed when an
        # attempt fails.
        self._events: dict[str, asyncio.Event] = {}
        self._failure: Exception = redis.ConnectionError("not connected")  # the last one
        self._calls = 0  # how many calls of subscribe() wait
        self._reader: asyncio.Task[None] | None = None

    async def subscribe(self, topic: Topic, doubted: int | None) -> int:
        """Waits until the node has confirmed the subscription; returns the number of the
        connection. `doubted` is the number of a connection whose subscription the leader does not
        know. Raises the error that ends an attempt in the meantime."""
        if self._reader is None:
            self._reader = asyncio.create_task(self._run())
        elif self._pubsub is not None:
            if doubted == self._number or self._address != topic.route.address:
                self._leave_node()
            else:
                self._ask_for([topic.name])
        event = self._events.setdefault(topic.name, asyncio.Event())
        self._calls += 1
        try:
            if not event.is_set() and not await within(SUBSCRIBE_SECONDS, event.wait()):
                raise redis.TimeoutError(f"SUBSCRIBE: no reply within {SUBSCRIBE_SECONDS:g} s")
        finally:
            self._calls -= 1
        if self._events.get(topic.name) is not event:
            raise self._failure
        return self._number

    def unsubscribe(self, name: str) -> None:
        """Nothing uses the topic any more."""
        if name not in self.topics and name in self._asked:
            self._asked.discard(name)
            self._events.pop(name, None)
            self._send("unsubscribe", name)

    async def close(self) -> None:
        """Closes the connection."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait({self._reader})

    def _ask_for(self, names: list[str]) -> None:
        missing = [name for name in names if name not in self._asked]
        if missing:
            self._asked.update(missing)
            self._send("subscribe", *missing)

    def _leave_node(self) -> None:
        """The reader then connects to the node that leads now."""
        error = redis.ConnectionError("the leader does not know the subscription")
        self.route.heed(error)
        self._send("ping")  # wakes the reader
        self._lose(error)

    def _lose(self, failure: Exception) -> None:
        self._pubsub = None
        self._failure = failure
        self._asked = set()
        events, self._events = self._events, {}
        for event in events.values():
            event.set()

    def _send(self, command: str, *names: str) -> None:
        """Runs in a task of its own, because the caller may be cancelled. The reader deals with a
        connection that has failed."""
        pubsub = self._pubsub

        async def send() -> None:
            try:
                if pubsub.connection is not None and pubsub.connection.is_connected:
                    await getattr(pubsub, command)(*names)
            except (redis.RedisError, OSError, IndexError):
                pass

        start(send())

    async def _run(self) -> None:
        attempts = pauses()
        pubsub = None
        try:
            while True:
                failure: Exception | None = None
                try:
                    with describes_errors():
                        pubsub, address = await self.route.pubsub()
                        await self._begin(pubsub, address)
                    while self._pubsub is pubsub:
                        await self._read(pubsub)
                        attempts = pauses()
                except (redis.RedisError, OSError) as error:
                    failure = error
                    if isinstance(error, redis.RedisError):
                        self.route.heed(error)
                has_ended = self._ends(failure)
                if pubsub is not None:
                    await _close(pubsub)
                if has_ended:
                    return
                if failure is not None:
                    _log.warning("the channel subscribes again: %s", failure)
                    await asyncio.sleep(next(attempts))
        finally:
            self._reader = self._pubsub = None
            if pubsub is not None:
                await _close(pubsub)

    async def _begin(self, pubsub: Any, address: Address | None) -> None:
        names = list(self.topics)
        await pubsub.subscribe(*names)  # connects
        self._pubsub, self._address = pubsub, address
        self._number += 1
        self._asked = set(names)
        self._ask_for(list(self.topics))

    def _ends(self, failure: Exception | None) -> bool:
        """Whether nobody needs the task any more."""
        if failure is not None:
            self._lose(failure)
        if not self._calls and not any(topic.listeners for topic in self.topics.values()):
            self._pubsub = self._reader = None
        return self._reader is None

    async def _read(self, pubsub: Any) -> None:
        """Handles one message. If nothing is received for the client's socket_timeout, asks for a
        sign of life: the server may be gone."""
        silence = pubsub.connection.socket_timeout
        message = await pubsub.get_message(timeout=silence)
        if message is None and silence is not None:
            await pubsub.ping()
            message = await pubsub.get_message(timeout=silence)
            if message is None:
                raise redis.TimeoutError(f"no message and no reply within {silence:g} s")
        if message is not None:
            self._deliver(message)

    def _deliver(self, message: dict[str, Any]) -> None:
        name = message["channel"]
        topic = self.topics.get(name.decode() if isinstance(name, bytes) else name)
        if topic is None:
            return
        if message["type"] == "subscribe":
            # What was published in between is lost, so all waits must ask again.
            topic.listeners.deliver_to_all(Message("subscribed"))
            if topic.name in self._asked:
                self._events.setdefault(topic.name, asyncio.Event()).set()
        elif message["type"] == "message":
            topic.listeners.deliver(message["data"])


async def _close(pubsub: Any) -> None:
    """Before redis-py 5, the method had another name."""
    await (pubsub.aclose() if hasattr(pubsub, "aclose") else pubsub.close())
