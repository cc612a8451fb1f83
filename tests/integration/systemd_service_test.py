"""fairlockd under systemd: sockets and notifications, and what its unit permits."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import resp
from certificates import Certificates, connect
from own_server import PROGRAM, free_port

UNITS = pathlib.Path(__file__).parents[2] / "deploy" / "systemd"
PATIENCE_SECONDS = 20
WATCHDOG_SECONDS = 0.4


class Manager(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.inbox = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.inbox.bind(str(self.folder / "notify"))
        self.inbox.settimeout(PATIENCE_SECONDS)
        self.port = free_port()
        self.file = self.folder / "fairlock.yaml"
        self.file.write_text(f"port: {self.port}\n")

    def start(self, sockets=()):
        """Starts it as systemd does: the sockets are descriptors from 3 up, meant for this
        process."""
        def take_places():
            for number, given in enumerate(sockets):
                os.dup2(given.fileno(), 3 + number)

        environment = {**os.environ, "NOTIFY_SOCKET": str(self.folder / "notify"),
                       "WATCHDOG_USEC": str(int(WATCHDOG_SECONDS * 1e6)),
                       "LISTEN_FDS": str(len(sockets))}
        log = self.enterContext(open(self.folder / "log", "wb"))
        process = subprocess.Popen(
            ["sh", "-c", 'export LISTEN_PID=$$ WATCHDOG_PID=$$; exec "$@"', "sh", PROGRAM,
             "--config", self.file],
            cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=log,
            preexec_fn=take_places, pass_fds=range(3, 3 + len(sockets)))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, wanted):
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up:
            if wanted in self.inbox.recv(4096).decode().split("\n"):
                return
        raise AssertionError(f"{wanted} was not told")

    def log(self):
        return (self.folder / "log").read_text()

    def wait_for_log(self, text):
        give_up = time.monotonic() + PATIENCE_SECONDS
        while text not in self.log():
            self.assertLess(time.monotonic(), give_up, f"{text!r} is not in {self.log()}")
            time.sleep(0.01)

    def test_it_tells_when_it_is_ready_alive_and_stopping(self):
        process = self.start()
        self.wait_for("READY=1")
        resp.Connection.to(("127.0.0.1", self.port)).close()
        for _ in range(3):
            self.wait_for("WATCHDOG=1")
        process.send_signal(signal.SIGTERM)
        self.wait_for("STOPPING=1")
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)

    def test_a_loop_that_stands_still_is_noticed(self):
        process = self.start()
        self.wait_for("WATCHDOG=1")
        process.send_signal(signal.SIGSTOP)
        self.inbox.settimeout(3 * WATCHDOG_SECONDS)
        with self.assertRaises(TimeoutError):
            while True:  # reads what was in progress
                self.inbox.recv(4096)
        process.send_signal(signal.SIGCONT)
        self.inbox.settimeout(PATIENCE_SECONDS)
        self.wait_for("WATCHDOG=1")

    def test_sockets_that_it_is_given_are_its_only_ones(self):
        tcp = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        local = self.enterContext(socket.socket(socket.AF_UNIX))
        local.bind(str(self.folder / "given"))
        local.listen()
        # A client that connects before the server is ready waits, and is not refused.
        early = resp.Connection.to(tcp.getsockname())
        self.addCleanup(early.close)
        process = self.start([tcp, local])
        self.assertRegex(early.ask("PING"), "PONG|LOADING")
        self.wait_for("READY=1")
        self.assertEqual(early.ask("PING"), "PONG")
        connection = resp.Connection.to(str(self.folder / "given"))
        self.addCleanup(connection.close)
        self.assertEqual(connection.ask("PING"), "PONG")
        with self.assertRaises(ConnectionRefusedError):
            resp.Connection.to(("127.0.0.1", self.port))
        self.assertIn(f"listening on unix:{self.folder}/given\n", self.log())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        self.assertTrue((self.folder / "given").exists())

    def test_a_socket_of_the_port_for_tls_speaks_tls(self):
        certificates = self.enterContext(Certificates())
        plain = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        under_tls = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        tls_port = under_tls.getsockname()[1]
        self.file.write_text(f"tls_port: {tls_port}\ntls_cert_file: {certificates.cert_file}\n"
                             f"tls_key_file: {certificates.key_file}\nhttp_port: 0\n")
        process = self.start([plain, under_tls])
        self.wait_for("READY=1")
        with connect(tls_port, certificates.context()) as connection:
            self.assertEqual(connection.ask("PING"), "PONG")
        with resp.Connection.to(plain.getsockname()) as connection:
            self.assertEqual(connection.ask("PING"), "PONG")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)

    def test_what_is_no_listening_socket_is_refused(self):
        connected, other = socket.socketpair()
        self.enterContext(connected)
        self.enterContext(other)
        process = self.start([connected])
        self.assertEqual(process.wait(PATIENCE_SECONDS), 1)
        self.assertIn("descriptor 3, which is not a listening stream socket", self.log())

    def test_a_reload_takes_over_what_may_change(self):
        process = self.start()
        self.wait_for("READY=1")
        self.file.write_text("port: 1\nmax_clients: 77\nlog_level: debug\n")
        process.send_signal(signal.SIGHUP)
        self.wait_for("RELOADING=1")
        self.wait_for("READY=1")
        self.wait_for_log("max_clients is 77 now, was 10000\n")
        self.wait_for_log("SIGHUP: port is read only at startup; restart the server")
        connection = resp.Connection.to(("127.0.0.1", self.port))
        self.addCleanup(connection.close)
        self.assertEqual(connection.ask("CONFIG", "GET", "max_clients"), [b"max_clients", b"77"])
        self.file.write_text("max_clients: many\n")
        process.send_signal(signal.SIGHUP)
        self.wait_for_log("SIGHUP: nothing was changed: ")
        self.wait_for("READY=1")
        self.assertEqual(connection.ask("CONFIG", "GET", "max_clients"), [b"max_clients", b"77"])


class Unit(unittest.TestCase):

    def test_the_service_may_do_little(self):
        for unit in ("fairlockd.service", "fairlock-backup.service"):
            judged = subprocess.run(
                ["systemd-analyze", "security", "--offline=yes", "--threshold=20", UNITS / unit],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(judged.returncode, 0, judged.stdout[-300:] + judged.stderr)
            self.assertRegex(judged.stdout, rf"Overall exposure level for {unit}: [01]\.")

    def test_the_backup_is_due_every_day(self):
        timer = (UNITS / "fairlock-backup.timer").read_text()
        due = re.search("^OnCalendar=(.*)$", timer, re.MULTILINE).group(1)
        said = subprocess.run(["systemd-analyze", "calendar", due], capture_output=True, text=True,
                              timeout=60, check=True).stdout
        self.assertIn("*-*-* 00:00:00", said)
        self.assertIn("\nPersistent=true\n", timer)
        service = (UNITS / "fairlock-backup.service").read_text()
        self.assertIn("\nExecStart=/usr/bin/fairlockctl backup --keep ${KEEP}\n", service)
        # The folders where the server may write.
        self.assertIn("\nStateDirectory=fairlock fairlock/backups\n",
                      (UNITS / "fairlockd.service").read_text())


if __name__ == "__main__":
    unittest.main()
