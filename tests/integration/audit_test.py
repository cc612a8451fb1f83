"""The audit: who did what, in the log, whatever its level."""

import getpass
import re
import socket
import unittest

from fairlockctl import Fairlockctl, NOT_ALLOWED
from socket_server import SocketServer

USERS = ("user default on nopass ~* &* +@all\n"
         "user guest on >pw ~* &* -@all +@lock +hello +ping +command\n")


class Audit(unittest.TestCase):

    def setUp(self):
        self.server = SocketServer("--log-level", "error", "--acl-file", "users.acl")
        (self.server.directory / "users.acl").write_text(USERS, encoding="utf-8")
        (self.server.directory / "users.acl").chmod(0o600)
        self.enterContext(self.server)

    def lines(self):
        """Stops the server; returns its audit, without times."""
        self.assertEqual(self.server.stop(), 0)
        return [line.split(" info audit: ", 1)[1] for line in self.server.output().splitlines()
                if " info audit: " in line]

    def test_each_action_is_one_line_at_every_level(self):
        with self.server.connect() as client:
            client.ask("LOCK", "k", "owner", "PX", "60000")
            client.ask("BREAK", "k", "REASON", "it\nhangs")
            client.ask("CONFIG", "SET", "requirepass", "hunter2")
            client.ask("ACL", "LOAD")
            client.ask("MULTI")
            client.ask("FLUSHALL")
            client.ask("EXEC")
        with self.server.connect() as guest:
            guest.ask("AUTH", "guest", "pw")
            self.assertIn("NOPERM", guest.ask("FLUSHDB"))
        lines = self.lines()
        self.assertEqual([line.split(";")[0] for line in lines],
                         ["BREAK 'k' 'REASON' 'it\\x0ahangs'", "CONFIG SET 'requirepass' (hidden)",
                          "ACL LOAD", "FLUSHALL", "FLUSHDB"])
        self.assertRegex(lines[0], r"; db 0; user default, 127\.0\.0\.1:\d+; done: 1$")
        self.assertRegex(lines[-1], r"; user guest, \S+; refused: NOPERM User guest has no ")
        self.assertNotIn("hunter2", self.server.output())

    def test_the_tool_says_who_uses_it(self):
        ctl = Fairlockctl(self.server)
        ctl.text("lock", "k", "me")
        ctl.text("break", "k", "--yes", "--reason", "stuck")
        ctl.text("drain", "jobs:*", "--reason", "deploy")
        (self.server.directory / "pw").write_text("pw\n", encoding="utf-8")
        (self.server.directory / "pw").chmod(0o600)
        denied = ctl.run("--user", "guest", "--password-file", str(self.server.directory / "pw"),
                         "kill", "4711")
        self.assertEqual(denied.returncode, NOT_ALLOWED)
        lines = self.lines()
        name = re.sub(r"[^!-~]", "_", f"fairlockctl/{getpass.getuser()}@{socket.gethostname()}")
        for line in lines:
            self.assertIn(f" '{name}'; ", line)
        self.assertTrue(lines[0].startswith("BREAK 'k'"), lines)
        self.assertIn("'stuck'", lines[0])
        self.assertTrue(lines[1].startswith("LIMIT SET 'jobs:*' '0' 'REASON' 'deploy'"), lines)
        self.assertTrue(lines[2].startswith("CLIENT KILL 'ID' '4711'"), lines)


if __name__ == "__main__":
    unittest.main()
