"""A NOTIFY channel for threads."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any, ContextManager

import redis

from ._client import Client, require
from ._failures import is_temporary, pauses
from ._listeners import Listener, Listeners
from ._replies import Message
from ._terms import Name, Terms, make_owner, now
from .errors import FairlockError

_log = logging.getLogger("fairlock")

_SUBSCRIBE_SECONDS = 5.0


class Channel:
    """Lets any number of locks wait over one connection; their requests use one more.

    Pass it to lock() as `channel`. Threads may share it. A forked child needs its own.
    """

    def __init__(self, client: Client) -> None:
        require(client)
        #: The name of the channel on the server.
        self.name = f"fairlock:{make_owner()}"
        self._process = os.getpid()
        self._gate = threading.Lock()
        self._listeners = Listeners()
        self._stops = threading.Event()
        self._silence = client.connection_pool.connection_kwargs.get("socket_timeout")
        self._pubsub = client.pubsub()
        self._subscribe()
        self._reader = threading.Thread(target=self._read, name="fairlock-channel", daemon=True)
        self._reader.start()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Do this after the last wait."""
        self._stops.set()
        if os.getpid() != self._process:
            return
        try:
            self._pubsub.unsubscribe()  # wakes the reader
        except redis.RedisError:
            pass
        self._reader.join(_SUBSCRIBE_SECONDS)
        self._pubsub.close()

    @property
    def gate(self) -> ContextManager[Any]:
        """Held during each request, so that all of them use the same connection. For Port."""
        if os.getpid() != self._process:
            raise FairlockError("this channel was opened by the parent of this process")
        return self._gate

    def follow(self, terms: Terms, owner: Name, listener: Listener) -> None:
        """Delivers the messages about these keys of this owner. For Lock."""
        self._listeners.add(terms, owner, listener)

    def unfollow(self, terms: Terms, owner: Name, listener: Listener) -> None:
        """The opposite of follow()."""
        self._listeners.remove(terms, owner, listener)

    def _subscribe(self) -> None:
        """While the server cannot be reached, asks again."""
        attempts, give_up_at = pauses(), now() + _SUBSCRIBE_SECONDS
        while True:
            try:
                self._pubsub.subscribe(self.name)
                if self._pubsub.get_message(timeout=_SUBSCRIBE_SECONDS) is not None:
                    return
                raise redis.TimeoutError(f"SUBSCRIBE: no reply within {_SUBSCRIBE_SECONDS:g} s")
            except redis.RedisError as error:
                self._pubsub.close()
                if not is_temporary(error) or now() >= give_up_at:
                    raise
            time.sleep(next(attempts))

    def _read(self) -> None:
        attempts = pauses()
        is_asked = False
        while not self._stops.is_set():
            try:
                self._pubsub.connection.connect()  # if it is closed; subscribes again
                message = self._pubsub.get_message(timeout=self._silence)
                if message is not None:
                    attempts, is_asked = pauses(), False
                    self._deliver(message)
                elif self._silence is not None:
                    self._ask_for_life(is_asked)
                    is_asked = True
            except (redis.RedisError, OSError) as error:
                is_asked = False
                if not self._stops.is_set():
                    _log.warning("the channel subscribes again: %s", error)
                self._stops.wait(next(attempts))

    def _ask_for_life(self, is_asked: bool) -> None:
        """Nothing was received for the client's socket_timeout: the server may be gone."""
        if is_asked:
            self._pubsub.connection.disconnect()
        else:
            self._pubsub.ping()

    def _deliver(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            # What was published in between is lost, so all waits must ask again.
            self._listeners.deliver_to_all(Message("subscribed"))
        elif message["type"] == "message":
            self._listeners.deliver(message["data"])
