"""Interrupts of a thread that takes and releases a lock, with a real server."""

import linecache
import pathlib
import re
import sys
import threading
import unittest

import support

import fairlock

GATE = re.compile(r"with self\.(_channel\.gate|_guard|_reading)\b")


class InterruptAtEveryLine(support.Case):
    """Raises KeyboardInterrupt at one line of the library after the other."""

    SOURCE = str(pathlib.Path(fairlock.__file__).parent)

    def run_interrupted(self, call, number):
        """Returns whether the call had that many lines."""
        lines = 0
        entry = fairlock.Lock.__exit__.__code__
        first_line = min({line for *_, line in entry.co_lines() if line} - {entry.co_firstlineno})

        def trace(frame, event, _):
            nonlocal lines
            if not frame.f_code.co_filename.startswith(self.SOURCE):
                return None
            # No code can protect the entry of __exit__ itself.
            is_entry = frame.f_code is entry and frame.f_lineno == first_line
            # A signal handler never runs between a block and the release of its lock, but the
            # trace stops there.
            is_gate = GATE.search(linecache.getline(frame.f_code.co_filename, frame.f_lineno))
            if event == "line" and not is_entry and not is_gate:
                lines += 1
                if lines == number:
                    self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    def interrupt_everywhere(self, call, prepare=lambda: None):
        number = 0
        while True:
            number += 1
            prepare()
            interrupted = self.run_interrupted(call, number)
            self.assertEqual(self.ask("LOCKED", "k", "me"), 0, self.where)
            self.assertNotIn("me", self.waiters("k"), self.where)
            if not interrupted:
                return number

    def test_of_a_lock_that_is_free(self):
        client = self.client()

        def call():
            with fairlock.lock(client, "k", lease=60, owner="me", renew=False):
                pass

        self.assertGreater(self.interrupt_everywhere(call), 100)

    def test_of_a_block_within_another_of_the_same_lock(self):
        client = self.client()

        def lock():
            return fairlock.lock(client, "k", lease=60, owner="me", renew=False, reentrant=True)

        def call():
            with lock(), lock():
                pass

        self.assertGreater(self.interrupt_everywhere(call), 100)

    def test_of_a_lock_that_is_waited_for(self):
        self.interrupt_wait(self.client())

    def test_of_a_wait_over_a_channel(self):
        client = self.client()
        with fairlock.Channel(client) as channel:
            self.interrupt_wait(client, channel=channel)

    def interrupt_wait(self, client, **options):
        timers = []

        def prepare():
            self.ask("LOCK", "k", "other")
            timers.append(threading.Timer(0.01, lambda: self.ask("UNLOCK", "k", "other")))
            timers[-1].start()

        def call():
            with fairlock.lock(client, "k", lease=60, owner="me", keep=60, renew=False,
                               **options):
                pass
            timers[-1].join()

        self.assertGreater(self.interrupt_everywhere(call, prepare), 100)
        for timer in timers:
            timer.join()


if __name__ == "__main__":
    unittest.main()
