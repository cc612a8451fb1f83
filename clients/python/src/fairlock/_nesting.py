"""Refuses a thread, or a task, that would wait for ever for a lock that it holds itself."""

from __future__ import annotations

from typing import Dict, Hashable, List, Tuple

from ._hold_state import HoldState
from ._replies import same_bytes
from ._terms import Terms, shown
from .errors import Deadlock

#: What one thread or task holds, by place and key. Another thread may remove from it, because each
#: access is one step of the interpreter.
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
                           f"{who} releases it, give each acquisition an owner")


def _excludes(mine: Terms, wanted: Terms, count: int) -> bool:
    if mine.shared or wanted.shared:
        return not (mine.shared and wanted.shared)
    return mine.limit is None or wanted.limit is None or count >= min(mine.limit, wanted.limit)


def note_held(held: Held, place: Hashable, state: HoldState) -> None:
    """Call this when the thread or task has got the hold."""
    for key in same_bytes(state.terms.keys):
        held.setdefault((place, key), []).append(state)


def forget_held(held: Held, place: Hashable, state: HoldState) -> None:
    """Call this when the hold is over. Takes no lock, because it may be called in the middle of
    anything."""
    for key in same_bytes(state.terms.keys):
        states = held.get((place, key), [])
        if state in states:
            states.remove(state)
        if not states:
            held.pop((place, key), None)
