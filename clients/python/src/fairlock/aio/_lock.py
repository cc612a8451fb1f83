"""Locks for asyncio."""

from __future__ import annotations

import asyncio
import weakref
from types import TracebackType
from typing import Any, MutableMapping, Optional

from .._acquire import Acquisition, abandon
from .._client import AsyncClient
from .._failures import may_leave_something
from .._hold_state import HoldState, warn_of_drop
from .._nesting import Held, reentered, refuse_nested
from .._replies import Message
from .._terms import Name, Terms, check_duration, make_owner, names_of
from ..errors import Denied, LostHold
from ._channel import Channel
from ._port import Mailbox, Port
from ._routes import Route, route_to
from ._tasks import finish
from ._watch import OnLost, Watch


class Hold:
    """A lock that is held. In a child process that was forked meanwhile, its methods send nothing.

    As a context manager, it releases the lock at the end of the block, and raises LostHold there
    if the lock was lost during the block. A hold that is dropped without a release is not renewed
    any more: it ends with its lease.
    """

    def __init__(self, route: Route, state: HoldState, channel: Channel | None,
                 renews: bool, on_lost: OnLost[Hold] | None, held: Held) -> None:
        self._outer: Hold | None = None  # kept by a nested one: if it is dropped, so is the lock
        self._state = state
        state.hold = weakref.ref(self)
        state.join(self)
        self._watch = Watch(self, route, state, channel, renews, on_lost, held)

    def nested(self) -> Hold:
        """The same hold for an acquisition in its block. For Lock."""
        other = object.__new__(type(self))
        other._outer, other._state, other._watch = self, self._state, self._watch
        self._state.join(other)
        return other

    def __del__(self) -> None:
        watch = getattr(self, "_watch", None)
        if watch is not None and watch.state.leave(self) and watch.state.drop():
            watch.forget()
            warn_of_drop(self, watch.state.terms)

    @property
    def keys(self) -> tuple[Name, ...]:
        """The keys that are held."""
        return self._state.terms.keys

    @property
    def owner(self) -> Name:
        """The owner, as the server knows it."""
        return self._state.owner

    @property
    def token(self) -> int:
        """The fencing token, to be sent with every write. Raises LostHold like check()."""
        self.check()
        return self._state.token

    @property
    def deadline(self) -> float:
        """The lease lasts at least until this time of fairlock.now(), unless it is renewed."""
        return self._state.deadline

    def check(self) -> None:
        """Raises LostHold if the lock is lost, or if its lease may have ended. Sends nothing."""
        self._state.check(self)

    async def renew(self, lease: float | None = None) -> None:
        """Renews the lease now; with `lease`, this is its length from now on. A renewal never makes
        a lease end earlier than before."""
        self.check()
        try:
            await self._port().run(self._state.renew(lease))
        finally:
            self._watch.notice_renewal()

    async def release(self) -> bool:
        """Releases the lock; returns whether it was held until now, so False if it was released
        before. A cancellation waits for it."""
        if self._is_over:
            return False
        if not self._state.leave(self):  # it goes on for an acquisition around it
            return self._state.lost is None
        try:
            return await self._port().run(self._state.release())
        except BaseException:
            # The cancelled request may not have been sent.
            if not self._state.is_released:
                await finish(self._port().run(self._state.release()))
            raise
        finally:
            self._watch.leave()

    async def transfer(self, new_owner: Name, lease: float | None = None) -> int:
        """Gives the lock to another owner, and returns its token. The new owner gets its own hold
        with lock(..., owner=new_owner). From the request on, this hold is not held any more, unless
        the server refuses the transfer. A cancellation waits for it."""
        self.check()
        try:
            return await finish(self._port().run(self._state.transfer(new_owner, lease)))
        finally:
            if self._state.is_released:
                self._watch.leave()
            else:
                self._watch.notice_loss()

    async def __aenter__(self) -> Hold:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        if self._is_over:
            return
        if not await self.release() and kind is None:
            raise LostHold(f"{names_of(self.keys)} was lost before it was released")

    @property
    def _is_over(self) -> bool:
        state = self._state
        return not state.is_of_this_process or state.is_released or state.has_left(self)

    def _port(self) -> Port:
        return Port(self._watch.route, self._watch.channel)

    def hear_all(self, mailbox: Mailbox[Message]) -> None:
        """Takes note of the messages that arrived during the acquisition. For Lock."""
        while not mailbox.empty():
            self._watch.hear(mailbox.get_nowait())


_held: MutableMapping[asyncio.Task[Any], Held] = weakref.WeakKeyDictionary()


def _held_here() -> Held:
    """What this task holds."""
    task = asyncio.current_task()
    return {} if task is None else _held.setdefault(task, {})


class Lock:
    """A lock to be taken, made by lock(). Tasks may share it."""

    def __init__(self, client: AsyncClient, terms: Terms, wait: float | None, *,
                 renew: bool = True, owner: Name | None = None, channel: Channel | None = None,
                 on_lost: OnLost[Hold] | None = None, reentrant: bool = False) -> None:
        if wait is not None:
            check_duration("wait", wait)
        self._route = route_to(client, terms.keys[0])
        self._terms = terms
        self._wait = wait
        self._renew = renew
        self._owner = owner
        self._channel = channel
        self._on_lost = on_lost
        self._reentrant = reentrant
        self._entered: dict[asyncio.Task[Any] | None, list[Hold]] = {}

    async def acquire(self) -> Hold:
        """Takes the lock, or raises Denied."""
        return await self._take(self._wait)

    async def try_acquire(self) -> Hold | None:
        """Takes the lock if that is possible without waiting."""
        try:
            return await self._take(0)
        except Denied:
            return None

    async def __aenter__(self) -> Hold:
        hold = await self.acquire()
        self._entered.setdefault(asyncio.current_task(), []).append(hold)
        return hold

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        task = asyncio.current_task()
        hold = self._entered[task].pop()
        if not self._entered[task]:
            del self._entered[task]
        await hold.__aexit__(kind, error, trace)

    async def _take(self, wait: float | None) -> Hold:
        owner = self._owner if self._owner is not None else make_owner()
        channel = self._channel
        if channel is not None:
            channel.require_open()
        held = _held_here()
        if self._reentrant:
            outer = reentered(held, self._route.place, self._terms, self._owner)
            if outer is not None:
                return outer.nested()  # type: ignore[no-any-return]
        if wait != 0 and self._owner is None:
            refuse_nested(held, self._route.place, self._terms, "task")
        mailbox: Mailbox[Message] | None = None if channel is None else Mailbox()
        port = Port(self._route, channel, mailbox, acquires=True)
        try:
            if channel is not None and mailbox is not None:
                channel.follow(self._route.slot, self._terms, owner, mailbox.put_nowait)
            flow = Acquisition(self._terms, owner, wait, has_channel=channel is not None,
                               is_named=self._owner is not None)
            # Nothing is awaited after the grant, so no cancellation comes between.
            state = HoldState(self._terms, owner, await port.run(flow.run()))
            hold = Hold(self._route, state, channel, self._renew, self._on_lost, held)
            if mailbox is not None:
                hold.hear_all(mailbox)
            return hold
        except BaseException as error:
            await finish(self._give_up(port, owner, mailbox, error))
            raise

    async def _give_up(self, port: Port, owner: Name, mailbox: Mailbox[Message] | None,
                       error: BaseException) -> None:
        try:
            if port.has_sent and may_leave_something(error):
                await port.run(abandon(self._terms, owner, error))
        finally:
            await port.forget_outstanding()
            if self._channel is not None and mailbox is not None:
                self._channel.unfollow(self._route.slot, self._terms, owner, mailbox.put_nowait)


def lock(client: AsyncClient, *keys: Name, lease: float = 30, wait: float | None = None,
         renew: bool = True, owner: Name | None = None, shared: bool = False,
         limit: int | None = None, keep: float | None = None, min_hold: float | None = None,
         max_waiters: int | None = None, meta: Name | None = None, label: str | None = None,
         channel: Channel | None = None, on_lost: OnLost[Hold] | None = None,
         reentrant: bool = False) -> Lock:
    """Describes a lock of one key, or of several keys that are taken together or not at all.

    The parameters are those of fairlock.lock(). `renew` uses a task instead of a thread. `on_lost`
    is called in the event loop; if it returns an awaitable, this is awaited.
    """
    terms = Terms(keys, lease, limit, shared, keep, min_hold, max_waiters, meta, label)
    return Lock(client, terms, wait, renew=renew, owner=owner, channel=channel, on_lost=on_lost,
                reentrant=reentrant)
