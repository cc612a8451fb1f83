"""The steps that a flow asks its front end to perform.

A flow is a generator that decides what to do next, without doing any input or output: it yields a
step, and gets its result or the exception that it raised. So the synchronous and the asyncio front
end share all decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generator, TypeVar, Union

from ._terms import Command


@dataclass(slots=True)
class Ask:
    """Send a command, and wait for its reply, at most for these seconds. The result is an
    Answer."""

    command: Command
    seconds: float | None


@dataclass(slots=True)
class Answer:
    """A reply, and the time just before its command was sent."""

    reply: Any
    sent_at: float


@dataclass(slots=True)
class Pause:
    """Do nothing for these seconds. A hold that ends cuts the pause of its renewal short."""

    seconds: float


@dataclass(slots=True)
class Subscribe:
    """Make sure that the server knows the channel. The result is a Subscription. `doubted` is the
    number of one that the server does not know."""

    doubted: int | None


@dataclass(slots=True)
class Subscription:
    """The name of the channel for the key, and the number of the connection that has it."""

    name: str
    number: int


@dataclass(slots=True)
class Listen:
    """Wait for a message about this owner on the channel. The result is a Message, or None."""

    seconds: float | None


@dataclass(slots=True)
class Outstanding:
    """Wait for the reply to the interrupted command. The result is False if the reply has not
    arrived."""

    seconds: float


Step = Union[Ask, Pause, Subscribe, Listen, Outstanding]
Result = TypeVar("Result")
Flow = Generator[Step, Any, Result]
