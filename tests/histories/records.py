"""The history of a load: what clients sent and received, and when. All times are nanoseconds of
CLOCK_BOOTTIME. The load and the checker share only this format.

`words` is the meaning of a request: a command as it was sent; ["STEP", "EXEC" | "EVAL", command,
...] for several commands executed as one step, answered with the list of their replies; or
["RELEASE", key, value], the compare-and-delete script of Redis clients.
"""

import dataclasses
import json
import time

EXTENSION = ".history"


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@dataclasses.dataclass(slots=True)
class Request:
    """A request in the interval [sent, answered]; answered None: its connection was lost first.

    A reply is an int, None (nil), a string, a list, a map, or {"error": text}.
    """
    client: int
    life: int
    sent: int
    words: list
    answered: int | None = None
    reply: object = None

    @property
    def is_answered(self):
        return self.answered is not None

    @property
    def error(self):
        is_error = isinstance(self.reply, dict) and set(self.reply) == {"error"}
        return self.reply["error"] if is_error else None


@dataclasses.dataclass(slots=True)
class Message:
    """A message of a channel, as it arrived."""
    client: int
    at: int
    channel: str
    event: dict


@dataclasses.dataclass(slots=True)
class Closed:
    """The end of a connection: closed by its client ("close", "half" or "reset") or by the
    "server"."""
    client: int
    life: int
    at: int
    by: str


@dataclasses.dataclass(slots=True)
class Life:
    """One process of the server. `how` is the way it ended: "SIGTERM", "SHUTDOWN", "SIGKILL", or
    "power", which also loses unsynced data. `ended` is None while it is running."""
    number: int
    spawned: int
    ready: int
    how: str | None = None
    ending: int | None = None
    ended: int | None = None
    status: int | None = None

    @property
    def is_clean(self):
        return self.how in ("SIGTERM", "SHUTDOWN")


@dataclasses.dataclass
class History:
    lives: list = dataclasses.field(default_factory=list)
    requests: list = dataclasses.field(default_factory=list)
    messages: list = dataclasses.field(default_factory=list)
    closes: list = dataclasses.field(default_factory=list)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            for kind, rows in self._kinds():
                for row in rows:
                    values = [getattr(row, field.name) for field in dataclasses.fields(row)]
                    file.write(json.dumps([kind, *values]) + "\n")

    @classmethod
    def read(cls, path):
        history = cls()
        lists = {"life": (Life, history.lives), "request": (Request, history.requests),
                 "message": (Message, history.messages), "closed": (Closed, history.closes)}
        with open(path, encoding="utf-8") as file:
            for line in file:
                kind, *values = json.loads(line)
                row_type, rows = lists[kind]
                rows.append(row_type(*values))
        return history

    def _kinds(self):
        return (("life", self.lives), ("request", self.requests), ("message", self.messages),
                ("closed", self.closes))
