"""Who listens to which messages of a channel."""

from __future__ import annotations

import logging
from typing import Callable

from ._replies import Message, same_bytes
from ._terms import Name, Terms

Listener = Callable[[Message], None]

_log = logging.getLogger("fairlock")


class Listeners:
    """One listener for each key of an owner. Each access is one step of the interpreter on one
    dictionary, so threads need no lock."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[bytes, bytes], Listener] = {}

    def add(self, terms: Terms, owner: Name, listener: Listener) -> None:
        """Replaces an earlier listener, which hears that its wait was superseded: the server sends
        no such message if both waits use this channel."""
        for name in _names(terms, owner):
            earlier = self._by_name.get(name)
            self._by_name[name] = listener
            if earlier is not None:
                earlier(Message("superseded", *name))

    def remove(self, terms: Terms, owner: Name, listener: Listener) -> None:
        """Does nothing for keys that another listener has taken over."""
        for name in _names(terms, owner):
            if self._by_name.get(name) == listener:
                self._by_name.pop(name, None)

    def __len__(self) -> int:
        return len(self._by_name)

    def deliver(self, data: str | bytes) -> None:
        """Delivers it to the listener of the key and the owner that the message names."""
        try:
            message = Message.parse(data)
        except (ValueError, KeyError, TypeError):
            _log.warning("a message on the channel is not one of fairlock's: %r", data[:100])
            return
        listener = self._by_name.get((message.key, message.owner))
        if listener is not None:
            listener(message)

    def deliver_to_all(self, message: Message) -> None:
        """Delivers it once to each listener."""
        for listener in dict.fromkeys(list(self._by_name.values())):
            listener(message)


def _names(terms: Terms, owner: Name) -> list[tuple[bytes, bytes]]:
    (owner_bytes,) = same_bytes([owner])
    return [(key, owner_bytes) for key in same_bytes(terms.keys)]
