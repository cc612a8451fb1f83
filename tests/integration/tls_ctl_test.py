"""fairlockctl over TLS."""

import os
import re
import signal
import subprocess
import time
import unittest

from certificates import Certificates
import fairlockctl
from fairlockctl import Fairlockctl
from own_server import Server, free_port


class TlsCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.certificates = cls.enterClassContext(Certificates())
        authority, stranger = cls.certificates.authority, cls.certificates.stranger
        cls.right = authority.issue("right", "operator", "client")
        cls.foreign = stranger.issue("foreign", "operator", "client")
        cls.trust = ["--tls-ca-file", str(authority.certificate)]

    def setUp(self):
        self.server = self.serve()

    def serve(self, *options):
        self.tls_port = free_port()
        return self.enterContext(Server(*self.certificates.options(self.tls_port), *options))

    def tool(self, **variables):
        tool = Fairlockctl(self.server, FAIRLOCK_HOST="localhost")
        tool.environment.update({"FAIRLOCK_PORT": str(self.tls_port), **variables})
        return tool

    def identity(self, identity):
        return ["--tls-cert-file", str(identity[0]), "--tls-key-file", str(identity[1])]

    def assertFails(self, done, exit_code, pattern):
        self.assertEqual(done.returncode, exit_code, done.stderr)
        self.assertRegex(done.stderr, pattern)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Settings(TlsCase):

    def test_flags(self):
        text = self.tool().text(*self.trust, "lock", "k", "me", "--ttl", "30s")
        self.assertRegex(text, r"\d+")
        self.assertEqual(self.tool().run(*self.trust, "unlock", "k", "me").returncode, 0)

    def test_flags_as_redis_cli_has_them(self):
        done = self.tool().run("--tls", "--cacert", self.trust[1], "--sni", "localhost", "ping",
                               "--count", "1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_environment(self):
        tool = self.tool(FAIRLOCK_TLS="yes", FAIRLOCK_TLS_CA_FILE=self.trust[1])
        tool.text("status")
        wrong = self.tool(FAIRLOCK_TLS="perhaps").run("status")
        self.assertFails(wrong, fairlockctl.WRONG_USE,
                         "FAIRLOCK_TLS must be yes or no, got 'perhaps'")

    def test_file(self):
        path = self.certificates.folder / "ctl.yaml"
        path.write_text(f"tls: yes\ntls_ca_file: {self.trust[1]}\n")
        self.tool().text("--config", str(path), "status")
        # The later option has precedence: this speaks plain RESP.
        done = self.tool().run("--config", str(path), "--tls=no", "status")
        self.assertFails(done, fairlockctl.REFUSED, "this port speaks TLS only")

    def test_a_unix_socket_goes_without(self):
        done = self.tool().run(*self.trust, "--socket", str(self.server.unix_socket), "status")
        self.assertEqual(done.returncode, 0, done.stderr)


class Refusals(TlsCase):

    def test_a_server_that_is_not_believed(self):
        tool = self.tool()
        unreachable = fairlockctl.UNREACHABLE
        self.assertFails(tool.run("--tls", "status"), unreachable,
                         "not trusted: .*local issuer.*--tls-ca-file")
        self.assertFails(tool.run(*self.trust, "--host", "127.0.0.1", "--tls-server-name",
                                  "other.example", "status"), unreachable,
                         "hostname mismatch; --tls-server-name")
        self.assertFails(tool.run(*self.trust, "--tls-server-name", "127.0.0.2", "status"),
                         unreachable, "IP address mismatch; --tls-server-name")
        self.assertEqual(tool.run("--insecure", "status").returncode, 0)
        self.assertEqual(tool.run(*self.trust, "--host", "127.0.0.1", "status").returncode, 0)

    def test_a_server_whose_certificate_has_ended(self):
        self.certificates.install(
            *self.certificates.authority.issue("ended", "localhost", is_over=True))
        self.serve()
        self.assertFails(self.tool().run(*self.trust, "status"), fairlockctl.UNREACHABLE,
                         "certificate has expired")
        self.certificates.install(*self.certificates.authority.issue("lasting", "localhost"))

    def test_a_client_that_is_not_believed(self):
        self.serve("--tls-auth-clients", "required")
        tool = self.tool()
        self.assertFails(tool.run(*self.trust, "status"), fairlockctl.NOT_ALLOWED,
                         "rejected the client certificate, or requires one .*--tls-cert-file")
        self.assertFails(tool.run(*self.trust, *self.identity(self.foreign), "status"),
                         fairlockctl.NOT_ALLOWED, "rejected the client certificate")
        self.assertEqual(
            tool.run(*self.trust, *self.identity(self.right), "status").returncode, 0)

    def test_files_that_are_wrong(self):
        tool = self.tool()
        wrong_use = fairlockctl.WRONG_USE
        self.assertFails(tool.run("--tls-ca-file", "/nowhere", "status"), wrong_use,
                         "--tls-ca-file must be a readable PEM file, got '/nowhere': No such file")
        self.assertFails(tool.run(*self.trust, "--tls-cert-file", str(self.right[0]), "status"),
                         wrong_use, "must be given together")
        self.assertFails(tool.run(*self.trust, "--tls-cert-file", str(self.right[0]),
                                  "--tls-key-file", str(self.foreign[1]), "status"),
                         wrong_use, "key values mismatch")

    def test_ports_that_speak_something_else(self):
        plain = self.tool(FAIRLOCK_PORT=str(self.server.port))
        self.assertFails(plain.run("--tls", "status"), fairlockctl.UNREACHABLE,
                         "does not use TLS on this port; .*omit --tls")
        self.assertFails(self.tool().run("status"), fairlockctl.REFUSED,
                         "speaks TLS only; .*fairlockctl --tls")

    def test_a_server_that_stands_still(self):
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            begun = time.monotonic()
            done = self.tool().run(*self.trust, "--timeout", "500ms", "status")
            self.assertFails(done, fairlockctl.UNREACHABLE,
                             "did not (answer|finish the TLS handshake)")
            self.assertLess(time.monotonic() - begun, 5)
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)


class Running(TlsCase):

    def test_a_command_under_a_lock(self):
        done = self.tool().run(*self.trust, "run", "job", "--", "sh", "-c", "echo $FAIRLOCK_TOKEN")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 0)

    def test_many_take_turns(self):
        path = self.certificates.folder / "turns"
        script = (f"test ! -e {path}.inside && touch {path}.inside && sleep 0.02 && "
                  f"echo turn >> {path} && rm {path}.inside")
        runners = [self.tool().start(*self.trust, "run", "turns", "--", "sh", "-c", script)
                   for _ in range(10)]
        self.assertEqual([runner.wait(60) for runner in runners], [0] * 10)
        self.assertEqual(path.read_text(), "turn\n" * 10)

    def test_a_session_goes_on_after_its_connection_was_cut(self):
        marks = self.certificates.folder / "marks"
        runner = self.tool().start(
            *self.trust, "run", "--session", "--grace", "20s", "session", "--", "sh", "-c",
            f"touch {marks}; while [ -e {marks} ]; do sleep 0.05; done",
            stderr=subprocess.PIPE)
        self.addCleanup(runner.stderr.close)
        wait_for(marks.exists)
        tool = self.tool()
        before = self.connections(tool)
        for client in before:
            tool.run(*self.trust, "kill", client)
        wait_for(lambda: self.connections(tool) - before)
        marks.unlink()
        self.assertEqual(runner.wait(20), 0, runner.stderr.read())

    def connections(self, tool):
        """Returns the ids of the runner's connections."""
        with self.server.connect() as looker:
            text = looker.ask("CLIENT", "LIST").decode()
        return {match.group(1) for match in re.finditer(r"^id=(\d+) .*name=fairlockctl/", text,
                                                        re.MULTILINE)}


def wait_for(condition):
    give_up = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
