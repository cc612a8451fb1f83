"""Clients of a fleet that must lose nothing: some take turns, one holds a lock, one waits for that.
"""

import threading
import time

import resp

TURNS = 3
LEASE_MS = 3_600_000
SECONDS_MAX = 60


class FleetLoad:
    """Used in a with statement; the end of it checks that nothing was lost. The clients ask the
    node that leads, and repeat a request whose connection was lost."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.is_over = threading.Event()
        self.tokens = []
        self.inside = None  # who has the lock for which the clients take turns
        self.violations = []
        self.kept = None
        self.granted_next = None
        self.threads = [threading.Thread(target=self._take_turns, args=(f"worker{i}",))
                        for i in range(TURNS)]
        self.waiter = threading.Thread(target=self._wait)

    def __enter__(self):
        self.kept = self._ask("LOCK", "kept", "owner", "PX", LEASE_MS)
        for thread in [*self.threads, self.waiter]:
            thread.start()
        self.await_progress()
        return self

    def __exit__(self, failure, *details):
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        was_early = self.granted_next is not None
        is_kept = self._ask("CHECK", "kept", self.kept)
        self._ask("UNLOCK", "kept", "owner")
        self.waiter.join()
        if failure is not None:
            return
        assert not self.violations, self.violations
        assert self.tokens == sorted(self.tokens), "a token fell"
        assert is_kept == 1 and not was_early, "a lock was lost"
        assert self.granted_next > self.kept

    def await_progress(self):
        """Waits until the clients have taken a few more turns."""
        before = len(self.tokens)
        end = time.monotonic() + SECONDS_MAX
        while len(self.tokens) < before + 20:
            assert time.monotonic() < end, self.fleet.logs()
            time.sleep(0.02)

    def _ask(self, *words):
        """Returns the first reply that is no error."""
        while True:
            try:
                with self.fleet.await_leader().connect(20) as client:
                    reply = client.ask(*words)
            except (OSError, resp.Ended):
                continue
            if not isinstance(reply, resp.ErrorReply):
                return reply

    def _take_turns(self, owner):
        while not self.is_over.is_set():
            leader = self.fleet.leader()
            try:
                if leader is not None:
                    with leader.connect(20) as client:
                        while not self.is_over.is_set():
                            self._take_turn(client, owner)
            except (OSError, resp.Ended):
                self._leave(owner)

    def _take_turn(self, client, owner):
        token = client.ask("LOCK", "busy", owner, "PX", LEASE_MS, "WAIT", "10s")
        if not isinstance(token, int):
            return
        if self.inside is not None:
            self.violations.append(f"{owner} has the lock, and {self.inside} too")
        self.inside = owner
        self.tokens.append(token)
        self._leave(owner)
        client.ask("UNLOCK", "busy", owner)

    def _leave(self, owner):
        if self.inside == owner:
            self.inside = None

    def _wait(self):
        while self.granted_next is None:
            leader = self.fleet.leader()
            try:
                if leader is not None:
                    with leader.connect(SECONDS_MAX) as client:
                        reply = client.ask("LOCK", "kept", "next", "PX", LEASE_MS, "KEEP", "1m",
                                           "WAIT", "50s")
                        if isinstance(reply, int):
                            self.granted_next = reply
            except (OSError, resp.Ended):
                pass
