"""What clients were told, and what a restarted server must therefore still report.

Each key belongs to one client, so its possible states after a crash follow from that client's own
requests: an answered request has happened; an unanswered one may or may not have happened.
"""

import dataclasses
import time


class Broken(AssertionError):
    """A promise that the server did not keep."""


@dataclasses.dataclass(frozen=True)
class Held:
    owner: str
    token: int | None  # None for a grant whose reply was not received
    lease_ms: int
    # The earliest start of its lease, and whether a clean stop has happened since: after one, the
    # lease continues with only its remaining time.
    begun: float = dataclasses.field(default=0, compare=False)
    was_stopped: bool = dataclasses.field(default=False, compare=False)


def after(state, operation, asked_at=0):
    """Returns the state after an operation, and the expected reply ("new" for a new token)."""
    name, owner, lease_ms = operation
    renewed = {"lease_ms": lease_ms, "begun": asked_at, "was_stopped": False}
    is_own = state is not None and state.owner == owner
    if name == "LOCK":
        if state is None:
            return Held(owner, None, **renewed), "new"
        if is_own:
            return longer(state, renewed), state.token
        return state, None
    if name == "RENEW":
        return (dataclasses.replace(state, **renewed), 1) if is_own else (state, 0)
    if name == "UNLOCK":
        return (None, 1) if is_own else (state, 0)
    raise ValueError(name)


def longer(state, renewed):
    """A repeated LOCK never shortens the lease; a lease of the same length starts again."""
    if renewed["lease_ms"] < state.lease_ms:
        return state
    return dataclasses.replace(state, **renewed)


def is_refused(reply):
    """Whether the request was refused, with no effect, because the disk is full or has failed."""
    return isinstance(reply, str) and reply.startswith("STORAGE ")


class Tokens:
    """All tokens seen: each only once, and none lower than one that was known before it was
    requested."""

    def __init__(self):
        self.newest = 0
        self.seen = {}

    def take(self, token, key, newest_when_asked):
        if self.seen.setdefault(token, key) != key or not token:
            raise Broken(f"token {token} of {key} was that of {self.seen.get(token)} before")
        if token <= newest_when_asked:
            raise Broken(f"token {token} of {key} is not above {newest_when_asked}")
        self.newest = max(self.newest, token)


class Key:
    """What the client of one key knows about it."""

    def __init__(self, name, tokens):
        self.name = name
        self.tokens = tokens
        self.state = None
        self.pending = None
        self.asked_at = 0
        self.newest_when_asked = 0

    def ask(self, operation):
        assert self.pending is None
        self.pending = operation
        self.asked_at = time.monotonic()
        self.newest_when_asked = self.tokens.newest

    def answer(self, reply):
        operation, self.pending = self.pending, None
        if is_refused(reply):
            return
        state, expected = after(self.state, operation, self.asked_at)
        if expected == "new":
            if not isinstance(reply, int):
                raise Broken(f"{self.name} is free, but {operation} was answered {reply!r}")
            self.tokens.take(reply, self.name, self.newest_when_asked)
            state = dataclasses.replace(state, token=reply)
        elif reply != expected:
            raise Broken(f"{self.name} is {self.state}, but {operation} was answered {reply!r}")
        self.state = state

    def possible(self):
        states = [self.state]
        if self.pending is not None:
            states.append(after(self.state, self.pending, self.asked_at)[0])
        return states

    def compare(self, holders, since_start_ms, is_clean=False):
        """Compares the state with `holders` of LOCKINFO after a restart: the owner, token and
        remaining time of each. `is_clean` means that the server was stopped, not killed."""
        if len(holders) > 1:
            raise Broken(f"{self.name} has {len(holders)} holders: {holders}")
        found = holders[0] if holders else None
        for state in self.possible():
            if is_clean and state is not None:
                state = dataclasses.replace(state, was_stopped=True)
            if self._is(state, found, since_start_ms):
                if found is not None and state.token is None:
                    self.tokens.take(found.token, self.name, self.newest_when_asked)
                self.state = None if state is None else dataclasses.replace(
                    state, token=found.token)
                self.pending = None
                return
        raise Broken(f"{self.name} is {found}, but was told to be one of {self.possible()}")

    @staticmethod
    def _is(state, found, since_start_ms):
        if state is None or found is None:
            return state is None and found is None
        gone_ms = since_start_ms
        if state.was_stopped:
            gone_ms = (time.monotonic() - state.begun) * 1000 + 2
        return (state.owner == found.owner and state.token in (None, found.token) and
                state.lease_ms - gone_ms <= found.lease_ms <= state.lease_ms)


class Line:
    """The places that KEEP retains in the queue of one key, which is held throughout."""

    def __init__(self, name):
        self.name = name
        self.owners = []
        self.pending = None

    def ask(self, operation):
        assert self.pending is None
        self.pending = operation

    def _after(self):
        name, owner = self.pending
        if name == "JOIN":
            return self.owners + [owner]
        return [other for other in self.owners if other != owner]

    def answer(self, reply):
        if is_refused(reply):
            self.pending = None
            return
        name, _ = self.pending
        if reply != (None if name == "JOIN" else 1):
            raise Broken(f"{self.name}: {self.pending} was answered {reply!r}")
        self.owners, self.pending = self._after(), None

    def compare(self, owners):
        possible = [self.owners] + ([self._after()] if self.pending else [])
        if owners not in possible:
            raise Broken(f"the line of {self.name} is {owners}, but was told to be {possible}")
        self.owners, self.pending = owners, None
