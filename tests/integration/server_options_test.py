"""Options as users set them: in the file, on the command line, with CONFIG SET; and the errors
about wrong options."""

import pathlib
import subprocess
import tempfile
import unittest

from own_server import PROGRAM
from socket_server import SocketServer

CONF = pathlib.Path(__file__).resolve().parents[2] / "conf" / "fairlock.yaml"


def fairlockd(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=20,
                          check=False)


class Options(unittest.TestCase):

    def file(self, text):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "fairlock.yaml")
        path.write_text(text, encoding="utf-8")
        return str(path)

    def test_the_shipped_file_is_what_the_server_prints(self):
        self.assertEqual(fairlockd("--print-config").stdout, CONF.read_text(encoding="utf-8"))
        checked = fairlockd("--config", str(CONF), "--check-config")
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_a_wrong_value_in_the_file(self):
        path = self.file("port: 4000\n\nmax_clients: lots\n")
        ended = fairlockd("--config", path, "--check-config")
        self.assertEqual(ended.returncode, 2)
        self.assertEqual(ended.stderr, f"fairlockd: {path}:3: max_clients must be a "
                                       "number from 1 to 1000000, got 'lots'\n")

    def test_options_of_a_node_are_checked_as_at_its_start(self):
        node = "cluster_etcd: 127.0.0.1:1\ncluster_node: a\ncluster_announce: a:1\n"
        for line, wrong in (("cluster_balance: 5s", "cluster_balance must be 0, or at least 10s"),
                            ("cluster_partition: one", "cluster_partition must be auto, or a n"),
                            ("cluster_name: a/b", "cluster_name must")):
            path = self.file(f"{node}{line}\n")
            for words in (["--check-config"], ["--durability", "sync"]):
                with self.subTest(line, words=words):
                    ended = fairlockd("--config", path, *words)
                    self.assertNotEqual(ended.returncode, 0)
                    self.assertIn(wrong, ended.stderr)
        checked = fairlockd("--config", self.file(node), "--check-config")
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_an_unknown_option_in_the_file(self):
        path = self.file("max_client: 5\n")
        ended = fairlockd("--config", path)
        self.assertEqual(ended.returncode, 2)
        self.assertIn(f"{path}:1: unknown option 'max_client' (value '5'); did you mean "
                      "max_clients?", ended.stderr)

    def test_wrong_options_on_the_command_line(self):
        for arguments, said in (
                (["--max-client", "5"], "'--max-client' is not an option; did you mean --max-"),
                (["--port", "65536"], "--port must be a number from 0 to 65535, got '65536'"),
                (["--port"], "--port must be a number from 0 to 65535, got no value"),
                (["--default-lease=30"], "--default-lease must be a duration ("),
                (["some.yaml"], "'some.yaml' belongs to no option: use `--option value`")):
            ended = fairlockd(*arguments)
            self.assertEqual(ended.returncode, 2, arguments)
            self.assertIn("fairlockd: command line: " + said, ended.stderr)
            self.assertEqual(ended.stdout, "")

    def test_the_command_line_goes_before_the_file(self):
        path = self.file("max_clients: 7\ndefault_lease: 5s\n")
        server = self.enterContext(SocketServer("--config", path, "--max-clients", "8"))
        client = self.enterContext(server.connect())
        self.assertEqual(client.ask("CONFIG", "GET", "max_clients"), [b"max_clients", b"8"])
        self.assertEqual(client.ask("CONFIG", "GET", "default_lease"), [b"default_lease", b"5s"])
        self.assertIn(f"config_file:{path}\r\n".encode(), client.ask("INFO", "server"))

    def test_version_and_help(self):
        self.assertRegex(fairlockd("--version").stdout, r"^fairlockd \d+\.\d+\.\d+\n$")
        text = fairlockd("--help").stdout
        for option in ("--config FILE", "--port NUMBER", "--bind LIST", "--unix-socket TEXT"):
            self.assertIn(option, text)

    def test_settings_changed_while_it_runs_are_in_use_at_once(self):
        server = self.enterContext(SocketServer())
        client = self.enterContext(server.connect())
        self.assertEqual(client.ask("CONFIG", "SET", "default_lease", "1h"), "OK")
        client.ask("LOCK", "key", "owner")
        shown = client.ask_map("LOCKINFO", "key")[b"holders"][0]
        shown = dict(zip(shown[::2], shown[1::2]))
        self.assertGreater(shown[b"ttl_ms"], 3_590_000)
        self.assertEqual(client.ask("CONFIG", "SET", "argument_limit", "16kb"), "OK")
        self.assertEqual(client.ask("CONFIG", "SET", "maxclients", "1"), "OK")
        with server.connect() as refused:
            self.assertTrue(refused.rest().startswith(b"-ERR max number"))
        self.assertIn("must be a number", client.ask("CONFIG", "SET", "max_clients", "0"))
        self.assertIn("immutable", client.ask("CONFIG", "SET", "port", "1"))
        self.assertEqual(client.ask("CONFIG", "GET", "tcp-keepalive"), [b"tcp-keepalive", b"300"])
        client.send(b"*2\r\n$4\r\nECHO\r\n$20000\r\n")
        self.assertIn(b"-ERR Protocol error", client.rest())


if __name__ == "__main__":
    unittest.main()
