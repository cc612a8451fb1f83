"""Incremental RESP parser that returns replies in the form of records.Request."""


class Incomplete(Exception):
    """The rest of the reply has not arrived."""


def encode(words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Push(list):
    """A RESP3 push message, which is not a reply."""


class Parser:
    def __init__(self):
        self._data = b""
        self._at = 0

    def feed(self, data):
        self._data = self._data[self._at:] + data
        self._at = 0

    def replies(self):
        """Returns all complete replies."""
        while self._at < len(self._data):
            begin = self._at
            try:
                yield self._reply()
            except Incomplete:
                self._at = begin
                return

    def _line(self):
        end = self._data.find(b"\r\n", self._at)
        if end < 0:
            raise Incomplete
        line = self._data[self._at:end]
        self._at = end + 2
        return line

    def _bulk(self, size):
        end = self._at + size
        if len(self._data) < end + 2:
            raise Incomplete
        text = self._data[self._at:end]
        self._at = end + 2
        return text.decode()

    def _reply(self):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b":":
            return int(rest)
        if kind == b"_" or rest == b"-1":
            return None
        if kind == b"$":
            return self._bulk(int(rest))
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return {"error": rest.decode()}
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]
        if kind == b">":
            return Push(self._reply() for _ in range(int(rest)))
        if kind == b"%":
            return {self._reply(): self._reply() for _ in range(int(rest))}
        raise ValueError(f"not a reply: {line!r}")
