"""Tasks that end by themselves, and waits that end in time."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Coroutine, TypeVar

Value = TypeVar("Value")

_tasks: set[asyncio.Future[Any]] = set()  # The event loop itself refers to its tasks only weakly.


def start(coroutine: Coroutine[Any, Any, Value]) -> asyncio.Task[Value]:
    """Starts a task that lives until it ends."""
    task = asyncio.ensure_future(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


async def finish(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Runs it to its end, even if the caller is cancelled; the cancellation takes effect
    afterwards."""
    task = start(coroutine)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def within(seconds: float | None, coroutine: Coroutine[Any, Any, Value]) -> Value | None:
    """None if it takes longer."""
    try:
        return await asyncio.wait_for(coroutine, seconds)
    except asyncio.TimeoutError:
        return None


async def limited(seconds: float | None, coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Raises asyncio.TimeoutError if it takes longer. Before Python 3.11, that costs a task."""
    if sys.version_info < (3, 11):
        return await asyncio.wait_for(coroutine, seconds)
    async with asyncio.timeout(None if seconds is None else max(0.0, seconds)):
        return await coroutine
