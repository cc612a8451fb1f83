"""A program on a pseudo-terminal: accepts typed text, and returns what the program draws."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

PATIENCE_SECONDS = 20
ROWS, COLUMNS = 50, 240
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Used in a with statement, at whose end the program is ended."""

    def __init__(self, *words, environment=None):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            # Set before the program checks: without a size, it would ask for the position of the
            # cursor.
            size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.execvpe(words[0], words, {**os.environ, "TERM": "xterm", **(environment or {})})
        self.drawn = b""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        os.close(self.descriptor)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)

    def type(self, text):
        """Types the text, and discards what was drawn before."""
        self.drawn = b""
        os.write(self.descriptor, text.encode())

    def text(self):
        """Returns what has been drawn since, without colours and cursor movements."""
        return ESCAPES.sub(b"", self.drawn).decode(errors="replace")

    def wait_for(self, wanted):
        """Reads until the text appears, and returns everything drawn since text was last typed."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while wanted not in self.text():
            left = give_up - time.monotonic()
            if left <= 0 or not select.select([self.descriptor], [], [], left)[0]:
                raise AssertionError(f"{wanted!r} was not drawn, but {self.text()!r}")
            try:
                self.drawn += os.read(self.descriptor, 65536)
            except OSError as failure:  # the program has ended
                raise AssertionError(f"{wanted!r} was not drawn: {self.text()!r}") from failure
        return self.text()
