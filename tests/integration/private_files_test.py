"""What other users of the machine can do with the files of the server: read none that it writes,
and write none that it trusts."""

import os
import pathlib
import re
import signal
import stat
import subprocess
import tempfile
import time
import unittest

import own_server
import resp
from kept_server import KeptServer

WIDE_UMASK = 0o022
OTHERS = stat.S_IRWXG | stat.S_IRWXO
PASSWORD = "a-password-of-the-tests"


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def open_to_others(folder, bits, left_out=()):
    """Returns the files and folders below that other users could use, as their path and mode."""
    found = {}
    for path in pathlib.Path(folder).rglob("*"):
        if path.name not in left_out and not path.is_socket() and mode_of(path) & bits:
            found[str(path.relative_to(folder))] = oct(mode_of(path))
    return found


class Written(unittest.TestCase):
    """The server is started by a shell with the usual umask."""

    def setUp(self):
        self.umask = os.umask(WIDE_UMASK)

    def tearDown(self):
        os.umask(self.umask)

    def serve(self, *options, data_mode=None):
        server = KeptServer(*options)
        if data_mode is not None:
            server.data.mkdir()
            server.data.chmod(data_mode)
        return self.enterContext(server)

    def fill(self, server):
        with server.connect_unix() as client:
            for i in range(100):
                client.ask("LOCK", f"key:{i}", "owner", "PX", "600000", "META", "a secret")
            for words in (["BACKUP", str(server.directory / "copy")], ["BACKUP"]):
                self.assertNotIsInstance(client.ask(*words), resp.ErrorReply)

    def test_nobody_else_can_read_what_the_server_writes(self):
        server = self.serve("--log-file", "server.log")
        self.fill(server)
        server.stop_and_start_again()
        self.fill_again(server)
        server.stop()
        restored = server.directory / "restored"
        done = subprocess.run(
            [own_server.PROGRAM, "--data-dir", restored, "--restore", server.directory / "copy"],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The harness itself creates the file with the output.
        found = open_to_others(server.directory, OTHERS, left_out=("output",))
        self.assertEqual(found, {})
        for name in ("data", "copy", "backups", "restored"):
            self.assertEqual(oct(mode_of(server.directory / name)), "0o700", name)
        self.assertEqual(oct(mode_of(server.directory / "server.log")), "0o600")

    def fill_again(self, server):
        with server.connect_unix() as client:
            client.ask("LOCK", "key:again", "owner", "PX", "600000")

    def test_an_existing_folder_is_taken_away_from_others(self):
        for before, after in ((0o755, 0o750), (0o777, 0o750), (0o711, 0o710), (0o700, 0o700),
                              (0o750, 0o750), (0o2775, 0o2750)):
            with self.subTest(oct(before)):
                server = self.serve(data_mode=before)
                self.assertEqual(oct(mode_of(server.data)), oct(after))
                warned = f"its permissions are now {after:04o}" in server.output()
                self.assertEqual(warned, before != after, server.output())

    def test_a_group_that_may_read_the_folder_may_read_new_files(self):
        server = self.serve(data_mode=0o750)
        self.fill(server)
        server.stop()
        self.assertEqual(open_to_others(server.data, stat.S_IWGRP | stat.S_IRWXO), {})
        tables = list((server.data / "db").glob("*.log")) + list((server.data / "db").glob("*.sst"))
        self.assertTrue(tables)
        for path in tables:
            self.assertEqual(oct(mode_of(path)), "0o640", path)
        self.assertEqual(oct(mode_of(server.directory / "copy")), "0o750")

    def test_the_folder_is_only_looked_at_by_a_check(self):
        server = self.serve(data_mode=0o700)
        server.stop()
        server.data.chmod(0o755)
        self.assertEqual(server.run("--check-data").returncode, 0)
        self.assertEqual(oct(mode_of(server.data)), "0o755")


def file_options():
    """Returns the options that name a file to read, from the help of the program."""
    shown = subprocess.run([own_server.PROGRAM, "--help"], capture_output=True, text=True,
                           timeout=20, check=True).stdout
    return set(re.findall(r"^  --([a-z-]+) FILE\b", shown, re.MULTILINE)) - {"config"}


class Trusted(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, name, text, mode):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def ended(self, *arguments):
        return subprocess.run(
            [own_server.PROGRAM, "--port", "0", "--http-port", "0", "--durability", "none",
             *map(str, arguments)],
            cwd=self.folder, capture_output=True, text=True, timeout=20, check=False)

    def test_every_option_that_names_a_file(self):
        options = file_options()
        for name in ("acl-file", "http-token-file", "tls-key-file", "cluster-etcd-password-file"):
            self.assertIn(name, options)
        for name in options:
            for mode in (0o602, 0o666, 0o777):
                path = self.file(name, "user default on nopass +@all\n", mode)
                for action in ([], ["--check-config"], ["--create-fleet", "1"]):
                    with self.subTest(name, mode=oct(mode), action=action):
                        done = self.ended(f"--{name}", path, *action)
                        self.assertEqual(done.returncode, 2)
                        option = name.replace("-", "_")
                        self.assertIn(f"{option}: {path}: every user of this machine may write to "
                                      "it, so it is not read; use `chmod o-w`", done.stderr)

    def test_a_link_counts_as_the_file_to_which_it_leads(self):
        self.file("users", "user default on nopass +@all\n", 0o666)
        link = self.folder / "link"
        link.symlink_to("users")
        self.assertIn("every user of this machine", self.ended("--acl-file", link).stderr)

    def test_the_configuration_file(self):
        path = self.file("fairlock.yaml", "max_clients: 5\n", 0o666)
        done = self.ended("--config", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{path}: every user of this machine may write to it", done.stderr)

    def test_devices_and_files_of_a_group_are_read(self):
        path = self.file("fairlock.yaml", "max_clients: 5\n", 0o664)
        for config in (path, "/dev/null"):
            done = self.ended("--config", config, "--check-config")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_file_that_becomes_writable_is_not_read_again(self):
        users = self.file("users", f"user default on >{PASSWORD} ~* &* owner:* +@all\n", 0o600)
        server = self.enterContext(own_server.Server("--acl-file", str(users)))
        with server.connect() as client:
            self.assertEqual(client.ask("AUTH", PASSWORD), "OK")
            users.write_text("user default on nopass ~* &* owner:* +@all\n")
            users.chmod(0o606)
            self.assertIn("every user of this machine", client.ask("ACL", "LOAD"))
            server.process.send_signal(signal.SIGHUP)
            give_up = time.monotonic() + 20
            while "SIGHUP: nothing was changed: acl_file: " not in server.output():
                self.assertLess(time.monotonic(), give_up, server.output())
                time.sleep(0.01)
        with server.connect() as stranger:
            self.assertRegex(stranger.ask("PING"), "^NOAUTH")


if __name__ == "__main__":
    unittest.main()
