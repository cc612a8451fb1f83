"""Performs the steps of a flow on a redis.Redis."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any, ContextManager

import redis

from ._client import Client, packed, require
from ._replies import Message
from ._steps import Answer, Ask, Flow, Listen, Outstanding, Result, Step
from ._terms import now

Mailbox = queue.SimpleQueue  # of Message


class Port:
    """Belongs to one acquisition or hold, and to one thread at a time."""

    def __init__(self, client: Client, gate: ContextManager[Any] | None = None,
                 mailbox: Mailbox[Message] | None = None,
                 wake: threading.Event | None = None, acquires: bool = False) -> None:
        require(client)
        self._pool = client.connection_pool
        self._gate = gate
        self._mailbox = mailbox
        self._wake = wake
        self._acquires = acquires
        self._interrupted: Any = None  # the connection whose reply nobody has read

    def run(self, flow: Flow[Result]) -> Result:
        """Returns the result of the flow."""
        try:
            step = next(flow)
            while True:
                try:
                    result = self._perform(step)
                except redis.RedisError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _perform(self, step: Step) -> Any:
        if isinstance(step, Ask):
            if self._gate is None:
                return self._ask(step)
            with self._gate:
                return self._ask(step)
        if isinstance(step, Listen):
            return self._listen(step.seconds)
        if isinstance(step, Outstanding):
            return self._read_outstanding(step.seconds)
        if self._wake is None:
            time.sleep(step.seconds)
        elif self._wake.wait(step.seconds):
            self._wake.clear()
        return None

    def _ask(self, ask: Ask) -> Answer:
        connection: Any = None
        is_kept = False
        try:
            connection = self._pool.get_connection("LOCK")
            command = packed(ask.command, connection.encoder)
            sent_at = now()
            connection.send_packed_command((command,))
            return Answer(self._read(connection, ask.seconds), sent_at)
        except redis.RedisError:
            raise
        except BaseException:
            if self._acquires and self._interrupted is None:
                self._interrupted = connection
                is_kept = True
            elif connection is not None:
                connection.disconnect()
            raise
        finally:
            if connection is not None and not is_kept:
                self._pool.release(connection)

    def _read(self, connection: Any, seconds: float | None) -> Any:
        """Waits for the reply, at most for the shorter time of the two: this one, and that of the
        connection. Whatever ends redis-py's own wait closes the connection. So a request for a
        lock, whose interruption must find out about the reply, waits before redis-py does."""
        limit = connection.socket_timeout
        is_own = seconds is not None and (limit is None or seconds < limit)
        if is_own or self._acquires:
            if is_own:
                limit = max(0.0, seconds or 0.0)
            if not connection.can_read(limit):
                connection.disconnect()
                raise redis.TimeoutError(f"no reply within {limit:g} s")
        return connection.read_response(disable_decoding=True)

    def _listen(self, seconds: float | None) -> Message | None:
        if self._mailbox is None:
            return None
        try:
            return self._mailbox.get(block=seconds != 0, timeout=seconds or None)
        except queue.Empty:
            return None

    def _read_outstanding(self, seconds: float) -> bool:
        connection = self._interrupted
        if connection is None:
            return True
        # can_read() would open a connection that redis-py has closed.
        is_open = getattr(connection, "_sock", None) is not None
        try:
            if is_open and not connection.can_read(seconds):
                return False
            if is_open:
                connection.read_response()
        except redis.RedisError:
            pass
        self.forget_outstanding()
        return is_open

    def forget_outstanding(self) -> None:
        """Closes the connection of the interrupted command, if there is one."""
        connection, self._interrupted = self._interrupted, None
        if connection is not None:
            connection.disconnect()
            self._pool.release(connection)
