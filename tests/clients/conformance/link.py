"""A TCP proxy between one driver and its servers, which counts requests and can cut connections."""

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


class Link:
    """Listens on a port for each of the servers' ports. `requests` counts by name what the driver
    has sent, except over TLS."""

    def __init__(self, targets):
        self.requests = collections.Counter()
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
            for ends in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source, target, is_sent):
        reader = RequestReader()
        changer = PortChanger(self._changes) if self._changes and not is_sent else None
        try:
            while data := source.recv(65536):
                if is_sent:
                    with self._guard:
                        self.requests.update(reader.read(data))
                target.sendall(changer.read(data) if changer else data)
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
