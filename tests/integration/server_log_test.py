"""The log: where it is written, what it says, and that clients never wait for it."""

import os
import time
import unittest

from socket_server import SocketServer, wait_until

LINE = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d (debug|info|warning|error) .+$"


class Logging(unittest.TestCase):

    def start(self, *options, **settings):
        return self.enterContext(SocketServer(*options, **settings))

    def start_with_unread_log(self):
        """Returns a server that has more to log than its pipe (64 KiB) and its queue can hold, and
        the end of the pipe, which nobody reads yet."""
        reading, writing = os.pipe()
        server = self.start("--log-level", "debug", stderr=writing)
        os.close(writing)
        slowest_s = 0.0
        for _ in range(6000):  # two lines each
            begin = time.monotonic()
            with server.connect_unix() as client:
                self.assertEqual(client.ask("PING"), "PONG")
            slowest_s = max(slowest_s, time.monotonic() - begin)
        self.assertLess(slowest_s, 10)
        return server, reading

    def test_the_start_says_version_addresses_and_how_to_try_it(self):
        server = self.start()
        log = wait_until(lambda: "try: redis-cli" in server.output() and server.output(), "ready")
        self.assertRegex(log, r"^\S+ info fairlockd \d+\.\d+\.\d+ starts, process \d+; "
                              r"only this machine can connect \(bind\)\n")
        self.assertIn(f"listening on 127.0.0.1:{server.port}\n", log)
        self.assertIn(f"listening on unix:{server.unix_socket}\n", log)
        self.assertIn(f"redis-cli -p {server.port} LOCK ", log)
        for line in log.splitlines():
            self.assertRegex(line, LINE)

    def test_the_first_line_says_that_other_machines_can_connect(self):
        server = self.start("--bind=-192.0.2.1")  # besides 127.0.0.1; nobody has this address
        self.assertIn("; other machines can connect\n", server.output().splitlines(True)[0])

    def test_a_log_file_is_appended_to(self):
        server = self.start("--log-file", "server.log")
        path = server.directory / "server.log"
        self.assertEqual(server.stop(), 0)
        first = path.read_text(encoding="utf-8")
        self.assertTrue(first.endswith("stopped\n"))
        self.assertEqual(server.output(), "")
        again = self.start("--log-file", str(path))
        self.assertEqual(again.stop(), 0)
        self.assertTrue(path.read_text(encoding="utf-8").startswith(first))
        self.assertEqual(path.read_text(encoding="utf-8").count("stopped\n"), 2)

    def test_seconds_beside_a_duration_without_a_unit_are_said_once_for_a_library(self):
        server = self.start()
        for name in ("redis-py", "redis-py", ""):
            with server.connect_unix() as client:
                if name:
                    self.assertEqual(client.ask("CLIENT", "SETINFO", "LIB-NAME", name), "OK")
                client.ask("LOCK", "k", "me", "EX", "30", "WAIT", "30")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.output().count(" sent LOCK with EX and WAIT 30: "), 2)
        self.assertRegex(server.output(), r" warning client library 'redis-py' \(.+\) sent LOCK ")
        self.assertRegex(server.output(), r" warning an unknown client library \(.+\) sent LOCK ")

    def test_the_level_can_be_changed_while_it_runs(self):
        server = self.start()
        client = self.enterContext(server.connect())
        client.settle()
        self.assertNotIn(" debug ", server.output())
        self.assertEqual(client.ask("CONFIG", "SET", "log_level", "debug"), "OK")
        change = " info log_level is debug now, was info\n"
        wait_until(lambda: change in server.output(), "the change is logged")
        server.connect().close()
        wait_until(lambda: "disconnected: closed by the client" in server.output(), "it is logged")

    def test_a_log_that_nobody_reads_does_not_block_the_stop(self):
        server, reading = self.start_with_unread_log()
        self.addCleanup(os.close, reading)
        begin = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begin, 10)

    def test_lines_that_were_dropped_are_counted_when_it_is_read_again(self):
        server, reading = self.start_with_unread_log()
        received = b""
        os.set_blocking(reading, False)
        give_up = time.monotonic() + 20
        while b"log lines lost because nothing was reading the log: " not in received:
            self.assertLess(time.monotonic(), give_up, "the loss is not reported")
            try:
                received += os.read(reading, 1 << 16)
            except BlockingIOError:
                time.sleep(0.01)
        os.close(reading)
        # Nor does the server end when the reader has gone altogether.
        with server.connect_unix() as client:
            self.assertEqual(client.ask("PING"), "PONG")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
