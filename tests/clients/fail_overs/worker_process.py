"""A worker, and the attempts that it makes."""

import contextlib
import json
import os
import subprocess
import threading
import time

STOP_SECONDS_MAX = 20


def end(process):
    """Closes the input of the process, which then ends by itself; returns its exit status, or None
    if it had to be killed."""
    with contextlib.suppress(BrokenPipeError):  # the process has ended
        process.stdin.close()
    try:
        return process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def microseconds():
    """Returns the clock of the workers."""
    return time.monotonic_ns() // 1000


class Attempts:
    """Grows while other threads read it."""

    def __init__(self):
        self.attempts = []
        self.changed = threading.Condition()

    def add(self, attempt):
        with self.changed:
            self.attempts.append(attempt)
            self.changed.notify_all()

    def is_measured(self, _attempt):
        """Whether the attempt counts for the times without answers."""
        return True

    def await_grant(self, since, seconds, keys=None):
        """Returns the first grant of a key, or of one of these keys, whose request began after
        `since`; or None."""
        end = time.monotonic() + seconds
        seen = 0
        while True:
            with self.changed:
                self.changed.wait_for(lambda: len(self.attempts) > seen,
                                      max(0.0, end - time.monotonic()))
                new = self.attempts[seen:]
            seen += len(new)
            for attempt in new:
                is_wanted = keys is None or attempt["key"] in keys
                if (attempt["begun"] >= since and is_grant(attempt) and is_wanted
                        and self.is_measured(attempt)):
                    return attempt
            if time.monotonic() >= end:
                return None

    def answers(self):
        return [attempt for attempt in list(self.attempts) if "reply" in attempt]

    def longest_gap(self, begin, end):
        """Returns the longest time between two answers that touches the interval; all times are in
        microseconds."""
        answers = filter(self.is_measured, self.answers())
        times = [*(attempt["ended"] for attempt in answers), microseconds()]
        return max(later - earlier for earlier, later in zip(times, times[1:])
                   if later >= begin and earlier <= end)


class Worker(Attempts):
    """A program that reports its attempts."""

    def __init__(self, name, mode, command, environment, log):
        super().__init__()
        self.name = name
        self.mode = mode
        self.owner = f"{name}-{mode}".replace(" ", "-")
        self.has_own_key = False
        self.strange = []             # lines that are no JSON
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True,
                env={**os.environ, "MODE": mode, "OWNER": self.owner, **environment})
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def __str__(self):
        return f"{self.name}, {self.mode}"

    def _read(self):
        for line in self.process.stdout:
            try:
                attempt = json.loads(line)
            except json.JSONDecodeError:
                self.strange.append(line.strip())
                continue
            self.add(attempt)

    def is_measured(self, attempt):
        """If the worker has a key of its own, for which it never waits, the times are those of this
        key."""
        own_key = f"{self.owner}:own"
        self.has_own_key = self.has_own_key or attempt["key"] == own_key
        return not self.has_own_key or attempt["key"] == own_key

    def stop(self):
        """Lets the worker finish its round; returns its exit status, or None if it had to be
        killed."""
        status = end(self.process)
        self.reader.join(STOP_SECONDS_MAX)
        self.process.stdout.close()
        return status


def is_grant(attempt):
    return attempt["op"] == "LOCK" and isinstance(attempt.get("reply"), int)
