"""Measures the delay that another connection notices: the longest of its PINGs, sent once per
millisecond."""

import threading
import time


class LongestPing:
    """Used in a with statement; `milliseconds` is the longest PING so far."""

    def __init__(self, server, user=None):
        self.connection = server.connect()
        if user is not None:
            assert self.connection.ask("AUTH", user, "any") == "OK"
        self.milliseconds = 0.0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.is_over.set()
        self.thread.join()
        self.connection.close()

    def _run(self):
        while not self.is_over.wait(0.001):
            begin = time.monotonic()
            assert self.connection.ask("PING") == "PONG"
            self.milliseconds = max(self.milliseconds, (time.monotonic() - begin) * 1000)
