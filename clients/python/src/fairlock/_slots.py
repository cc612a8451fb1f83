"""Names with a given hash slot."""

from __future__ import annotations

import functools
import itertools

from redis.crc import key_slot

_TAG_LENGTH_MAX = 100


def name_in_slot(base: str, key: bytes, slot: int) -> str:
    """A name that begins with the base, and has the slot of the key."""
    tag = _tag_of(key)
    if not tag or not tag.isascii() or b"}" in tag or len(tag) > _TAG_LENGTH_MAX:
        tag = _short_tag(slot)
    return f"{base}:{{{tag.decode()}}}"


def _tag_of(key: bytes) -> bytes:
    """The part of a key from which its slot is computed."""
    _, opened, rest = key.partition(b"{")
    tag, closed, _ = rest.partition(b"}")
    return tag if opened and closed and tag else key


@functools.lru_cache(maxsize=None)
def _short_tag(slot: int) -> bytes:
    """A number with this slot, found in a few milliseconds. There are 16384 slots."""
    numbers = (b"%d" % number for number in itertools.count())
    return next(number for number in numbers if key_slot(number) == slot)
