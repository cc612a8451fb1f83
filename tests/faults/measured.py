"""Measures the p99 of well-behaved clients without a fault and during it, in one run.

Each *_test.py has one fault, in a short form for the suite, which compares no times. To measure all
of them, as a table:

    FAIRLOCKD=build/release/bin/fairlockd FAIRLOCK_LOAD=build/release/bin/fairlock_load \\
    /usr/bin/python3 tests/faults/measured.py [--seconds N] [FAULT...]
"""

import argparse
import contextlib
import importlib
import os
import pathlib
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).parent
sys.path.append(str(FOLDER.parent / "integration"))

import own_server  # noqa: E402
from resp import request  # noqa: E402
from socket_server import SocketServer  # noqa: E402

CONNECTIONS = 100
RATE = 2000
HELD = 1000
# If an attack keeps the others out, they wait until it is over.
SUITE_P99_US = 1_500_000
SUITE_SECONDS = 2
# True if nothing else runs on the machine, so that the server may get a processor of its own: for
# the table, not in the suite.
is_machine_ours = False


class SteadyLoad:
    """100 connections that take and release locks, 2,000 commands per second in total."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.process = subprocess.Popen(
            [os.environ["FAIRLOCK_LOAD"], "steady", "--server", f"127.0.0.1:{self.server.port}",
             "--connections", str(CONNECTIONS), "--rate", str(RATE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def end_period(self, name="period"):
        """Returns the figures since the previous call."""
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        figures = {}
        for line in self.process.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "period":
                return figures
            figures[word] = float(value)
        raise AssertionError(f"a well-behaved client failed: code {self.process.wait()}")

    def end(self):
        """Checks that every command got the correct reply."""
        self.process.stdin.close()
        code = self.process.wait(90)
        if code != 0:
            raise AssertionError(f"a well-behaved client failed: code {code}")


class NoLoad:
    """Replaces the load where nothing can be measured: the same faults run, and acknowledged locks
    are checked."""

    def __init__(self, server):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        pass

    def end_period(self, name="period"):
        return {"p99_us": 0.0, "max_us": 0.0, "commands": 0}

    def end(self):
        pass


class Held:
    """Locks that are held throughout."""

    def __init__(self, server):
        with server.connect() as client:
            client.send(b"".join(request("LOCK", f"held:{i}", "holder", "PX", 3_600_000)
                                 for i in range(HELD)))
            self.tokens = [client.reply() for _ in range(HELD)]
        assert all(isinstance(token, int) for token in self.tokens)

    def count_lost(self, server):
        with server.connect_unix() as client:
            client.send(b"".join(request("CHECK", f"held:{i}", self.tokens[i])
                                 for i in range(HELD)))
            return sum(client.reply() != 1 for _ in range(HELD))


@contextlib.contextmanager
def attackers(server, kind, count):
    """Starts attacking processes alongside the server, at a low priority."""
    process = subprocess.Popen(
        [sys.executable, "-B", FOLDER / "attackers.py", kind, f"127.0.0.1:{server.port}",
         str(count), *(["idle"] if is_machine_ours else [])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise AssertionError(f"the attackers did not start: {kind}")
        yield
        if process.poll() is not None:
            raise AssertionError(f"the attackers ended with {process.returncode}: {kind}")
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def peak_bytes(server):
    """Returns the peak memory of the server."""
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def raise_priority(server):
    """Raises the server's priority where that is permitted, so that what other programs do is not
    measured."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, server.process.pid, -15)


@contextlib.contextmanager
def kept_apart(server):
    """Gives the server a processor of its own, and the others to its clients, which start later: in
    production they are on other machines, and do not compete for the server's processor."""
    processors = sorted(os.sched_getaffinity(0))
    if is_machine_ours and len(processors) > 1:
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            os.sched_setaffinity(int(thread), processors[:1])
        os.sched_setaffinity(0, processors[1:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)


def unread_bytes(client):
    """Returns the memory used for unread replies, from INFO."""
    for line in client.ask("INFO", "memory").decode().splitlines():
        name, _, value = line.partition(":")
        if name == "used_memory_unread_replies":
            return int(value)
    raise AssertionError("INFO has no used_memory_unread_replies")


class Fault:
    """One kind of fault. Most subclasses say only how it is caused, and what else must hold."""

    name = ""
    options = ()
    settings = {}
    # How much more memory the server may use during the fault than before it.
    memory_bytes_max = 64 << 20

    def why_not(self):
        """Why the fault cannot be caused here; empty if it can."""
        return ""

    def server(self):
        return SocketServer(*self.options, **self.settings)

    def prepare(self, server):
        """Called before the calm period."""

    def beside(self, server):
        """Returns a context manager: the fault is present while the context is open."""
        raise NotImplementedError

    def during(self, load, seconds):
        time.sleep(seconds)

    def check(self, server):
        """Checks, when the fault is over, what else must hold."""


class Outcome:
    """The results of one round."""

    def __init__(self, calm, beside, resident, unread, lost):
        self.calm_us = calm["p99_us"]
        self.beside_us = beside["p99_us"]
        self.ratio = self.beside_us / max(self.calm_us, 1)
        self.resident = resident
        self.unread = unread
        self.lost = lost


def measure(fault, seconds):
    load_type = SteadyLoad if own_server.IS_MEASURED else NoLoad
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(fault.server())
        raise_priority(server)
        stack.enter_context(kept_apart(server))
        held = Held(server)
        # Opened beforehand, because opening connections may be impossible during the fault.
        own = stack.enter_context(server.connect_unix())
        fault.prepare(server)
        before = peak_bytes(server)
        load = stack.enter_context(load_type(server))
        time.sleep(0.3)
        load.end_period("warm-up")
        time.sleep(seconds)
        calm = load.end_period("calm")
        with fault.beside(server):
            fault.during(load, seconds)
            beside = load.end_period("beside")
            unread = unread_bytes(own)
        grown = peak_bytes(server) - before
        load.end()
        fault.check(server)
        lost = held.count_lost(server)
        if own_server.IS_MEASURED and grown > fault.memory_bytes_max:
            raise AssertionError(f"{fault.name}: {grown} bytes of memory more")
        return Outcome(calm, beside, peak_bytes(server), unread, lost)


class ShortForm:
    """The test of one fault; a unittest.TestCase derives from this and names the fault."""

    fault = None

    def test_others_do_not_notice_it_and_nothing_is_lost(self):
        if why := self.fault.why_not():
            self.skipTest(why)
        outcome = measure(self.fault, SUITE_SECONDS if own_server.IS_MEASURED else 1)
        self.assertEqual(outcome.lost, 0)
        self.assertLess(outcome.beside_us, SUITE_P99_US)


def all_faults():
    faults = []
    for path in sorted(FOLDER.glob("*_test.py")):
        fault = getattr(importlib.import_module(path.stem), "FAULT", None)
        if fault is not None:
            faults.append(fault)
    return faults


def print_table(faults, seconds):
    """Returns True if nothing was lost; also notes the ratios."""
    print(f"{'fault':38} {'calm p99':>10} {'beside':>10} {'ratio':>6} {'RSS peak':>9} "
          f"{'unread':>8} {'lost':>5}")
    is_kept = True
    for fault in faults:
        if why := fault.why_not():
            print(f"{fault.name:38} not run: {why}")
            continue
        one = measure(fault, seconds)
        own_server.note_figure("faults.p99_of_calm", one.ratio)
        is_kept = is_kept and one.lost == 0
        print(f"{fault.name:38} {one.calm_us:7.0f} us {one.beside_us:7.0f} us {one.ratio:6.2f} "
              f"{one.resident / 2**20:6.0f} MB {one.unread / 2**20:5.1f} MB {one.lost:5}",
              flush=True)
    return is_kept


def main():
    global is_machine_ours
    is_machine_ours = True
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="of each of the two periods")
    parser.add_argument("faults", nargs="*", help="a part of their names; none: all")
    arguments = parser.parse_args()
    faults = [fault for fault in all_faults()
              if not arguments.faults or any(word in fault.name for word in arguments.faults)]
    sys.exit(0 if print_table(faults, arguments.seconds) else 1)


if __name__ == "__main__":
    import measured  # the same module that the faults import
    measured.main()
