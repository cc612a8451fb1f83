"""The same as fairlock, for asyncio, on redis.asyncio.

    import fairlock.aio, redis.asyncio

    r = redis.asyncio.Redis(port=3247)
    async with fairlock.aio.lock(r, "order:42", lease=30, wait=10) as hold:
        await charge(42, hold.token)
"""

from ._channel import Channel
from ._lock import Hold, Lock, lock

__all__ = ["Channel", "Hold", "Lock", "lock"]
