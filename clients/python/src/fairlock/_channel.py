"""A NOTIFY channel for threads."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, ContextManager

from ._client import Client
from ._failures import is_temporary, pauses
from ._listeners import Listener
from ._routes import lasting_route, route_to
from ._steps import Subscription
from ._subscriber import SUBSCRIBE_SECONDS, Subscriber
from ._terms import Name, Terms, make_owner, now
from ._topics import Topics
from .errors import FairlockError


class Channel:
    """Lets any number of locks wait over one connection; their requests use one more. In a fleet of
    several partitions, each partition with such a lock needs these two connections.

    Pass it to lock() as `channel`. Threads may share it. A forked child needs its own.
    """

    def __init__(self, client: Client) -> None:
        #: The name of the channel on the server. In a fleet of several partitions, it subscribes to
        #: names that begin with this one.
        self.name = f"fairlock:{make_owner()}"
        self._process = os.getpid()
        self._gate = threading.Lock()
        self._guard = threading.Lock()  # protects the topics
        self._topics = Topics(self.name, lambda key: route_to(client, key), Subscriber)
        route = lasting_route(client)
        if route is not None:
            self._topics.open(route)
            self._open()

    def _open(self) -> None:
        """While the server cannot be reached, asks again."""
        attempts, give_up_at = pauses(), now() + SUBSCRIBE_SECONDS
        while True:
            try:
                self.subscribe(None)
                return
            except BaseException as error:
                if not is_temporary(error) or now() >= give_up_at:
                    self.close()
                    raise
            time.sleep(next(attempts))

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Do this after the last wait."""
        if os.getpid() == self._process:
            for subscriber in self._topics.subscribers:
                subscriber.close()

    def gate(self, slot: int | None) -> ContextManager[Any]:
        """Held during each request about keys of a slot, so that those to one server use the same
        connection. For Port."""
        subscriber: Subscriber | None = self._topics.subscriber(slot)
        return self._gate if subscriber is None else subscriber.gate

    def follow(self, slot: int | None, terms: Terms, owner: Name, listener: Listener) -> None:
        """Delivers the messages about these keys of this owner. For Lock."""
        with self._guard:
            self._topics.follow(slot, terms, owner, listener)

    def unfollow(self, slot: int | None, terms: Terms, owner: Name, listener: Listener) -> None:
        """The opposite of follow()."""
        if os.getpid() != self._process:
            return
        with self._guard:
            left = self._topics.unfollow(slot, terms, owner, listener)
        if left is not None and left.subscriber is not None:
            left.subscriber.unsubscribe(left.name)

    def subscribe(self, slot: int | None, doubted: int | None = None) -> Subscription:
        """Returns once the server knows the name to which it will send the messages. `doubted` is
        the number of a subscription that the server does not know. For Port."""
        self.require_open()
        route = self._topics.route(slot)
        if route is not None:
            route.find()
        with self._guard:
            topic, left = self._topics.connect(slot)
        number = topic.subscriber.subscribe(topic, doubted)
        if left is not None:
            left.subscriber.unsubscribe(left.name)
        return Subscription(topic.name, number)

    def require_open(self) -> None:
        """Raises FairlockError if no wait can begin in this process. For Lock."""
        if os.getpid() != self._process:
            raise FairlockError("this channel was opened by the parent of this process")
