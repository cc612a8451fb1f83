"""The history in a file: written as it happens, renamed, read back, and never in the way."""

import json
import os
import pathlib
import resource
import shutil
import signal
import tempfile
import unittest

from socket_server import SocketServer, wait_until


class HistoryFile(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlock-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.path = self.folder / "history"

    def start(self, *options, **settings):
        return self.enterContext(SocketServer("--history-file", str(self.path), *options,
                                              **settings))

    def lines(self, path=None):
        text = (path or self.path).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def events_of(self, server, key="k"):
        with server.connect() as client:
            events = client.ask_map("HISTORY", key)[b"events"]
        fields = [dict(zip(event[::2], event[1::2])) for event in events]
        return [(event[b"event"].decode(), event[b"source"].decode()) for event in fields]

    def test_has_each_event_with_its_time_in_the_form_of_the_log(self):
        server = self.start()
        with server.connect() as client:
            client.ask("LOCK", "k", b"\xff", "PX", "60000")
            client.ask("BREAK", "k", "REASON", "stuck")
        self.assertEqual(server.stop(), 0)
        lines = self.lines()
        self.assertEqual([line["event"] for line in lines],
                         ["started", "granted", "broken", "stopped"])
        for line in lines:
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$")
        self.assertEqual(lines[1]["owner_base64"], "/w==")
        self.assertEqual(lines[1]["token"], lines[2]["token"])
        self.assertEqual(lines[2]["comment"], "stuck")
        self.assertIn("user=default", lines[2]["by"])
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)

    def test_is_read_back_also_after_a_kill(self):
        server = self.start()
        with server.connect() as client:
            client.ask("LOCK", "k", "first", "PX", "60000")
            client.ask("UNLOCK", "k", "first")
        wait_until(lambda: len(self.lines()) == 3, "the events are written")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        with open(self.path, "a", encoding="utf-8") as file:
            file.write('{"time":"2026-')
        server = self.start()
        with server.connect() as client:
            client.ask("LOCK", "k", "second", "PX", "60000")
        self.assertEqual(self.events_of(server), [("granted", "memory"), ("released", "file"),
                                                  ("granted", "file")])
        self.assertEqual(server.stop(), 0)
        self.assertEqual([line["event"] for line in self.lines()],
                         ["started", "granted", "released", "started", "granted", "stopped"])

    def test_is_renamed_and_read_back_from_all_files(self):
        server = self.start("--history-file-size", "1mb", "--history-files", "2")
        with server.connect() as client:
            for number in range(1600):
                client.ask("LOCK", "k", f"{number:06}" + "o" * 900, "PX", "60000")
                client.ask("UNLOCK", "k", f"{number:06}" + "o" * 900)
        self.assertEqual(server.stop(), 0)
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, ["history", "history.1", "history.2"])
        numbers = [int(line["owner"][:6]) for name in reversed(names)
                   for line in self.lines(self.folder / name) if line["event"] == "granted"]
        self.assertEqual(numbers, list(range(numbers[0], 1600)))
        for name in names:
            self.assertLessEqual((self.folder / name).stat().st_size, 1 << 20)
        server = self.start("--history-file-size", "1mb", "--history-files", "2")
        self.assertIn(("granted", "file"), self.events_of(server))

    def test_a_full_disk_loses_events_that_are_counted_and_nothing_else(self):
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most))
        with open(os.devnull, "wb") as nothing:
            server = self.start(preexec_fn=limit, stdout=nothing, stderr=nothing)
        with server.connect() as client:
            for _ in range(300):
                client.ask("LOCK", "k", "o", "PX", "60000")
                client.ask("UNLOCK", "k", "o")
        wait_until(lambda: server.info("history_file_dropped") > 0, "events are dropped")
        wait_until(lambda: server.info("history_file_dropped") +
                   server.info("history_file_written") == 600, "each event is counted")
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        wait_until(lambda: sum(line["count"] for line in self.lines() if line["event"] == "lost") ==
                   server.info("history_file_dropped"), "the file says how many")
        known = sum(line["event"] in ("granted", "released") for line in self.lines())
        self.assertEqual(known, server.info("history_file_written"))
        self.assertEqual(server.stop(), 0)

    def test_what_is_wrong_is_said_at_the_start(self):
        for options, error in ((("--history-file", str(self.folder)), "cannot write to"),
                               (("--history-file", "/dev/null"), "not a regular file"),
                               (("--history-file", str(self.path), "--history-memory", "0"),
                                "history_memory must not be 0")):
            server = SocketServer(*options)
            with self.assertRaisesRegex(AssertionError, error):
                with server:
                    pass
        self.start()
        with self.assertRaisesRegex(AssertionError, "another process writes to"):
            with SocketServer("--history-file", str(self.path)):
                pass


if __name__ == "__main__":
    unittest.main()
