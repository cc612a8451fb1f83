#!/usr/bin/python3
"""Measures how much dashboards slow down locking: the same load with and without them.

    bench/watched.py        after a build of the release preset; FAIRLOCKD and FAIRLOCK_LOAD name
                            other programs

The server has 100,000 held locks and 10,000 waiters. Each round runs pairs of LOCK and UNLOCK
twice: alone, and while twenty clients make the requests of the dashboard page, at its pace and over
persistent connections like a browser, and another client scrapes /metrics every second. For each of
two figures, the result is the median of the rounds' ratios. The figures are the server CPU per
command at full speed, and the p99 of 100 connections that together send 10,000 commands per second.
For the p99, the dashboards are active in every other slice of 0.4 s, and the figure is the median
of the slices, because a shared machine stalls now and then. The server has its own processor. The
exit status is 1 if a figure exceeds its limit.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BINARIES = pathlib.Path(__file__).parents[1] / "build/release/bin"
FAIRLOCKD = pathlib.Path(os.environ.get("FAIRLOCKD", BINARIES / "fairlockd")).resolve()
LOAD = os.environ.get("FAIRLOCK_LOAD", BINARIES / "fairlock_load")

CPU_BAR = 1.15
P99_BAR = 1.25
STEADY_CONNECTIONS = 100
STEADY_RATE = 10_000
# Earlier requests are answered within this time.
SETTLE_S = 0.3
LOCKS = 100_000
WAITERS = 10_000
WAITED_FOR = 500
PAGES = 20
# What the views in dashboard/src/views request and how often: the intervals, in seconds, match
# everyMs there.
STATUS = "status"
VIEWS = {
    "overview": (2.0, [STATUS, "locks?waiting=0&sort=wait&count=10"]),
    "locks": (3.0, [STATUS, "locks?sort=wait&count=50"]),
    "labels": (5.0, [STATUS, "statistics?minutes=60"]),
    "lock": (1.5, [STATUS, "locks/0/line:7", "history?db=0&count=50&key=line:7",
                   "locks?db=0&waiting=0&sort=wait&count=100&owner=holder"]),
    "waits": (5.0, [STATUS, "locks?waiting=0&sort=wait&count=30",
                    *(f"locks/0/line:{n}" for n in range(30))]),
}
# Every view is open in some browser, most often the overview; in addition, a chart of the last day
# is requested three times a minute.
OPEN = ["overview"] * 10 + ["waits"] + ["locks"] * 4 + ["labels"] * 2 + ["lock"] * 3
MINUTES_EVERY_S = 20


def encode(*words):
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        data = str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Server:

    def __init__(self, folder, port, http_port):
        self.port, self.http_port = port, http_port
        self.process = subprocess.Popen(
            [FAIRLOCKD, "--port", str(port), "--http-port", str(http_port),
             "--durability", "none", "--log-level", "error", "--max-clients", "15000"], cwd=folder)
        while not self.answers():
            time.sleep(0.01)
        self.keep_apart()

    def keep_apart(self):
        processors = sorted(os.sched_getaffinity(0))
        if len(processors) > 1:
            for thread in os.listdir(f"/proc/{self.process.pid}/task"):
                os.sched_setaffinity(int(thread), processors[:1])
            os.sched_setaffinity(0, processors[1:])

    def answers(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        return False

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))

    def fill(self):
        """Acquires the held locks and starts the waiters; returns their connections."""
        filler = self.connect()
        stream = filler.makefile("rb")
        for first in range(0, LOCKS, 1000):
            filler.sendall(b"".join(
                encode("LOCK", f"held:{n}", f"owner-{n % 977}", "EX", 86400, "LABEL",
                       f"kind-{n % 30}") for n in range(first, first + 1000)))
            for _ in range(1000):
                stream.readline()
        for n in range(WAITED_FOR):
            filler.sendall(encode("LOCK", f"line:{n}", "holder", "EX", 86400, "LABEL", "lines"))
            stream.readline()
        waiters = []
        for n in range(WAITERS):
            waiter = self.connect()
            waiter.sendall(encode("LOCK", f"line:{n % WAITED_FOR}", f"waiter-{n}", "WAIT",
                                  "FOREVER"))
            waiters.append(waiter)
        status = {}
        while status.get("waiters") != WAITERS:
            time.sleep(0.1)
            status = self.ask("status")["locks"]
        return [filler, *waiters]

    def ask(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
        connection.request("GET", "/api/v1/" + path)
        answer = json.load(connection.getresponse())
        connection.close()
        return answer


def figures_of(output):
    return dict(line.split() for line in output.splitlines())


def start_load(server, *words):
    return subprocess.Popen(
        [LOAD, *map(str, words), "--server", f"127.0.0.1:{server.port}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def cpu_of_pairs(server, options):
    """Server CPU in us per LOCK or UNLOCK."""
    pairs = start_load(server, "pairs", "--connections", 50, "--pipeline", options.pipeline,
                       "--commands", options.commands, "--warm-up", options.commands // 10,
                       "--server-pid", server.process.pid)
    done = figures_of(pairs.communicate()[0])
    if pairs.returncode != 0:
        raise AssertionError("the load has failed")
    return float(done["server_cpu_us_per_command"])


class SteadyLoad:
    """A steady load that reports its p99 of each period in us."""

    def __init__(self, server):
        self.process = start_load(server, "steady", "--connections", STEADY_CONNECTIONS, "--rate",
                                  STEADY_RATE)
        self.p99_of_next(SETTLE_S)

    def p99_of_next(self, seconds):
        time.sleep(seconds)
        self.process.stdin.write("period\n")
        self.process.stdin.flush()
        figures = {}
        for line in self.process.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "period":
                return float(figures["p99_us"])
            figures[word] = value
        raise AssertionError("the steady load has ended")

    def end(self):
        self.process.communicate()
        if self.process.returncode != 0:
            raise AssertionError("the steady load has failed")


def watching_words():
    """The options for the open views, the chart of the last day, and Prometheus."""
    pages = [(seconds, ["/api/v1/" + path for path in paths])
             for seconds, paths in (VIEWS[view] for view in OPEN)]
    pages += [(MINUTES_EVERY_S, ["/api/v1/minutes?minutes=1440"])] * OPEN.count("overview")
    pages.append((1.0, ["/metrics"]))
    for seconds, paths in pages:
        yield from ("--page", " ".join([str(seconds), *paths]))


class Watchers:
    """The clients that simulate dashboards; each has a fixed schedule, and they can be paused."""

    def __init__(self, server):
        # In reality the load generator would run on another machine.
        self.process = subprocess.Popen(
            ["nice", "-n", "19", LOAD, "pages", "--http", f"127.0.0.1:{server.http_port}",
             *watching_words()], stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        self.look(False)

    def look(self, is_looking):
        self.process.send_signal(signal.SIGUSR1 if is_looking else signal.SIGUSR2)

    def end(self):
        """Ends the clients; returns the number of their requests."""
        self.process.terminate()
        requests = int(figures_of(self.process.communicate()[0])["requests"])
        if self.process.returncode != 0 or requests == 0:
            raise AssertionError("the pages were not answered")
        return requests


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def round_of(server, watchers, is_watched_first, options):
    """Measures CPU per command and p99, both without and with dashboards."""
    order = [is_watched_first, not is_watched_first]
    cpu = {}
    for is_watched in order:
        watchers.look(is_watched)
        cpu[is_watched] = cpu_of_pairs(server, options)
    p99s = {False: [], True: []}
    steady = SteadyLoad(server)
    for _ in range(options.slices):
        for is_watched in order:
            watchers.look(is_watched)
            steady.p99_of_next(SETTLE_S)
            p99s[is_watched].append(steady.p99_of_next(options.slice_seconds))
        order.reverse()
    steady.end()
    watchers.look(False)
    return cpu, {is_watched: statistics.median(of) for is_watched, of in p99s.items()}


def measure(options):
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, free_port(), free_port())
        connections = server.fill()
        cpu_of_pairs(server, options)
        watchers = Watchers(server)
        for number in range(options.rounds):
            cpu, p99 = round_of(server, watchers, number % 2 == 1, options)
            ratios.append((cpu[True] / cpu[False], p99[True] / p99[False]))
            print(f"round {number + 1}: CPU {cpu[False]:.3f} and {cpu[True]:.3f} us per command, "
                  f"p99 {p99[False]:.0f} and {p99[True]:.0f} us", flush=True)
        requests = watchers.end()
        server.process.terminate()
        server.process.wait()
        for connection in connections:
            connection.close()
    cpu, p99 = (statistics.median(column) for column in zip(*ratios))
    print(f"medians of {options.rounds} rounds, watched relative to alone: CPU per command "
          f"{cpu:.3f} (limit {CPU_BAR}), p99 {p99:.3f} (limit {P99_BAR}); "
          f"{requests} requests by dashboards")
    return 0 if cpu <= CPU_BAR and p99 <= P99_BAR else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--commands", type=int, default=1_000_000, help="commands per run")
    parser.add_argument("--slices", type=int, default=14,
                        help="slices per round, with and without dashboards")
    parser.add_argument("--slice-seconds", type=float, default=0.4)
    parser.add_argument("--pipeline", type=int, default=1)
    options = parser.parse_args()
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())
