"""A client that requests a lock continuously, and knows for how long nobody granted it one, and how
long each request took."""

import bisect
import math
import threading
import time

from records import History
import sessions

PAUSE_S = 0.02
PATIENCE_S = 0.7       # longer than the delay of the fault clients-delayed


class Probe(threading.Thread):
    """Repeats the LOCK of one owner at each node in turn, waiting only briefly for each reply."""

    def __init__(self, ports, tag=""):
        super().__init__(daemon=True)
        self.key = f"fleet:probe{tag}"
        self.is_over = threading.Event()
        self.began = time.monotonic()
        self.times = []           # the times of acknowledgements, in seconds of the monotonic clock
        self.durations = []       # how long the same requests took, in seconds
        self.errors = []
        self.session = sessions.Session(ports, History(), self.is_over, sessions.PAUSE_S)

    def run(self):
        try:
            while True:
                began = time.monotonic()
                reply = self.session.ask("LOCK", self.key, "probe", "PX", 60_000,
                                         seconds=PATIENCE_S)
                if isinstance(reply, int):
                    self.durations.append(time.monotonic() - began)
                    self.times.append(time.monotonic())
                elif reply is not sessions.LOST:
                    self.errors.append(reply)
                self.session.history.requests.clear()
                self.session.history.closes.clear()
                time.sleep(PAUSE_S)
        except sessions.Over:
            pass

    def await_answer(self, since, seconds):
        """Whether a LOCK is acknowledged after `since`, within `seconds` from now."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.times and self.times[-1] > since:
                return True
            time.sleep(0.02)
        return False

    def longest_gap(self, begin, end):
        """Returns the longest time without an acknowledgement, among the gaps that touch the
        interval."""
        times = [self.began, *self.times, time.monotonic()]
        gaps = [later - earlier for earlier, later in zip(times, times[1:])
                if later >= begin and earlier <= end]
        return max(gaps)


    def durations_of(self, begin, end):
        """Returns how long the requests took that were acknowledged within the interval."""
        first, last = (bisect.bisect_left(self.times, at) for at in (begin, end))
        return self.durations[first:last]


def percentile(values, percent):
    """Returns the percentile by the nearest-rank method."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def figures_of(gaps):
    """Turns {kind: [seconds, ...]} into {kind: figures}."""
    return {kind: {"faults": len(values), "min": min(values), "p50": percentile(values, 50),
                   "p99": percentile(values, 99), "longest": max(values)}
            for kind, values in sorted(gaps.items()) if values}


def ratio_of(percent, quiet, beside):
    return percentile(beside, percent) / percentile(quiet, percent)


def comparison_of(quiet, beside):
    """Compares how long requests took without a fault, and during a fault of another partition."""
    lines = []
    for percent in (50, 99):
        usual, other = percentile(quiet, percent), percentile(beside, percent)
        lines.append(f"p{percent} of LOCK: {usual * 1000:.2f} ms without a fault, "
                     f"{other * 1000:.2f} ms during a fault of another partition, "
                     f"ratio {ratio_of(percent, quiet, beside):.2f}")
    return "\n".join([*lines, f"{len(quiet)} and {len(beside)} requests"])


def table_of(figures):
    lines = [f"{'seconds without an acknowledged LOCK':38} faults   min    p50    p99  longest"]
    for kind, row in figures.items():
        lines.append(f"{kind:38} {row['faults']:6} {row['min']:6.2f} {row['p50']:6.2f} "
                     f"{row['p99']:6.2f} {row['longest']:7.2f}")
    return "\n".join(lines)
