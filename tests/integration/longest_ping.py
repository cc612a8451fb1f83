"""What another connection notices of a fault or an attack, by what it asks in a thread."""

import threading
import time


class Repeated:
    """Calls `act` once per millisecond in a thread. Used in a with statement, which fails with what
    `act` raised."""

    def __init__(self, act):
        self.act = act
        self.failure = None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *failure):
        self.is_over.set()
        self.thread.join()
        if self.failure is not None and kind is None:
            raise AssertionError("the other connection failed") from self.failure

    def _run(self):
        try:
            while not self.is_over.wait(0.001):
                self.act()
        except Exception as error:  # raised by __exit__
            self.failure = error


class LongestPing(Repeated):
    """`milliseconds` is the longest PING so far."""

    def __init__(self, server, user=None):
        super().__init__(self._ping)
        self.connection = server.connect()
        if user is not None:
            assert self.connection.ask("AUTH", user, "any") == "OK"
        self.milliseconds = 0.0

    def __exit__(self, *failure):
        try:
            super().__exit__(*failure)
        finally:
            self.connection.close()

    def _ping(self):
        begin = time.monotonic()
        assert self.connection.ask("PING") == "PONG"
        self.milliseconds = max(self.milliseconds, (time.monotonic() - begin) * 1000)
