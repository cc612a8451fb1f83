"""One subscription connection of a channel, for threads."""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable

import redis

from ._failures import pauses
from ._replies import Message
from ._routes import Route
from ._table import Address
from ._topics import Topic

_log = logging.getLogger("fairlock")

SUBSCRIBE_SECONDS = 5.0
_LISTEN_SECONDS = 60.0  # without a time-out of the client


class Subscriber:
    """Subscribes to the topics of one partition, at the node that leads it.

    A thread reads. When it loses the connection, it subscribes to all topics at the node that leads
    then. If nothing listens to them, it ends, and the next wait starts another one.
    """

    def __init__(self, route: Route) -> None:
        self.route = route  # the route of any key of the partition
        #: By name. The channel changes it.
        self.topics: dict[str, Topic] = {}
        #: Held during each request about these topics.
        self.gate = threading.Lock()
        self._guard = threading.Lock()  # protects everything below
        self._pubsub: Any = None  # while it is connected
        self._address: Address | None = None  # the address of the node
        self._number = 0  # the number of connections until now
        self._asked: set[str] = set()  # the names that this connection has asked for
        # By name. Each is set when the subscription is confirmed, or set and removed when an
        # attempt fails.
        self._events: dict[str, threading.Event] = {}
        self._failure: Exception = redis.ConnectionError("not connected")  # the last one
        self._calls = 0  # how many calls of subscribe() wait
        self._reader: threading.Thread | None = None
        self._closing = threading.Event()

    def subscribe(self, topic: Topic, doubted: int | None) -> int:
        """Waits until the node has confirmed the subscription; returns the number of the
        connection. `doubted` is the number of a connection whose subscription the leader does not
        know. Raises the error that ends an attempt in the meantime."""
        with self._guard:
            if self._reader is None:
                self._reader = threading.Thread(target=self._run, name="fairlock-channel",
                                                daemon=True)
                self._reader.start()
            elif self._pubsub is not None:
                if doubted == self._number or self._address != topic.route.address:
                    self._leave_node()
                else:
                    self._ask_for([topic.name])
            event = self._events.setdefault(topic.name, threading.Event())
            self._calls += 1
        try:
            is_over = event.wait(SUBSCRIBE_SECONDS)
        finally:
            with self._guard:
                self._calls -= 1
        if not is_over:
            raise redis.TimeoutError(f"SUBSCRIBE: no reply within {SUBSCRIBE_SECONDS:g} s")
        with self._guard:
            if self._events.get(topic.name) is not event:
                raise self._failure
            return self._number

    def unsubscribe(self, name: str) -> None:
        """Nothing uses the topic any more."""
        with self._guard:
            if name not in self.topics and name in self._asked:
                self._asked.discard(name)
                self._events.pop(name, None)
                _send(self._pubsub.unsubscribe, name)

    def close(self) -> None:
        """Closes the connection."""
        with self._guard:
            self._closing.set()
            reader = self._reader
            if self._pubsub is not None:
                _send(self._pubsub.unsubscribe)  # wakes the reader
        if reader is not None:
            reader.join(SUBSCRIBE_SECONDS)

    def _ask_for(self, names: list[str]) -> None:
        missing = [name for name in names if name not in self._asked]
        if missing:
            self._asked.update(missing)
            _send(self._pubsub.subscribe, *missing)

    def _leave_node(self) -> None:
        """The reader then connects to the node that leads now."""
        error = redis.ConnectionError("the leader does not know the subscription")
        self.route.heed(error)
        pubsub = self._pubsub
        self._lose(error)
        _send(pubsub.ping)  # wakes the reader

    def _lose(self, failure: Exception) -> None:
        self._pubsub = None
        self._failure = failure
        self._asked = set()
        events, self._events = self._events, {}
        for event in events.values():
            event.set()

    def _run(self) -> None:
        attempts = pauses()
        while True:
            pubsub, failure = None, None
            try:
                pubsub, address = self.route.pubsub()
                self._begin(pubsub, address)
                while self._pubsub is pubsub and not self._closing.is_set():
                    self._read(pubsub)
                    attempts = pauses()
            except Exception as error:  # another thread may close the connection at any moment
                failure = error
                if isinstance(error, redis.RedisError):
                    self.route.heed(error)
            has_ended = self._ends(failure)
            if pubsub is not None:
                pubsub.close()  # nobody else uses it any more
            if has_ended:
                return
            if failure is not None:
                _log.warning("the channel subscribes again: %s", failure)
                self._closing.wait(next(attempts))

    def _begin(self, pubsub: Any, address: Address | None) -> None:
        names = list(self.topics)
        pubsub.subscribe(*names)  # connects, which may take long
        with self._guard:
            self._pubsub, self._address = pubsub, address
            self._number += 1
            self._asked = set(names)
            self._ask_for(list(self.topics))

    def _ends(self, failure: Exception | None) -> bool:
        """Whether nobody needs the thread any more."""
        with self._guard:
            if failure is not None:
                self._lose(failure)
            is_used = self._calls or any(topic.listeners for topic in list(self.topics.values()))
            if self._closing.is_set() or not is_used:
                self._pubsub = self._reader = None
            return self._reader is None

    def _read(self, pubsub: Any) -> None:
        """Handles one message. If nothing is received for the client's socket_timeout, asks for a
        sign of life: the server may be gone."""
        silence = self.route.read_timeout
        message = pubsub.get_message(timeout=silence or _LISTEN_SECONDS)
        if message is None and silence is not None:
            pubsub.ping()
            message = pubsub.get_message(timeout=silence)
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
            with self._guard:
                if topic.name in self._asked:
                    self._events.setdefault(topic.name, threading.Event()).set()
        elif message["type"] == "message":
            topic.listeners.deliver(message["data"])


def _send(command: Callable[..., Any], *names: str) -> None:
    """The reader deals with a connection that has failed."""
    try:
        command(*names)
    except (redis.RedisError, OSError):
        pass
