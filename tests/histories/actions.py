"""The requests of a history as actions on keys: what each could change, and what its reply says."""

import dataclasses
import math

MS = 1_000_000
FOREVER = math.inf
DEFAULT_LEASE_MS = 30_000
FLAGS = ("SHARED", "SESSION", "NEW", "EXPLAIN", "NX", "REPLACE")
UNITS = (("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000))

# The kind of action, by the first word of the command.
KINDS = {"LOCK": "ask", "MLOCK": "ask", "SET": "ask", "RENEW": "renew", "MRENEW": "renew",
         "UNLOCK": "end", "MUNLOCK": "end", "RELEASE": "end", "TRANSFER": "end", "BREAK": "end",
         "DEL": "end", "CANCEL": "cancel", "CHECK": "look", "LOCKED": "look", "POSITION": "look",
         "LOCKINFO": "look", "QUEUE": "look", "GET": "look"}


class Unreadable(ValueError):
    """A request that the checker does not know."""


def nanoseconds(text):
    if isinstance(text, int):
        return text * MS
    if text == "FOREVER":
        return FOREVER
    for unit, factor in UNITS:
        if text.endswith(unit) and text[:-len(unit)].isdigit():
            return int(text[:-len(unit)]) * factor * MS
    return int(text) * MS


def options_in(words):
    options, at = {}, 0
    while at < len(words):
        name = words[at]
        if name in FLAGS:
            options[name] = True
            at += 1
        else:
            options[name] = words[at + 1]
            at += 2
    return options


@dataclasses.dataclass(slots=True)
class Action:
    """One command. If it was executed at all, then between `sent` and `until`; it was certainly
    executed if `is_answered`. If its connection was lost, `until` is the end of the process."""
    name: str
    keys: list
    owner: str | None
    options: dict
    client: int
    life: int
    sent: int
    until: float
    reply: object
    is_answered: bool
    in_step: bool = False
    heir: str | None = None
    token: int | None = None

    @property
    def kind(self):
        return KINDS[self.name]

    @property
    def is_error(self):
        return isinstance(self.reply, dict) and set(self.reply) == {"error"}

    @property
    def error(self):
        return self.reply["error"] if self.is_error else ""

    @property
    def lease(self):
        return int(self.options.get("PX", DEFAULT_LEASE_MS)) * MS

    @property
    def wait(self):
        """How long the request waits; 0 if it does not."""
        if self.in_step or self.name == "SET":
            return 0
        without = FOREVER if "NOTIFY" in self.options else 0
        return nanoseconds(self.options["WAIT"]) if "WAIT" in self.options else without

    @property
    def keep(self):
        return nanoseconds(self.options.get("KEEP", 0))

    @property
    def limit(self):
        return FOREVER if self.is_shared else int(self.options.get("LIMIT", 1))

    @property
    def is_shared(self):
        return "SHARED" in self.options

    @property
    def is_grant(self):
        """Whether its reply says that it holds the lock."""
        return self.is_answered and (self.reply == "OK" if self.name == "SET" else
                                     type(self.reply) is int)  # pylint: disable=C0123

    @property
    def may_hold(self):
        """Whether the request may have been granted, or may still be granted later."""
        if not self.is_answered or self.is_grant:
            return True
        superseded = self.error.startswith("SUPERSEDED")
        return superseded or (self.reply is None and ("NOTIFY" in self.options or self.keep > 0))

    def __str__(self):
        reply = repr(self.reply) if self.is_answered else "(no answer)"
        more = " ".join(str(word) for pair in self.options.items() for word in pair)
        names = " ".join(str(word) for word in (self.owner, self.heir, self.token) if word)
        step = " in a step" if self.in_step else ""
        until = f"{self.until / MS:.3f}" if self.until != FOREVER else "..."
        return (f"[{self.sent / MS:.3f}, {until}] client {self.client}{step}: {self.name} "
                f"{' '.join(self.keys)} {names} {more} -> {reply[:300]}")


def _parts(words):
    """Returns the keys, owner, heir, token and options of a command."""
    name = words[0]
    if name in ("MLOCK", "MRENEW", "MUNLOCK"):
        count = int(words[1])
        return words[2:2 + count], words[2 + count], None, options_in(words[3 + count:])
    if name in ("LOCK", "RENEW", "UNLOCK", "SET"):
        return [words[1]], words[2], None, options_in(words[3:])
    if name == "TRANSFER":
        return [words[1]], words[2], words[3], options_in(words[4:])
    if name in ("RELEASE", "CANCEL", "POSITION"):
        return [words[1]], words[2], None, {}
    if name in ("BREAK", "LOCKED"):
        return [words[1]], words[2] if len(words) > 2 else None, None, {}
    if name == "CHECK":
        return [words[1]], None, None, {"TOKEN": words[2]}
    if name in ("LOCKINFO", "GET", "DEL", "QUEUE"):
        return [words[1]], None, None, {}
    raise Unreadable(f"unknown command: {words}")


def _action(words, request, until, reply, is_answered, in_step):
    keys, owner, heir, options = _parts(words)
    token = int(options["TOKEN"]) if "TOKEN" in options else None
    return Action(words[0], list(keys), owner, options, request.client, request.life, request.sent,
                  until, reply, is_answered, in_step, heir, token)


IGNORED = ("HELLO", "PING")


def actions_of(request, life_ends):
    """Returns the actions of a recorded request. `life_ends` says when each process ended, by
    number."""
    words = request.words
    if words[0] in IGNORED:
        return []
    until = request.answered if request.is_answered else life_ends.get(request.life, FOREVER)
    if words[0] != "STEP":
        return [_action(words, request, until, request.reply, request.is_answered, False)]
    commands = words[2:]
    is_known = isinstance(request.reply, list) and len(request.reply) == len(commands)
    replies = request.reply if is_known else [None] * len(commands)
    return [_action(command, request, until, reply, is_known, True)
            for command, reply in zip(commands, replies)]


def as_map(reply):
    """Returns a map, even if the reply came as a flat list, as in RESP2."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
