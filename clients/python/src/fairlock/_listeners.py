"""Who listens to which messages of a channel."""

from __future__ import annotations

from typing import Callable

from ._replies import Message, same_bytes
from ._terms import Name, Terms

Listener = Callable[[Message], None]


class Listeners:
    """One listener for each key of an owner. Each call is one step of the interpreter on one
    dictionary, so threads need no lock."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[bytes, bytes], Listener] = {}

    def add(self, terms: Terms, owner: Name, listener: Listener) -> None:
        """Replaces an earlier listener."""
        self._by_name.update(dict.fromkeys(_names(terms, owner), listener))

    def remove(self, terms: Terms, owner: Name) -> None:
        """Does nothing if there is none."""
        for name in _names(terms, owner):
            self._by_name.pop(name, None)

    def deliver(self, message: Message) -> None:
        """To the listener of that key and owner."""
        listener = self._by_name.get((message.key, message.owner))
        if listener is not None:
            listener(message)

    def deliver_to_all(self, message: Message) -> None:
        """Once to each listener."""
        for listener in dict.fromkeys(list(self._by_name.values())):
            listener(message)


def _names(terms: Terms, owner: Name) -> list[tuple[bytes, bytes]]:
    (owner_bytes,) = same_bytes([owner])
    return [(key, owner_bytes) for key in same_bytes(terms.keys)]
