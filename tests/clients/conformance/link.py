"""A TCP proxy between one driver and its server, which counts requests and can cut connections."""

import collections
import re
import socket
import threading


_COUNT = re.compile(rb"\*(\d+)\r\n")
_SIZE = re.compile(rb"\$(\d+)\r\n")


class RequestReader:
    """Reads what one connection sends, unless it is encrypted."""

    def __init__(self):
        self._rest = b""

    def read(self, data):
        """Returns the names of the requests that are now complete."""
        self._rest += data
        if not self._rest.startswith(b"*"):
            self._rest = b""
        names = []
        while (words := self._words()) is not None:
            names.append(words[0].decode(errors="replace").lower())
        return names

    def _words(self):
        """Takes the next request; returns None if it is not complete."""
        count = _COUNT.match(self._rest)
        if count is None:
            return None
        words, end = [], count.end()
        for _ in range(int(count[1])):
            size = _SIZE.match(self._rest, end)
            if size is None or len(self._rest) < size.end() + int(size[1]) + 2:
                return None
            end = size.end() + int(size[1]) + 2
            words.append(self._rest[size.end():end - 2])
        self._rest = self._rest[end:]
        return words


class Link:
    """Listens on `port`. `requests` counts by name what the driver has sent, except over TLS."""

    def __init__(self, target):
        self.target = target
        self.requests = collections.Counter()
        self._open = set()
        self._guard = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # Unlike close(), this also ends an accept() that waits.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self):
        """Closes all connections, in both directions; returns how many there were."""
        with self._guard:
            ends, self._open = self._open, set()
        for end in ends:
            _shut(end)
        return len(ends) // 2

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.settimeout(None)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._guard:
                self._open |= {near, far}
            for ends in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source, target, is_sent):
        reader = RequestReader()
        try:
            while data := source.recv(65536):
                if is_sent:
                    with self._guard:
                        self.requests.update(reader.read(data))
                target.sendall(data)
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


def _shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
