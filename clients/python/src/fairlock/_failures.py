"""Decides after which errors of redis-py a request is worth repeating, and which exceptions of this
library stand for the others."""

from __future__ import annotations

import random
import ssl
from contextlib import contextmanager
from typing import Iterator

import redis

from ._terms import Name, names_of
from .errors import Deadlock, FairlockError, NotFairlock, WaitEnded

_TEMPORARY_WORDS = ("CLUSTERDOWN", "LOADING", "NOQUORUM", "TRYAGAIN")
_TEMPORARY_CLASSES = (redis.ConnectionError, redis.TimeoutError, redis.exceptions.ClusterDownError,
                      redis.exceptions.MovedError, redis.exceptions.ReadOnlyError,
                      redis.exceptions.TryAgainError)
_PERMANENT_CLASSES = (redis.AuthenticationError, redis.exceptions.AuthorizationError)
_PAUSE_SECONDS_MIN = 0.05
_PAUSE_SECONDS_MAX = 1.0


def is_temporary(error: BaseException) -> bool:
    """Whether the same request may succeed later: the server is restarting, or fails over."""
    if isinstance(error, _PERMANENT_CLASSES) or _is_about_certificates(error):
        return False
    if isinstance(error, _TEMPORARY_CLASSES):
        return True
    return has_no_subscriber(error) or (isinstance(error, redis.ResponseError)
                                        and str(error).split(" ", 1)[0] in _TEMPORARY_WORDS)


def has_no_subscriber(error: BaseException) -> bool:
    """Whether the server does not know the channel: its connection is re-established, or was
    opened at another node than the leader."""
    return isinstance(error, redis.ResponseError) and "has no subscriber" in str(error)


def _is_about_certificates(error: BaseException) -> bool:
    return isinstance(error.__cause__ or error.__context__, ssl.SSLCertVerificationError)


def translated(error: Exception, keys: tuple[Name, ...]) -> Exception:
    """The exception for an error reply, which is one of this library or of redis-py. Its text names
    the keys."""
    names = names_of(keys)
    word, _, text = str(error).partition(" ")
    if word == "DEADLOCK":
        return Deadlock(f"{names}: {text}")
    if word in ("SUPERSEDED", "CANCELLED", "UNBLOCKED"):
        return WaitEnded(f"{names}: {error}")
    if word == "MOVED":
        return FairlockError(f"{names}: the server is a node of a fleet of several partitions, so "
                             f"the lock needs a RedisCluster as its client: {error}")
    if isinstance(error, redis.ResponseError) and "unknown command" in str(error).lower():
        return NotFairlock(f"{names}: the server is not fairlock, it may be Redis: {error}")
    # Other errors have other arguments.
    if type(error) in (redis.ConnectionError, redis.TimeoutError):
        return type(error)(f"{names}: {error}")
    return error


def of_a_single_server(error: redis.RedisError) -> redis.RedisError:
    """Newer versions of redis-py tell a redirection from other errors in all clients, but only a
    RedisCluster can follow it."""
    is_moved = isinstance(error, redis.exceptions.MovedError)
    return redis.ResponseError(f"MOVED {error}") if is_moved else error


def of_a_cluster(error: redis.RedisError) -> redis.RedisError:
    """Older versions of redis-py tell a redirection from other errors only in connections that
    their own cluster client has opened."""
    is_moved = isinstance(error, redis.ResponseError) and str(error).startswith("MOVED ")
    return redis.exceptions.MovedError(str(error)[len("MOVED "):]) if is_moved else error


def described(error: IndexError) -> redis.ConnectionError:
    """In asyncio, a TLS connection that the server ends raises an OSError without arguments, for
    which redis-py 4.3 raises IndexError."""
    return redis.ConnectionError(repr(error.__context__))


@contextmanager
def describes_errors() -> Iterator[None]:
    """Raises what described() makes of an IndexError."""
    try:
        yield
    except IndexError as error:
        raise described(error) from error


def may_leave_something(error: BaseException) -> bool:
    """Whether a request that ended with this error may have left a place or a hold."""
    if isinstance(error, FairlockError):
        return False
    return not isinstance(error, redis.RedisError) or is_temporary(error)


def pauses() -> Iterator[float]:
    """Growing pauses between attempts. Clients that lost one server do not return all at once."""
    seconds = _PAUSE_SECONDS_MIN
    while True:
        yield seconds * random.uniform(0.5, 1)
        seconds = min(2 * seconds, _PAUSE_SECONDS_MAX)
