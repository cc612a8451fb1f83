"""Performs the steps of a flow on a redis.asyncio.Redis."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any, AsyncContextManager, Coroutine, TypeVar

import redis

from .._client import AsyncClient, require_async
from .._failures import describes_errors
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
    """Belongs to one acquisition or hold, and to one task at a time."""

    def __init__(self, client: AsyncClient, gate: AsyncContextManager[Any] | None = None,
                 mailbox: Mailbox[Message] | None = None,
                 wake: asyncio.Event | None = None) -> None:
        require_async(client)
        self._client = client
        self._gate: AsyncContextManager[Any] = nullcontext() if gate is None else gate
        self._mailbox = mailbox
        self._wake = asyncio.Event() if wake is None else wake
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
            return await self._ask(step)
        if isinstance(step, Listen):
            return await self._listen(step.seconds)
        if isinstance(step, Outstanding):
            return await self._await_outstanding(step.seconds)
        if await _within(step.seconds, self._wake.wait()):
            self._wake.clear()
        return None

    async def _ask(self, ask: Ask) -> Answer:
        """The request has its own task, which goes on if the caller is cancelled: only its reply
        says whether the lock has been granted."""
        task = start(self._send(ask.command))
        try:
            seconds = None if ask.seconds is None else max(0.0, ask.seconds)
            done, _ = await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            self._interrupted = task
            raise
        if not done:
            await _cancel(task)
            raise redis.TimeoutError(f"no reply within {ask.seconds:g} s")
        return task.result()

    async def _send(self, command: Command) -> Answer:
        async with self._gate:
            sent_at = now()
            with describes_errors():
                reply = await self._client.execute_command(*command, NEVER_DECODE=True)
            return Answer(reply, sent_at)

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
