"""The names under which a channel subscribes, and who listens to each of them.

A fleet of several partitions sends messages about a key only to a name with the key's hash slot. So
a channel has a topic for each slot that is in use, and one connection for all topics of a
partition. On a single server, it has one topic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from ._listeners import Listener, Listeners
from ._terms import Name, Terms
from .errors import WaitEnded


@dataclass(eq=False)
class Topic:
    """One name, which the server of `route` must know."""

    route: Any
    name: str
    listeners: Listeners = field(default_factory=Listeners)
    #: Has the connection for this name, once a wait has needed it.
    subscriber: Any = None


class Topics:
    """The topics of one channel. Makes no requests. Threads must hold a lock.

    1. A topic has listeners, or it is the only one of its subscriber, whose connection it keeps
       open.
    2. The topics of a subscriber belong to one partition.
    """

    def __init__(self, base: str, route_to: Callable[[Name], Any],
                 new_subscriber: Callable[[Any], Any]) -> None:
        self._base = base
        self._route_to = route_to  # a key
        self._new_subscriber = new_subscriber  # makes a subscriber for a route
        self._by_slot: dict[int | None, Topic] = {}
        self.subscribers: list[Any] = []

    def open(self, route: Any) -> None:
        """Adds the topic of a single server."""
        self._by_slot[route.slot] = Topic(route, self._base)

    def route(self, slot: int | None) -> Any:
        """The route of the topic of a slot, or None."""
        topic = self._by_slot.get(slot)
        return None if topic is None else topic.route

    def subscriber(self, slot: int | None) -> Any:
        """The subscriber of a slot, or None."""
        topic = self._by_slot.get(slot)
        return None if topic is None else topic.subscriber

    def follow(self, slot: int | None, terms: Terms, owner: Name, listener: Listener) -> None:
        """Adds a listener."""
        topic = self._by_slot.get(slot)
        if topic is None:
            route = self._route_to(terms.keys[0])
            if route.slot != slot:
                raise TypeError("a lock and its channel need clients of the same kind")
            topic = self._by_slot[slot] = Topic(route, route.topic_name(self._base))
        topic.listeners.add(terms, owner, listener)

    def unfollow(self, slot: int | None, terms: Terms, owner: Name,
                 listener: Listener) -> Topic | None:
        """Removes the listener; returns its topic if that is now over."""
        topic = self._by_slot.get(slot)
        if topic is None:
            return None
        topic.listeners.remove(terms, owner, listener)
        return self._forget_unused(topic)

    def connect(self, slot: int | None) -> tuple[Topic, Topic | None]:
        """Returns the topic of the slot, which now has a subscriber, and a topic that is now over,
        or None."""
        topic = self._by_slot.get(slot)
        if topic is None:  # its last listener has been replaced, and has left
            raise WaitEnded("superseded: another request ended this wait")
        if topic.subscriber is None:
            topic.subscriber = self._subscriber_of(topic)
            topic.subscriber.topics[topic.name] = topic
        others = [] if len(topic.subscriber.topics) != 2 else [
            other for other in topic.subscriber.topics.values() if other is not topic]
        return topic, self._forget_unused(others[0]) if others else None

    def _subscriber_of(self, topic: Topic) -> Any:
        """The subscriber for the partition with the same leader, or a new one."""
        for subscriber in self.subscribers:
            if subscriber.route.address == topic.route.address:
                return subscriber
        self.subscribers.append(self._new_subscriber(topic.route))
        return self.subscribers[-1]

    def _forget_unused(self, topic: Topic) -> Topic | None:
        subscriber = topic.subscriber
        if topic.listeners or (subscriber is not None and len(subscriber.topics) == 1):
            return None
        self._by_slot.pop(topic.route.slot, None)
        if subscriber is not None:
            subscriber.topics.pop(topic.name, None)
        return topic
