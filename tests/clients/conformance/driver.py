"""A driver as a child process: requests, replies and events as lines of JSON."""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time

EXIT_SECONDS_MAX = 5
STOP_SECONDS_MAX = 5


def _states_in_group(group):
    """Yields the letter of the state of each process in the group: see proc(5)."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has ended
            continue
        if int(number) == group:
            yield state


class Ended(Exception):
    """The driver has ended, or does not answer."""


class Driver:
    """One participant of a case."""

    def __init__(self, language, environment, log, link=None):
        self.language = language
        self.link = link
        self.log = log
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                language.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True, env={**os.environ, **environment}, start_new_session=True)
        self.events = []
        self._news = threading.Condition()
        self._replies = {}
        self._number = 0
        self._has_ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, do, **fields):
        """Sends a request, and returns its number."""
        self._number += 1
        try:
            self.process.stdin.write(json.dumps({"id": self._number, "do": do, **fields}) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise Ended(f"the driver for {self.language} has ended: {self.errors()}") from None
        return self._number

    def reply(self, number, seconds):
        """Waits for a reply; None if there is none in time."""
        with self._news:
            self._news.wait_for(lambda: number in self._replies or self._has_ended, seconds)
            if number not in self._replies and self._has_ended:
                raise Ended(f"the driver for {self.language} has ended: {self.errors()}")
            return self._replies.get(number)

    def await_event(self, name, hold, seconds):
        """Returns how many such events there are, after waiting for the first."""
        with self._news:
            self._news.wait_for(lambda: self.count_events(name, hold) > 0, seconds)
            return self.count_events(name, hold)

    def count_events(self, name, hold):
        return sum(event["event"] == name and event["hold"] == hold for event in self.events)

    def errors(self):
        return self.log.read_text(errors="replace")[-2000:]

    def stop(self):
        """Returns when all its threads and child processes have stopped: one that still runs may
        act on a reply."""
        self._signal(signal.SIGSTOP)
        end = time.monotonic() + STOP_SECONDS_MAX
        has_stopped = False  # with all its threads, which only waitid tells
        while not has_stopped or not set(_states_in_group(self.process.pid)) <= {"T", "Z"}:
            if time.monotonic() > end:
                raise Ended(f"the driver for {self.language} does not stop")
            options = os.WSTOPPED | os.WNOHANG
            has_stopped = (has_stopped
                           or os.waitid(os.P_PID, self.process.pid, options) is not None)
            time.sleep(0.001)

    def resume(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass  # it has ended

    def close(self):
        self.resume()
        try:
            self.start("exit")
            self.process.wait(EXIT_SECONDS_MAX)
        except (Ended, subprocess.TimeoutExpired):
            self._signal(signal.SIGKILL)
            self.process.wait()
        if self.link is not None:
            self.link.close()

    def _read(self):
        for line in self.process.stdout:
            try:
                fields = json.loads(line)
            except ValueError:
                fields = {"event": "strange", "hold": line}
            with self._news:
                if "event" in fields:
                    self.events.append(fields)
                else:
                    self._replies[fields["id"]] = fields
                self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()
