"""Many connections in one loop. Tasks are generators, and every request is recorded.

A task yields a Pending to wait until it is answered or lost, a number to sleep for that many
seconds, or (Pending, seconds) to wait at most that long.
"""

import collections
import heapq
import json
import select
import socket
import struct
import time

from records import Closed, Message, Request, now
import wire

STEP_SCRIPT = """
local replies, at = {}, 1
while ARGV[at] do
  local words = {}
  for i = 1, tonumber(ARGV[at]) do words[i] = ARGV[at + i] end
  at = at + #words + 1
  replies[#replies + 1] = redis.pcall(unpack(words))
end
return replies
"""
RELEASE_SCRIPT = ("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
                  "else return 0 end")


class Pending:
    """A request that has been sent, and the task that waits for it."""

    __slots__ = ("request", "skipped", "task", "is_done")

    def __init__(self, request, skipped):
        self.request = request
        self.skipped = skipped
        self.task = None
        self.is_done = False

    @property
    def reply(self):
        return self.request.reply

    @property
    def is_lost(self):
        return self.is_done and not self.request.is_answered


def bytes_of(words):
    """Returns the bytes to send for a recorded request, and how many replies precede its own."""
    if words[0] == "RELEASE":
        return wire.encode(["EVAL", RELEASE_SCRIPT, 1, *words[1:]]), 0
    if words[0] != "STEP":
        return wire.encode(words), 0
    commands = words[2:]
    if words[1] == "EXEC":
        parts = [wire.encode(one) for one in (["MULTI"], *commands, ["EXEC"])]
        return b"".join(parts), len(commands) + 1
    flat = [word for command in commands for word in (len(command), *command)]
    return wire.encode(["EVAL", STEP_SCRIPT, 0, *flat]), 0


class Link:
    """One connection."""

    def __init__(self, loop, stream, number, life):
        self.loop = loop
        self.socket = stream
        self.number = number
        self.life = life
        self.parser = wire.Parser()
        self.pending = collections.deque()
        self.inbox = collections.deque()
        self.is_open = True
        self.is_half_closed = False

    def ask(self, *words):
        words = list(words)
        data, skipped = bytes_of(words)
        pending = Pending(Request(self.number, self.life, now(), words), skipped)
        self.loop.history.requests.append(pending.request)
        if not self.is_open or self.is_half_closed:
            self.loop.finish(pending)
            return pending
        self.pending.append(pending)
        self._send(data)
        return pending

    def tell(self, *words):
        """Sends a request without recording it, because push messages answer it, or because its
        reply does not matter."""
        self._send(wire.encode(words))

    def _send(self, data):
        try:
            self.socket.sendall(data)
        except BlockingIOError as failure:
            raise AssertionError("the server does not read") from failure
        except OSError:
            self._read_the_rest()

    def _read_the_rest(self):
        """The server has closed the connection: takes the replies that it had sent before."""
        while self.is_open and self.receive():
            pass
        self._end("server")

    def close(self, by="close"):
        if not self.is_open:
            return
        if by == "half":
            self.is_half_closed = True
            self.loop.history.closes.append(Closed(self.number, self.life, now(), "half"))
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                self._read_the_rest()
            return
        if by == "reset":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._end(by)

    def _end(self, by):
        if not self.is_open:
            return
        self.is_open = False
        self.loop.forget(self)
        self.loop.history.closes.append(Closed(self.number, self.life, now(), by))
        self.socket.close()
        while self.pending:
            self.loop.finish(self.pending.popleft())

    def receive(self):
        """Returns whether something arrived."""
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        at = now()
        if not data:
            self._end("server")
            return False
        self.parser.feed(data)
        for reply in self.parser.replies():
            self._take(reply, at)
        return True

    def _take(self, reply, at):
        if isinstance(reply, wire.Push):
            if reply[0] == "message":
                message = Message(self.number, at, reply[1], json.loads(reply[2]))
                self.loop.history.messages.append(message)
                self.inbox.append(message.event)
            return
        pending = self.pending[0]
        if pending.skipped:
            pending.skipped -= 1
            return
        self.pending.popleft()
        pending.request.answered = at
        pending.request.reply = reply
        self.loop.finish(pending)


class Loop:
    """Runs tasks and connections."""

    def __init__(self, history):
        self.history = history
        self._poll = select.epoll()
        self._links = {}
        self._timers = []
        self._ready = collections.deque()
        self._count = 0

    def connect(self, address, life):
        """Raises OSError if no server listens."""
        stream = socket.socket(socket.AF_INET)
        stream.settimeout(5)
        try:
            stream.connect(address)
        except OSError:
            stream.close()
            raise
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.setblocking(False)
        self._count += 1
        link = Link(self, stream, self._count, life)
        self._links[stream.fileno()] = link
        self._poll.register(stream.fileno(), select.EPOLLIN)
        return link

    def forget(self, link):
        del self._links[link.socket.fileno()]
        self._poll.unregister(link.socket.fileno())

    def start(self, task):
        self._ready.append((task, None))

    def finish(self, pending):
        pending.is_done = True
        if pending.task is not None:
            task, pending.task = pending.task, None
            self._ready.append((task, pending))

    def run(self, seconds, is_over=lambda: False):
        end = time.monotonic() + seconds
        while not is_over() and (left := end - time.monotonic()) > 0:
            self._run_ready()
            self._wait(min(left, 0.02))

    def has_links(self):
        return bool(self._links)

    def close(self):
        """Drops all tasks, then all connections."""
        self._timers.clear()
        for link in list(self._links.values()):
            link.close()
        self._ready.clear()
        self._poll.close()

    def _wait(self, seconds):
        if self._ready:
            seconds = 0
        elif self._timers:
            seconds = max(0, min(seconds, self._timers[0][0] - time.monotonic()))
        for number, _ in self._poll.poll(seconds):
            link = self._links.get(number)
            if link is not None:
                link.receive()
        time_now = time.monotonic()
        while self._timers and self._timers[0][0] <= time_now:
            _, _, task, pending = heapq.heappop(self._timers)
            self._end_sleep(task, pending)

    def _end_sleep(self, task, pending):
        if pending is None:
            self._ready.append((task, None))
        elif pending.task is task:
            pending.task = None
            self._ready.append((task, pending))

    def _run_ready(self):
        for _ in range(len(self._ready)):
            task, value = self._ready.popleft()
            try:
                wanted = task.send(value)
            except StopIteration:
                continue
            self._await(task, wanted)

    def _await(self, task, wanted):
        if not isinstance(wanted, (Pending, tuple)):
            self._sleep(task, None, wanted)
            return
        pending, seconds = wanted if isinstance(wanted, tuple) else (wanted, None)
        if pending.is_done:
            self._ready.append((task, pending))
            return
        pending.task = task
        if seconds is not None:
            self._sleep(task, pending, seconds)

    def _sleep(self, task, pending, seconds):
        self._count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._count, task, pending))
