"""Refuses a thread, or a task, that would wait for ever for a lock that it holds itself."""

from __future__ import annotations

from typing import Any, Dict, Hashable, List, Tuple

from ._hold_state import HoldState
from ._replies import same_bytes
from ._terms import Name, Terms, shown
from .errors import Deadlock

#: What one thread or task holds, by place and key. Another thread may remove from it: each access
#: is one step of the interpreter.
Held = Dict[Tuple[Hashable, bytes], List[HoldState]]


def refuse_nested(held: Held, place: Hashable, terms: Terms, who: str) -> None:
    """Raises Deadlock if these terms cannot be granted before `who` releases what it holds."""
    if not held:
        return
    for key in same_bytes(terms.keys):
        mine = [state for state in held.get((place, key), ())
                if state.is_of_this_process and not state.is_over and state.lost is None]
        if any(_excludes(state.terms, terms, len(mine)) for state in mine):
            raise Deadlock(f"{shown(key)} is held by this {who} already, as {shown(mine[0].owner)}"
                           f" with token {mine[0].token}: the wait would never end. If another "
                           f"{who} releases it, give each acquisition an owner; if an inner "
                           "block may share it, take it with reentrant=True")


def reentered(held: Held, place: Hashable, terms: Terms, owner: Name | None) -> Any:
    """Returns the Hold that the thread or task has of the same keys in the same way, for this
    owner if one is given, or None."""
    keys = set(same_bytes(terms.keys))
    for state in held.get((place, min(keys)), ()):
        mine = state.terms
        if (set(same_bytes(mine.keys)) == keys and state.is_certain
                and (mine.shared, mine.limit) == (terms.shared, terms.limit)
                and (owner is None or same_bytes([owner]) == same_bytes([state.owner]))):
            return state.hold()
    return None


def _excludes(mine: Terms, wanted: Terms, count: int) -> bool:
    if mine.shared or wanted.shared:
        return not (mine.shared and wanted.shared)
    return mine.limit is None or wanted.limit is None or count >= min(mine.limit, wanted.limit)


def note_held(held: Held, place: Hashable, state: HoldState) -> None:
    """The thread or task has the hold now. Forgets those whose release was interrupted."""
    for key in same_bytes(state.terms.keys):
        states = held.setdefault((place, key), [])
        if states:
            states[:] = [other for other in states if not other.is_over]
        states.append(state)


def forget_held(held: Held, place: Hashable, state: HoldState) -> None:
    """The hold is over. Takes no lock, because it may be called in the middle of anything."""
    for key in same_bytes(state.terms.keys):
        states = held.get((place, key), [])
        if state in states:
            states.remove(state)
        if not states:
            held.pop((place, key), None)
