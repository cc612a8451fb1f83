"""A proxy before a server: records what clients send, and can fall silent like a lost network."""

import socket
import threading


class Proxy:
    """Used in a with statement. `sent` is what all clients have sent, one byte string for each
    connection. While `is_silent`, it forwards nothing and accepts no connection."""

    def __init__(self, port):
        self.sent = []
        self.is_silent = False
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *failure):
        self._listener.shutdown(socket.SHUT_RDWR)  # unlike close(), this ends accept()
        self._listener.close()

    def requests(self):
        """Returns the words of all requests so far."""
        words = []
        for stream in self.sent:
            data = bytes(stream)
            while data.startswith(b"*"):
                count, _, data = data[1:].partition(b"\r\n")
                for _ in range(int(count)):
                    size, _, data = data[1:].partition(b"\r\n")
                    words.append(data[:int(size)])
                    data = data[int(size) + 2:]
        return words

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.is_silent:
                near.close()
                continue
            far = socket.create_connection(self._target)
            self.sent.append(bytearray())
            for ends in ((near, far, self.sent[-1]), (far, near, None)):
                threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source, target, record):
        with source:
            try:
                while data := source.recv(65536):
                    if self.is_silent:
                        continue
                    if record is not None:
                        record += data
                    target.sendall(data)
                target.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
