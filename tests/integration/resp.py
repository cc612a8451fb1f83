"""A client that shows the wire format: requests as words or bytes, replies by their types."""

import socket
import struct


class ErrorReply(str):
    """An error, as the text after the minus sign."""


class Simple(str):
    """A simple string."""


class Double(str):
    """A number of RESP3, as its text."""


class Set(list):
    """A set of RESP3."""


class Ended(Exception):
    """The other side closed the connection."""


def request(*words):
    """Returns the bytes of a request."""
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Connection:
    """A blocking connection, with a time-out that fails the test."""

    TIMEOUT_SECONDS = 20

    def __init__(self, stream):
        self.socket = stream
        self.socket.settimeout(self.TIMEOUT_SECONDS)
        self.buffer = b""

    @classmethod
    def to(cls, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        stream = socket.socket(family)
        try:
            stream.connect(address)
        except OSError:
            stream.close()
            raise
        if family == socket.AF_INET:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(stream)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection as a crash of the machine would: what is under way is lost."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, *words):
        """Sends a request and returns its reply."""
        self.send(request(*words))
        return self.reply()

    def settle(self):
        """Returns when the server has processed everything that others sent to it before the
        call."""
        for _ in range(2):
            assert self.ask("PING") == "PONG"

    def reply(self):
        kind, rest = self._line()
        if kind == b"+":
            return Simple(rest.decode())
        if kind == b"-":
            return ErrorReply(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"_":
            return None
        if kind == b"$":
            return None if rest == b"-1" else self._exactly(int(rest))
        if kind in (b"*", b">"):
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        if kind == b",":
            return Double(rest.decode())
        if kind == b"~":
            return Set(self.reply() for _ in range(int(rest)))
        if kind == b"%":
            return {self.reply(): self.reply() for _ in range(int(rest))}
        raise AssertionError(f"not a reply: {kind + rest}")

    def map(self):
        """Returns a map reply, even if RESP2 has made it a flat array."""
        reply = self.reply()
        return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))

    def ask_map(self, *words):
        self.send(request(*words))
        return self.map()

    def has_ended(self):
        """Waits until the server closes or sends a byte; returns True if it closes without another
        byte."""
        try:
            return not self.buffer and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def rest(self):
        """Returns all bytes until the server closes."""
        try:
            while data := self.socket.recv(65536):
                self.buffer += data
        except ConnectionResetError:
            pass
        return self.buffer

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._receive()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line[:1], line[1:]

    def _exactly(self, size):
        while len(self.buffer) < size + 2:
            self._receive()
        data, self.buffer = self.buffer[:size], self.buffer[size + 2:]
        return data

    def _receive(self):
        data = self.socket.recv(65536)
        if not data:
            raise Ended
        self.buffer += data
