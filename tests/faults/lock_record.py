"""Checks that the lock events that the server publishes form a history that its rules allow."""

import collections
import json

ENDS = {"released", "expired", "disconnected", "broken", "undone"}
LEAVES = {"cancelled", "timeout", "lapsed"}


class Broken(AssertionError):
    """A broken promise."""


class Key:
    def __init__(self):
        self.holders = {}  # owner -> token
        self.line = collections.OrderedDict()  # owners in the order of their places


class LockRecord:
    """Takes the messages of __lock@0__:*, in order.

    The prefix of a key says what it allows: `one:` a single holder; `two:` two holders; `doc:`
    either many holders whose names begin with `reader`, or one other. `is_dead(owner)` says whether
    a client has gone: only dead waiters may be skipped in the queue.
    """

    def __init__(self, is_dead):
        self.is_dead = is_dead
        self.keys = collections.defaultdict(Key)
        self.newest_token = 0
        self.newest_owner = None
        self.counts = collections.Counter()

    def take(self, text):
        message = json.loads(text)
        event, name, owner = message["event"], message["key"], message["owner"]
        key = self.keys[name]
        self.counts[event] += 1
        if event == "granted":
            self._grant(name, key, owner, message["token"])
        elif event in ENDS:
            if key.holders.pop(owner, None) != message["token"]:
                raise Broken(f"{name}: {event} of {owner}, who did not hold it: {message}")
        elif event == "queued":
            key.line[owner] = True
        elif event in LEAVES:
            key.line.pop(owner, None)
        if not key.holders and not key.line:
            del self.keys[name]

    def _grant(self, name, key, owner, token):
        # An MLOCK has one token for all its keys.
        is_next = token > self.newest_token or (token == self.newest_token and
                                                owner == self.newest_owner)
        if not is_next:
            raise Broken(f"{name}: token {token} of {owner} after {self.newest_token}")
        self.newest_token, self.newest_owner = token, owner
        self._check_order(name, key, owner)
        key.line.pop(owner, None)
        key.holders[owner] = token
        self._check_together(name, key)

    def _check_order(self, name, key, owner):
        # With semaphores, readers or several keys, later waiters may be admitted first.
        if not name.startswith("one:"):
            return
        for other in key.line:
            if other == owner:
                return
            if not self.is_dead(other):
                raise Broken(f"{name}: {owner} was granted before {other}")

    @staticmethod
    def _check_together(name, key):
        if name.startswith("doc:") and all(owner.startswith("reader") for owner in key.holders):
            return
        allowed = 2 if name.startswith("two:") else 1
        if len(key.holders) > allowed:
            raise Broken(f"{name}: held by {sorted(key.holders)} together")
