"""Performs the steps of a flow on a client of redis-py."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

import redis

from ._channel import Channel
from ._client import packed
from ._failures import of_a_cluster, of_a_single_server
from ._replies import Message
from ._routes import Route
from ._steps import (Answer, Ask, Flow, Listen, Outstanding, Result, Step, Subscribe,
                     Subscription)
from ._terms import now

Mailbox = queue.SimpleQueue  # a queue of Messages
REDIRECTIONS_MAX = 5


class Port:
    """Belongs to one acquisition or hold, and to one thread at a time."""

    def __init__(self, route: Route, channel: Channel | None = None,
                 mailbox: Mailbox[Message] | None = None,
                 wake: threading.Event | None = None, acquires: bool = False) -> None:
        self._route = route
        self._channel = channel
        self._mailbox = mailbox
        self._wake = wake
        self._acquires = acquires
        self._redirections = 0
        #: Whether a request may have reached the server.
        self.has_sent = False
        self._is_asking = False  # a request is sent, and its reply has not begun
        self._is_unknown = False  # a request was interrupted, and its reply cannot be read
        # The connection whose reply nobody has read, and its pool.
        self._interrupted: tuple[Any, Any] | None = None

    def run(self, flow: Flow[Result]) -> Result:
        """Returns the result of the flow."""
        try:
            step = next(flow)
            while True:
                try:
                    result = self._perform(step)
                except redis.RedisError as failure:
                    is_single = self._route.slot is None
                    error = (of_a_single_server if is_single else of_a_cluster)(failure)
                    if not self._is_redirected(error):
                        step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _is_redirected(self, error: redis.RedisError) -> bool:
        """Whether the same step must be performed again at once. Nodes that send the request to
        each other do not agree yet, so after a few times it counts as failed."""
        if not self._route.heed(error):
            return False
        self._redirections += 1
        return self._redirections % REDIRECTIONS_MAX != 0

    def _perform(self, step: Step) -> Any:
        if isinstance(step, Ask):
            if self._channel is None:
                return self._ask(step)
            with self._channel.gate(self._route.slot):
                return self._ask(step)
        if isinstance(step, Listen):
            return self._listen(step.seconds)
        if isinstance(step, Subscribe):
            return self._subscribe(step)
        if isinstance(step, Outstanding):
            return self._read_outstanding(step.seconds)
        if self._wake is None:
            time.sleep(step.seconds)
        elif self._wake.wait(step.seconds):
            self._wake.clear()
        return None

    def _ask(self, ask: Ask) -> Answer:
        connection: Any = None
        pool: Any = None
        self._is_asking = False
        try:
            connection, pool = self._route.connect()
            command = packed(ask.command, connection.encoder)
            sent_at = now()
            self.has_sent = True
            connection.send_packed_command((command,))
            self._is_asking = True
            self._await_reply(connection, ask.seconds)
            self._is_asking = False
            return Answer(connection.read_response(disable_decoding=True), sent_at)
        except redis.RedisError:
            self._is_asking = False
            raise
        except BaseException:
            if connection is not None and not self._keep(connection, pool):
                connection.disconnect()
            raise
        finally:
            if connection is not None and not self._is_asking:
                pool.release(connection)

    def _keep(self, connection: Any, pool: Any) -> bool:
        """Whether the reply to the interrupted request for a lock can still be read here."""
        self._is_asking = self._is_asking and self._acquires and self._interrupted is None
        if self._is_asking:
            self._interrupted = (connection, pool)
        elif self._acquires and self._interrupted is None:
            self._is_unknown = True
        return self._is_asking

    def _await_reply(self, connection: Any, seconds: float | None) -> None:
        """Waits for the reply, at most for this time or that of the client, whichever is shorter.
        Whatever ends redis-py's own wait closes the connection. So a request for a lock, whose
        interruption must find out about the reply, waits before redis-py does."""
        limit = self._route.read_timeout
        is_own = seconds is not None and (limit is None or seconds < limit)
        if is_own or self._acquires:
            if is_own:
                limit = max(0.0, seconds or 0.0)
            if not connection.can_read(limit):
                connection.disconnect()
                raise redis.TimeoutError(f"no reply within {limit:g} s")

    def _listen(self, seconds: float | None) -> Message | None:
        if self._mailbox is None:
            return None
        try:
            return self._mailbox.get(block=seconds != 0, timeout=seconds or None)
        except queue.Empty:
            return None

    def _subscribe(self, step: Subscribe) -> Subscription | None:
        if self._channel is None:
            return None
        return self._channel.subscribe(self._route.slot, step.doubted)

    def _read_outstanding(self, seconds: float) -> bool:
        if self._interrupted is None:
            return not self._is_unknown
        connection, _ = self._interrupted
        try:
            if not connection.can_read(seconds):
                return False
            connection.read_response()
        except redis.RedisError:
            pass
        self.forget_outstanding()
        return True

    def forget_outstanding(self) -> None:
        """Closes the connection of the interrupted command, if there is one."""
        interrupted, self._interrupted = self._interrupted, None
        if interrupted is not None:
            connection, pool = interrupted
            connection.disconnect()
            pool.release(connection)
