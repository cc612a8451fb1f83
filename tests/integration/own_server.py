"""A fairlockd for one test, on a free port of this machine and on a unix socket."""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import resp

PROGRAM = pathlib.Path(os.environ["FAIRLOCKD"]).resolve()
# In sanitizer builds, memory use and latency mean nothing.
IS_MEASURED = os.environ.get("FAIRLOCK_SANITIZE", "") == ""
IS_THREAD_SANITIZED = os.environ.get("FAIRLOCK_SANITIZE") == "thread"
START_SECONDS_MAX = 20
STOP_SECONDS_MAX = 20
STARTS_MAX = 5
PORTS = (20_000, 32_000)


def free_port():
    """Returns a free port. No other call and no other process of the tests gets the same port
    before this process ends.

    The rule for the tests in all languages: a port for a server is even, and outside the range that
    the kernel assigns. A process that takes it holds the next port, which is odd, until it ends.
    """
    while True:
        port = random.randrange(*PORTS, 2)
        with socket.socket() as lease, socket.socket() as probe:
            try:
                lease.bind(("127.0.0.1", port + 1))
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            lease.detach()  # stays open until the process ends
            return port


def note_figure(name, value):
    """Notes a measured figure for bench/figures.sh, which compares it with its bar in
    bench/bars.txt. It depends on the machine and its load, so no test compares it."""
    print(f"{name} {value:.3f}", flush=True)
    if os.environ.get("FAIRLOCK_FIGURES"):
        with open(os.environ["FAIRLOCK_FIGURES"], "a", encoding="utf-8") as figures:
            figures.write(f"{name} {value:.3f}\n")


def hash_of(password):
    """Returns a slow hash, made by the program."""
    made = subprocess.run([PROGRAM, "--hash-password"], input=password + "\n", text=True,
                          capture_output=True, timeout=20, check=True)
    return made.stdout.strip()


class Server:
    """Used in a with statement, at whose end the server is stopped; it must then end cleanly."""

    def __init__(self, *options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="fairlock-"))
        self.unix_socket = self.directory / "socket"
        self.process = None
        self.port = 0

    def __enter__(self):
        for _ in range(STARTS_MAX):
            if self._start():
                return self
        output = self.output()
        self._clean_up()
        raise AssertionError(f"{PROGRAM} did not start: {output}")

    def __exit__(self, failure_type, failure, trace):
        try:
            code = self.process.poll()
            if code is None:
                code = self.stop()
            if failure_type is None and code != 0:
                raise AssertionError(f"{PROGRAM} ended with {code}: {self.output()}")
        finally:
            self._clean_up()

    def _start(self):
        """Returns False if it ended at once, for example because another process took the port."""
        self.port = free_port()
        with open(self.directory / "output", "wb") as output:
            self.process = subprocess.Popen(
                [PROGRAM, "--bind", "127.0.0.1", "--port", str(self.port), "--http-port", "0",
                 "--unix-socket", str(self.unix_socket), "--durability", "none", *self.options],
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        give_up = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                # The socket that is opened last: once it accepts, the server listens on all of
                # them.
                self.connect_unix().close()
                return True
            except (ConnectionRefusedError, FileNotFoundError):
                time.sleep(0.001)
        return False

    def _clean_up(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def stop(self):
        """Asks it to stop, waits, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        if IS_THREAD_SANITIZED:
            self._ask_to_stop()
        return self.process.wait(STOP_SECONDS_MAX)

    def _ask_to_stop(self):
        """Repeats the request if the server does not end: the thread sanitizer of g++ 12 sometimes
        loses a signal that arrives right at the start. This has never been seen without it."""
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            try:
                with self.connect_unix() as connection:
                    connection.send(resp.request("SHUTDOWN"))
            except OSError:
                pass

    def connect(self):
        return resp.Connection.to(("127.0.0.1", self.port))

    def connect_unix(self):
        return resp.Connection.to(str(self.unix_socket))

    def output(self):
        return (self.directory / "output").read_text(errors="replace")

    def resident_bytes(self):
        """Returns its current memory use."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        for line in status.splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")
