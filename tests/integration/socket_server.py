"""A fairlockd with helpers for tests of sockets, signals and the log."""

import os
import pathlib
import select
import signal
import subprocess
import time

import own_server
import resp


class SocketServer(own_server.Server):
    """`process_settings` go to subprocess.Popen. The server need not end by a clean stop."""

    def __init__(self, *options, unix_socket=None, **process_settings):
        super().__init__(*options)
        self.unix_socket = unix_socket or self.unix_socket
        self.process_settings = process_settings

    def __exit__(self, *failure):
        self._clean_up()

    def _start(self):
        self.port = own_server.free_port()
        with open(self.directory / "output", "wb") as output:
            settings = {"stdout": output, "stderr": output, **self.process_settings}
            self.process = subprocess.Popen(
                [own_server.PROGRAM, "--bind", "127.0.0.1", "--port", str(self.port),
                 "--http-port", "0", "--unix-socket", str(self.unix_socket),
                 "--durability", "none", *self.options],
                cwd=self.directory, stdin=subprocess.DEVNULL, **settings)
        give_up = time.monotonic() + own_server.START_SECONDS_MAX
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                with self.connect_unix() as client:
                    return client.ask("PING") == "PONG"
            except OSError:
                time.sleep(0.01)
        return False

    def stop(self, by=signal.SIGTERM):
        self.process.send_signal(by)
        return self.process.wait(own_server.STOP_SECONDS_MAX)

    def info(self, field):
        """Returns a number from INFO, requested on a separate connection."""
        with self.connect_unix() as asking:
            for line in asking.ask("INFO").decode().splitlines():
                name, _, value = line.partition(":")
                if name == field:
                    return int(value)
        raise AssertionError(f"INFO has no {field}")

    def cpu_seconds(self):
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        """Returns how many descriptors are open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def wait_until(condition, what, seconds_max=20):
    """Polls until condition() is true, and returns its value."""
    give_up = time.monotonic() + seconds_max
    while time.monotonic() < give_up:
        outcome = condition()
        if outcome:
            return outcome
        time.sleep(0.005)
    raise AssertionError(f"waited {seconds_max} s in vain until {what}")


def is_silent(connection, seconds=0.2):
    """Whether nothing arrives in that time, not even the end of the connection."""
    return not connection.buffer and not select.select([connection.socket], [], [], seconds)[0]


def take(connection, size):
    """Returns the next bytes, unparsed."""
    while len(connection.buffer) < size:
        data = connection.socket.recv(1 << 16)
        if not data:
            raise resp.Ended
        connection.buffer += data
    data, connection.buffer = connection.buffer[:size], connection.buffer[size:]
    return data


def send_until_full(connection, data, bytes_max):
    """Sends `data` repeatedly until nothing is accepted for half a second; returns how much was
    sent."""
    connection.socket.setblocking(False)
    sent = 0
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 0.5 and sent < bytes_max:
        try:
            sent += connection.socket.send(data[sent % len(data):])
            quiet_since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    connection.socket.settimeout(connection.TIMEOUT_SECONDS)
    return sent
