"""Performs the steps of a flow on a redis.asyncio.Redis."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, AsyncContextManager, Coroutine, TypeVar

import redis
import redis.asyncio

from .._client import AsyncClient, packed, require_async
from .._failures import described, describes_errors
from .._replies import Message
from .._steps import Answer, Ask, Flow, Listen, Outstanding, Result, Step
from .._terms import Command, now

Mailbox = asyncio.Queue  # of Message
Value = TypeVar("Value")

_tasks: set[asyncio.Future[Any]] = set()  # The event loop itself refers to its tasks only weakly.


def start(coroutine: Coroutine[Any, Any, Value]) -> asyncio.Task[Value]:
    """Starts a task that lives until it ends."""
    task = asyncio.ensure_future(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


async def finish(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Runs it to its end, even if the caller is cancelled; the cancellation then follows."""
    task = start(coroutine)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


class Port:
    """Belongs to one acquisition or hold, and to one task at a time. With `acquires`, a request
    goes on if that task is cancelled."""

    def __init__(self, client: AsyncClient, gate: AsyncContextManager[Any] | None = None,
                 mailbox: Mailbox[Message] | None = None, wake: asyncio.Event | None = None,
                 acquires: bool = False) -> None:
        if not isinstance(client, redis.asyncio.Redis):
            require_async(client)
        self._client = client
        self._gate = gate
        self._mailbox = mailbox
        self._wake = wake
        self._acquires = acquires
        self._interrupted: asyncio.Task[Answer] | None = None

    async def run(self, flow: Flow[Result]) -> Result:
        """Returns the result of the flow."""
        try:
            step = next(flow)
            while True:
                try:
                    result = await self._perform(step)
                except redis.RedisError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    async def _perform(self, step: Step) -> Any:
        if isinstance(step, Ask):
            return await (self._ask_apart(step) if self._acquires else self._ask(step))
        if isinstance(step, Listen):
            return await self._listen(step.seconds)
        if isinstance(step, Outstanding):
            return await self._await_outstanding(step.seconds)
        if self._wake is None:
            await asyncio.sleep(step.seconds)
        elif await _within(step.seconds, self._wake.wait()):
            self._wake.clear()
        return None

    async def _ask(self, ask: Ask) -> Answer:
        try:
            return await _limited(ask.seconds, self._send(ask.command))
        except asyncio.TimeoutError:
            raise redis.TimeoutError(f"no reply within {ask.seconds:g} s") from None

    async def _ask_apart(self, ask: Ask) -> Answer:
        """The request has its own task, which goes on if the caller is cancelled: only its reply
        says whether the lock has been granted."""
        loop = asyncio.get_running_loop()
        end: asyncio.Future[None] = loop.create_future()
        task = loop.create_task(self._send_and_settle(ask.command, end))
        timer = None
        if ask.seconds is not None:
            timer = loop.call_later(max(0.0, ask.seconds), _settle, end)
        try:
            await end
            if task.done():
                return task.result()
        except asyncio.CancelledError:
            self._interrupted = task
            raise
        finally:
            if timer is not None:
                timer.cancel()
        await _cancel(task)
        raise redis.TimeoutError(f"no reply within {ask.seconds:g} s")

    async def _send_and_settle(self, command: Command, end: asyncio.Future[None]) -> Answer:
        """Unlike a callback of the task, this costs no further turn of the event loop."""
        try:
            return await self._send(command)
        finally:
            _settle(end)

    async def _send(self, command: Command) -> Answer:
        if self._gate is None:
            return await self._exchange(command)
        async with self._gate:
            return await self._exchange(command)

    async def _exchange(self, command: Command) -> Answer:
        """Passes by what execute_command() adds, such as attempts that would not be noticed here.
        Only a client with a single connection has none in its pool."""
        if getattr(self._client, "single_connection_client", False):
            sent_at = now()
            with describes_errors():
                reply = await self._client.execute_command(*command, NEVER_DECODE=True)
            return Answer(reply, sent_at)
        pool = self._client.connection_pool
        try:
            connection = await pool.get_connection("LOCK")
            try:
                whole = packed(command, connection.encoder)
                sent_at = now()
                await connection.send_packed_command((whole,))
                return Answer(await connection.read_response(disable_decoding=True), sent_at)
            except asyncio.CancelledError:
                await connection.disconnect()
                raise
            finally:
                await pool.release(connection)
        except IndexError as error:
            raise described(error) from error

    async def _listen(self, seconds: float | None) -> Message | None:
        if self._mailbox is None:
            return None
        if not self._mailbox.empty():
            return self._mailbox.get_nowait()
        return None if seconds == 0 else await _within(seconds, self._mailbox.get())

    async def _await_outstanding(self, seconds: float) -> bool:
        if self._interrupted is None:
            return True
        done, _ = await asyncio.wait({self._interrupted}, timeout=seconds)
        if done:
            await self.forget_outstanding()
        return bool(done)

    async def forget_outstanding(self) -> None:
        """Cancels the interrupted request, if there is one, which closes its connection."""
        task, self._interrupted = self._interrupted, None
        if task is not None:
            await _cancel(task)


def _settle(end: asyncio.Future[None]) -> None:
    if not end.done():
        end.set_result(None)


async def _limited(seconds: float | None, coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Raises asyncio.TimeoutError if it takes longer. Before Python 3.11, that costs a task."""
    if sys.version_info < (3, 11):
        return await asyncio.wait_for(coroutine, seconds)
    async with asyncio.timeout(None if seconds is None else max(0.0, seconds)):
        return await coroutine


async def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # it has been seen


async def _within(seconds: float | None, coroutine: Coroutine[Any, Any, Value]) -> Value | None:
    """None if it takes longer."""
    try:
        return await asyncio.wait_for(coroutine, seconds)
    except asyncio.TimeoutError:
        return None
