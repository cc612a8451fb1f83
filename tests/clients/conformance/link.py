"""A TCP proxy between one driver and its servers, which counts requests, can cut connections, and
spoils requests: loses them, delays them, or cuts or delays their replies."""

import collections
import re
import socket
import threading
import time


_COUNT = re.compile(rb"\*(\d+)\r\n")
_SIZE = re.compile(rb"\$(\d+)\r\n")
_LINE = re.compile(rb"([^\r]*)\r\n")
# How long a server may take to reply to a late request before the end of its connection is passed
# on.
_LATE_REPLY_SECONDS = 5


# Over version 3 of the protocol, these are answered by messages only.
_ABOUT_CHANNELS = ("subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe",
                   "sunsubscribe")


class RequestReader:
    """Reads what one connection sends, unless it is encrypted."""

    def __init__(self):
        self._rest = b""
        self.is_clear = True

    def read(self, data):
        """Returns the names and the bytes of the requests that are now complete. What is encrypted
        has no name."""
        self._rest += data
        if not self._rest.startswith(b"*"):
            self.is_clear = False
        if not self.is_clear:
            whole, self._rest = self._rest, b""
            return [(None, whole)]
        requests = []
        while (request := self._request()) is not None:
            requests.append(request)
        return requests

    def _request(self):
        """Takes the next request; returns None if it is not complete."""
        count = _COUNT.match(self._rest)
        if count is None:
            return None
        name, end = None, count.end()
        for _ in range(int(count[1])):
            size = _SIZE.match(self._rest, end)
            if size is None or len(self._rest) < size.end() + int(size[1]) + 2:
                return None
            end = size.end() + int(size[1]) + 2
            if name is None:
                name = self._rest[size.end():end - 2].decode(errors="replace").lower()
        whole, self._rest = self._rest[:end], self._rest[end:]
        return name, whole


class ReplyReader:
    """Reads what one connection receives, in either version of the protocol."""

    def __init__(self):
        self._rest = b""

    def read(self, data):
        """Returns the bytes of the replies that are now complete. One that begins with `>` answers
        no request."""
        self._rest += data
        replies = []
        while (end := self._end_of_value(0)) is not None:
            replies.append(self._rest[:end])
            self._rest = self._rest[end:]
        return replies

    def _end_of_value(self, start):
        """Returns where the value that begins there ends; None if it is not complete."""
        line = _LINE.match(self._rest, start)
        if line is None:
            return None
        kind, end = line[1][:1], line.end()
        if kind in b"$=!" and line[1] != b"$-1":
            end += int(line[1][1:]) + 2
            return end if end <= len(self._rest) else None
        if kind not in b"*~>%|" or line[1] == b"*-1":
            return end
        parts = int(line[1][1:]) * (2 if kind in b"%|" else 1) + (kind == b"|")
        for _ in range(parts):
            end = self._end_of_value(end)
            if end is None:
                return None
        return end


class PortChanger:
    """Replaces ports in what one connection receives: a client that learns the address of another
    node connects to that node through the link too. Both ports have five digits, so no length
    changes."""

    def __init__(self, ports):
        self._texts = {}  # {what names a node: what takes its place}
        for before, after in ports.items():
            assert len(str(before)) == len(str(after)) == 5, (before, after)
            for form in (":%d\r\n", "127.0.0.1:%d"):
                self._texts[(form % before).encode()] = (form % after).encode()
        self._rest = b""

    def read(self, data):
        """Returns what can be passed on: whole lines."""
        whole, end, self._rest = (self._rest + data).rpartition(b"\r\n")
        whole += end
        for before, after in self._texts.items():
            whole = whole.replace(before, after)
        return whole


class Fault:
    """What happens to one request. One of these is set:

    lost      the request is not passed on, and its connection is closed
    cut       the server executes the request, but instead of its reply, the connection is closed
    arrives   the request reaches the server this much later, although the driver may have closed
              its connection by then
    answered  the reply reaches the driver this much later
    """

    def __init__(self, lost=False, cut=False, arrives=0, answered=0):
        self.is_lost = lost
        self.is_cut = cut
        self.arrives_seconds = arrives
        self.answered_seconds = answered
        self.is_sent = threading.Event()      # the driver has sent the request
        self.is_executed = threading.Event()  # the server has replied, or never will


class Conversation:
    """The requests of one connection that have no reply yet, in order."""

    def __init__(self):
        self.faults = collections.deque()  # one for each of them, which may be None
        self.is_clear = True
        self.marks_messages = False  # version 3 of the protocol begins them with `>`
        self.has_channels = False  # after it, other data from the server may answer no request


class Link:
    """Listens on a port for each of the servers' ports. `requests` counts by name what the driver
    has sent, except over TLS."""

    def __init__(self, targets):
        self.requests = collections.Counter()
        self._faults = {}  # {name: a deque of the faults of the next such requests}
        self._open = set()
        self._guard = threading.Lock()
        self._listeners = [socket.create_server(("127.0.0.1", 0), backlog=512) for _ in targets]
        self.ports = [listener.getsockname()[1] for listener in self._listeners]
        # A single server names no other.
        self._changes = dict(zip(targets, self.ports)) if len(targets) > 1 else {}
        for listener, target in zip(self._listeners, targets):
            threading.Thread(target=self._accept, args=(listener, target), daemon=True).start()

    def close(self):
        for listener in self._listeners:
            # Unlike close(), this also ends an accept() that waits.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def cut(self):
        """Closes all connections, in both directions; returns how many there were."""
        with self._guard:
            ends, self._open = self._open, set()
        for end in ends:
            _shut(end)
        return len(ends) // 2

    def spoil(self, name, faults):
        """The next requests with this name meet these faults, one each, after earlier faults."""
        with self._guard:
            self._faults.setdefault(name, collections.deque()).extend(faults)

    def heal(self):
        """No request meets a fault from now on."""
        with self._guard:
            self._faults.clear()

    def _accept(self, listener, target):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", target), 5)
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.settimeout(None)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._guard:
                self._open |= {near, far}
            talk = Conversation()
            for way in ((near, far, self._send, talk), (far, near, self._receive, talk)):
                threading.Thread(target=self._pump, args=way, daemon=True).start()

    def _pump(self, source, target, pass_on, talk):
        try:
            pass_on(source, target, talk)
        except OSError:
            pass
        for end in (source, target):
            _shut(end)
        # The other direction has its own copy of this thread; the last of the two closes.
        with self._guard:
            self._open.discard(source)
            is_last = target not in self._open
        if is_last:
            source.close()
            target.close()

    def _send(self, near, far, talk):
        """Passes on what the driver sends; returns when the connection must be closed."""
        reader = RequestReader()
        while data := near.recv(65536):
            for name, request in reader.read(data):
                fault = self._count(name, request, talk)
                if fault is not None:
                    fault.is_sent.set()
                    if fault.is_lost:
                        fault.is_executed.set()
                        return
                    time.sleep(fault.arrives_seconds)
                far.sendall(request)
                if fault is not None and fault.arrives_seconds:
                    # The driver may have closed its end, which must not overtake the request.
                    fault.is_executed.wait(_LATE_REPLY_SECONDS)

    def _count(self, name, request, talk):
        """Takes note of a request; returns its fault, or None."""
        with self._guard:
            if name is None:
                talk.is_clear = False
                return None
            self.requests[name] += 1
            talk.marks_messages |= name == "hello" and b"\r\n3\r\n" in request
            if name in _ABOUT_CHANNELS:
                talk.has_channels |= not talk.marks_messages
                return None
            if talk.has_channels:
                return None
            faults = self._faults.get(name)
            fault = faults.popleft() if faults else None
            talk.faults.append(fault)
            return fault

    def _receive(self, far, near, talk):
        """Passes on what the server sends; returns when the connection must be closed. Requests
        without a reply then never get one."""
        try:
            self._pass_replies(far, near, talk)
        finally:
            with self._guard:
                for fault in filter(None, talk.faults):
                    fault.is_executed.set()

    def _pass_replies(self, far, near, talk):
        reader = ReplyReader()
        changer = PortChanger(self._changes) if self._changes else None
        while data := far.recv(65536):
            for reply in reader.read(data) if talk.is_clear else [data]:
                is_message = talk.has_channels or reply.startswith(b">")
                fault = None if is_message or not talk.faults else talk.faults.popleft()
                if fault is not None:
                    fault.is_executed.set()
                    if fault.is_cut:
                        return
                    time.sleep(fault.answered_seconds)
                near.sendall(changer.read(reply) if changer else reply)


def _shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
