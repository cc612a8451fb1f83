"""A client of a fleet: it asks one node after the other, and records what it asked and was told.

The records are those of tests/histories: a Request without an answer has an unknown outcome, and a
Closed of the same client says when it gave up or lost the connection.
"""

import os
import pathlib
import socket
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "tests/histories")]
os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))
os.environ.setdefault("STEPPED_CLOCK",
                      str(ROOT / "build/release/tests/integration/libstepped_clock.so"))

# pylint: disable=wrong-import-position
import wire
from records import Closed, Request, now

LOST = object()           # nobody knows whether the request was executed
PATIENCE_S = 3
CONNECT_SECONDS_MAX = 1
PAUSE_S = 0.03            # after every node has refused; then twice as long each time
PAUSE_S_MAX = 0.5         # with less, clients that ask in vain would use up the processors
# The request was not executed; another node may execute it.
REFUSALS = ("CLUSTERDOWN", "LOADING", "STORAGE", "EXECABORT")


class Over(Exception):
    """The load ends, and nobody waits for the outcome."""


class Session:
    """Used by one thread. A request is in progress on at most one connection. The `life` of its
    records is the number of the connection."""

    _numbers_guard = threading.Lock()
    _numbers = 0

    def __init__(self, ports, history, is_abandoned, pause_s_max=PAUSE_S_MAX):
        with Session._numbers_guard:
            Session._numbers += 1
            self.number = Session._numbers
        self.ports = ports
        self.history = history
        self.is_abandoned = is_abandoned
        self.pause_s_max = pause_s_max
        self.at = self.number % len(ports)
        self.connections = 0
        self.stream = None
        self.parser = None

    def ask(self, *words, seconds=PATIENCE_S):
        """Returns the reply, or LOST."""
        refused, pause_s = 0, PAUSE_S
        while True:
            leader = None
            if self.is_abandoned.is_set():
                self.close()
                raise Over
            if self.stream is not None or self._connect(seconds):
                request = Request(self.number, self.connections, now(), list(words))
                reply = self._exchange(words, seconds)
                if reply is LOST:
                    self.close()
                    self.history.requests.append(request)
                    self.history.closes.append(
                        Closed(self.number, self.connections, now(), "reset"))
                    self.at += 1
                    return LOST
                if leader := moved_to(reply):
                    self._go_to(leader)
                elif not is_refusal(reply):
                    request.answered, request.reply = now(), reply
                    self.history.requests.append(request)
                    return reply
            if not leader:
                self.close()
                self.at += 1
            refused += 1
            if refused % len(self.ports) == 0:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, self.pause_s_max)

    def surely(self, *words):
        """Repeats an idempotent request until it is answered."""
        while (reply := self.ask(*words)) is LOST:
            pass
        return reply

    def close(self):
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def _go_to(self, port):
        """The request was not executed."""
        self.close()
        self.at = self.ports.index(port)

    def _connect(self, seconds):
        """Connects, and returns whether a node answers. This keeps requests from being sent into a
        connection that leads nowhere, which would leave their outcome unknown."""
        try:
            self.stream = socket.create_connection(
                ("127.0.0.1", self.ports[self.at % len(self.ports)]), CONNECT_SECONDS_MAX)
        except OSError:
            return False
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.parser = wire.Parser()
        self.connections += 1
        return self._exchange(["PING"], min(seconds, CONNECT_SECONDS_MAX)) is not LOST

    def _exchange(self, words, seconds):
        """Sends one command, or the STEP of several, whose reply is that of EXEC."""
        end = time.monotonic() + seconds
        commands = [["MULTI"], *words[2:], ["EXEC"]] if words[0] == "STEP" else [words]
        replies = []
        try:
            self.stream.sendall(b"".join(map(wire.encode, commands)))
            while (left := end - time.monotonic()) > 0 and not self.is_abandoned.is_set():
                self.stream.settimeout(min(left, 0.5))
                try:
                    data = self.stream.recv(1 << 18)
                except TimeoutError:
                    continue
                if not data:
                    return LOST
                self.parser.feed(data)
                replies += self.parser.replies()
                if len(replies) == len(commands):
                    refused = (one for one in replies if moved_to(one) or is_refusal(one))
                    return next(refused, replies[-1])
        except OSError:
            pass
        return LOST


def moved_to(reply):
    """Returns the port of the leader to which the reply redirects, or None."""
    if isinstance(reply, dict) and reply.get("error", "").startswith("MOVED "):
        return int(reply["error"].rsplit(":", 1)[1])
    return None


def is_refusal(reply):
    return isinstance(reply, dict) and reply.get("error", "").startswith(REFUSALS)
