"""Performs the steps of a flow on a client of redis.asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import redis

from .._client import packed
from .._failures import described, of_a_cluster, of_a_single_server
from .._port import REDIRECTIONS_MAX
from .._replies import Message
from .._steps import (Answer, Ask, Flow, Listen, Outstanding, Result, Step, Subscribe,
                      Subscription)
from .._terms import Command, now
from ._channel import Channel
from ._routes import Route
from ._tasks import limited, within

Mailbox = asyncio.Queue  # a queue of Messages
class Port:
    """Belongs to one acquisition or hold, and to one task at a time. With `acquires`, a request
    goes on if that task is cancelled."""

    def __init__(self, route: Route, channel: Channel | None = None,
                 mailbox: Mailbox[Message] | None = None, wake: asyncio.Event | None = None,
                 acquires: bool = False) -> None:
        self._route = route
        self._channel = channel
        self._mailbox = mailbox
        self._wake = wake
        self._acquires = acquires
        self._redirections = 0
        #: Whether a request may have reached the server.
        self.has_sent = False
        self._interrupted: asyncio.Task[Answer] | None = None

    async def run(self, flow: Flow[Result]) -> Result:
        """Returns the result of the flow."""
        try:
            step = next(flow)
            while True:
                try:
                    result = await self._perform(step)
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
        """See fairlock._port."""
        if not self._route.heed(error):
            return False
        self._redirections += 1
        return self._redirections % REDIRECTIONS_MAX != 0

    async def _perform(self, step: Step) -> Any:
        if isinstance(step, Ask):
            return await (self._ask_apart(step) if self._acquires else self._ask(step))
        if isinstance(step, Listen):
            return await self._listen(step.seconds)
        if isinstance(step, Subscribe):
            return await self._subscribe(step)
        if isinstance(step, Outstanding):
            return await self._await_outstanding(step.seconds)
        if self._wake is None:
            await asyncio.sleep(step.seconds)
        elif await within(step.seconds, self._wake.wait()):
            self._wake.clear()
        return None

    async def _ask(self, ask: Ask) -> Answer:
        try:
            return await limited(ask.seconds, self._send(ask.command))
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
            self.has_sent = True  # or it will be, before it can be stopped
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
        if self._channel is None:
            return await self._exchange(command)
        async with self._channel.gate(self._route.slot):
            return await self._exchange(command)

    async def _exchange(self, command: Command) -> Answer:
        """Bypasses what execute_command() adds, such as attempts that would not be noticed here."""
        try:
            connection, pool = await self._route.connect()
            try:
                whole = packed(command, connection.encoder)
                sent_at = now()
                self.has_sent = True
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
        return None if seconds == 0 else await within(seconds, self._mailbox.get())

    async def _subscribe(self, step: Subscribe) -> Subscription | None:
        if self._channel is None:
            return None
        return await self._channel.subscribe(self._route.slot, step.doubted)

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


async def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # marks the exception as seen
