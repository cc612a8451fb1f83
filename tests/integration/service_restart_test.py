"""The unit fairlockd.service under a real systemd: it starts again until what stopped it is gone.

A systemd of the test's own is the first process of namespaces of its own. That needs root; where it
does not work, the test is skipped.
"""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import resp
from own_server import PROGRAM, free_port

UNIT = pathlib.Path(__file__).parents[2] / "deploy" / "systemd" / "fairlockd.service"
SKIPPED = 77
SECONDS_MAX = 40
# Longer than systemd's default limit of 5 starts in 10 s would allow.
TROUBLE_SECONDS = 6
# These lines of the unit decide when it starts; the others concern its user and its sandbox.
KEPT = ("Type=", "Restart", "StartLimit", "WatchdogSec=", "Timeout")
BEGIN = """
mount --make-rprivate /
for folder in /tmp /run /var/tmp /var/log /etc/systemd/system; do mount -t tmpfs tmpfs $folder; done
mkdir -p /run/systemd/system
cp "$0"/units/* /run/systemd/system/
exec /lib/systemd/systemd --system --unit=test.target --log-target=null --show-status=no
"""
TARGET = "[Unit]\nDefaultDependencies=no\n"


class Systemd:
    """Used in a with statement."""

    def __init__(self):
        # The systemd sees another /tmp.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlock-systemd-", dir="/var/lib"))
        self.units = self.folder / "units"
        self.units.mkdir()
        (self.units / "test.target").write_text(TARGET)
        self.port = free_port()
        self.data = self.folder / "data"
        self.config = self.folder / "fairlock.yaml"
        self.config.write_text(f"port: {self.port}\ndata_dir: {self.data}\nunix_socket: \"\"\n")
        program = self.folder / "fairlockd"
        shutil.copy(PROGRAM, program)
        sections = {"[Unit]": ["DefaultDependencies=no"],
                    "[Service]": [f"ExecStart={program} --config {self.config}",
                                  f"WorkingDirectory={self.folder}"]}
        section = None
        for line in UNIT.read_text().splitlines():
            section = line if line.startswith("[") else section
            if line.startswith(KEPT):
                sections[section].append(line)
        (self.units / "fairlockd.service").write_text(
            "".join("\n".join([name, *lines, ""]) for name, lines in sections.items()))
        self.process = None
        self.first = None

    def __enter__(self):
        self.process = subprocess.Popen(
            ["unshare", "--kill-child", "--pid", "--mount", "--fork", "--mount-proc",
             "sh", "-ec", BEGIN, self.folder], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.await_true(lambda: self.control("is-system-running").strip() in
                            ("running", "degraded", "starting"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        if self.data.is_mount():
            subprocess.run(["umount", "-l", self.data], check=True)
        shutil.rmtree(self.folder)

    def control(self, *words):
        """Calls systemctl; returns what it prints."""
        if self.first is None:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            found = children.read_text().split() if children.exists() else []
            if not found:
                return ""
            self.first = found[0]
        with contextlib.suppress(subprocess.TimeoutExpired):
            return subprocess.run(["nsenter", "-t", self.first, "-m", "-p", "systemctl", *words],
                                  capture_output=True, text=True, check=False, timeout=10).stdout
        return ""

    def show(self, name):
        return self.control("show", "fairlockd.service", "--value", "-p", name).strip()

    def await_true(self, condition):
        give_up = time.monotonic() + SECONDS_MAX
        while not condition():
            if time.monotonic() > give_up:
                raise AssertionError(self.control("status", "fairlockd.service"))
            time.sleep(0.1)

    def answers(self):
        with contextlib.suppress(OSError, resp.Ended):
            connection = resp.Connection.to(("127.0.0.1", self.port))
            with contextlib.closing(connection):
                return connection.ask("PING") == "PONG"
        return False


class ServiceRestart(unittest.TestCase):

    def setUp(self):
        self.systemd = Systemd()

    def begin(self):
        self.enterContext(self.systemd)

    def check_comes_back(self):
        """Returns when the service has failed more often than systemd's default limit permits."""
        self.systemd.control("start", "--no-block", "fairlockd.service")
        time.sleep(TROUBLE_SECONDS)
        self.systemd.await_true(lambda: int(self.systemd.show("NRestarts") or 0) > 5)
        self.assertEqual(self.systemd.show("ActiveState"), "activating")

    def test_a_port_in_use(self):
        self.begin()
        with socket.create_server(("127.0.0.1", self.systemd.port)):
            self.check_comes_back()
        self.systemd.await_true(self.systemd.answers)

    def test_a_full_disk(self):
        data = self.systemd.data
        data.mkdir()
        # Before the systemd starts, which sees no later mounts.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", data], check=True)
        filler = data / "filler"
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        self.begin()
        self.check_comes_back()
        filler.unlink()
        self.systemd.await_true(self.systemd.answers)

    def test_data_in_use(self):
        """For example by `fairlockd --restore`, or by a server that was started by hand."""
        self.begin()
        other = subprocess.Popen([PROGRAM, "--port", str(free_port()), "--unix-socket", "",
                                  "--data-dir", self.systemd.data], cwd=self.systemd.folder,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.systemd.await_true(self.systemd.data.exists)
        self.check_comes_back()
        other.terminate()
        self.systemd.await_true(self.systemd.answers)

    def test_killed_again_and_again(self):
        self.begin()
        self.systemd.control("start", "fairlockd.service")
        for _ in range(8):
            self.systemd.await_true(self.systemd.answers)
            self.systemd.control("kill", "--signal=KILL", "fairlockd.service")
        self.systemd.await_true(self.systemd.answers)
        self.assertGreaterEqual(int(self.systemd.show("NRestarts")), 8)

    def test_a_wrong_option_needs_somebody(self):
        self.begin()
        self.systemd.config.write_text("port: many\n")
        self.systemd.control("start", "--no-block", "fairlockd.service")
        self.systemd.await_true(lambda: self.systemd.show("ActiveState") == "failed")
        self.assertEqual(self.systemd.show("NRestarts"), "0")
        self.assertEqual(self.systemd.show("ExecMainStatus"), "2")

    def test_a_clean_stop_is_no_failure(self):
        self.begin()
        self.systemd.control("start", "fairlockd.service")
        self.systemd.await_true(self.systemd.answers)
        self.systemd.control("stop", "fairlockd.service")
        self.assertEqual(self.systemd.show("ActiveState"), "inactive")
        self.assertEqual(self.systemd.show("Result"), "success")


if __name__ == "__main__":
    try:
        with Systemd():
            pass
    except (AssertionError, OSError) as error:
        print(f"skipped: a systemd of our own does not run here: {error!r}")
        sys.exit(SKIPPED)
    unittest.main()
