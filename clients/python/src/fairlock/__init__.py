"""Fair locks with fencing tokens, from a fairlock server, over redis-py.

    import fairlock, redis

    r = redis.Redis(port=3247)
    with fairlock.lock(r, "order:42", lease=30, wait=10) as hold:
        charge(42, hold.token)

fairlock.aio offers the same for asyncio.
"""

from ._channel import Channel
from ._lock import Hold, Lock, lock
from ._replies import Explanation, Holder
from ._terms import now
from .errors import Deadlock, Denied, FairlockError, LostHold, NotFairlock, WaitEnded

__all__ = [
    "Channel", "Deadlock", "Denied", "Explanation", "FairlockError", "Hold", "Holder", "Lock",
    "LostHold", "NotFairlock", "WaitEnded", "lock", "now",
]
__version__ = "0.1.0"
