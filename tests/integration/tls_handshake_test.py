"""Which clients complete the TLS handshake and which do not, checked with openssl's client."""

import contextlib
import pathlib
import resource
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

from certificates import Certificates, connect
from own_server import PROGRAM, Server, free_port
import resp

PATIENCE_SECONDS = 20


class TlsCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.certificates = cls.enterClassContext(Certificates())

    def serve(self, *options):
        self.tls_port = free_port()
        return self.enterContext(Server(*self.certificates.options(self.tls_port), *options))

    def client(self, *words, typed="PING\r\nQUIT\r\n"):
        """Runs openssl s_client until the server closes; returns its output."""
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-ign_eof",
             *map(str, words)],
            input=typed, capture_output=True, text=True, errors="replace",
            timeout=PATIENCE_SECONDS, check=False)
        return done.stdout + done.stderr

    def identity(self, certificate, key):
        return ["-cert", certificate, "-key", key]

    def assertServed(self, printed):
        self.assertIn("+PONG", printed)

    def assertRefused(self, printed, reason):
        self.assertNotIn("+PONG", printed)
        self.assertRegex(printed, reason)

    def assertStillServes(self):
        with connect(self.tls_port, self.certificates.context()) as other:
            self.assertEqual(other.ask("PING"), "PONG")


class Versions(TlsCase):

    def test_new_ones_are_spoken(self):
        self.serve()
        for version, name in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
            with self.subTest(version):
                printed = self.client(version)
                self.assertServed(printed)
                self.assertIn(name, printed)
                self.assertIn("Compression: NONE", printed)

    def test_old_ones_are_refused(self):
        self.serve()
        for version in ("-tls1", "-tls1_1"):
            with self.subTest(version):
                # Without this level the client would not even offer the old version.
                printed = self.client(version, "-cipher", "ALL:@SECLEVEL=0")
                self.assertRefused(printed, "alert protocol version|wrong version number")
        self.assertStillServes()

    def test_ssl3_is_refused(self):
        self.serve()
        # A client hello of SSL 3.0 with two ciphers from that era; openssl itself no longer speaks
        # it.
        hello = (b"\x01\x00\x00\x2b\x03\x00" + bytes(32) + b"\x00" + b"\x00\x04\x00\x2f\x00\x0a" +
                 b"\x01\x00")
        with socket.create_connection(("127.0.0.1", self.tls_port)) as peer:
            peer.settimeout(PATIENCE_SECONDS)
            peer.sendall(b"\x16\x03\x00" + len(hello).to_bytes(2, "big") + hello)
            answer = peer.recv(64)
        self.assertEqual(answer[:1], b"\x15", "an alert")
        self.assertEqual(answer[5:6], b"\x02", "a fatal one")

    def test_weak_ciphers_are_refused(self):
        self.serve()
        for cipher in ("AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "NULL", "aNULL"):
            with self.subTest(cipher):
                printed = self.client("-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0")
                self.assertRefused(printed, "alert handshake failure|no cipher")

    def test_ciphers_can_be_chosen(self):
        self.serve("--tls-ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384", "--tls-ciphersuites",
                   "TLS_CHACHA20_POLY1305_SHA256")
        self.assertIn("ECDHE-ECDSA-AES256-GCM-SHA384", self.client("-tls1_2"))
        self.assertIn("TLS_CHACHA20_POLY1305_SHA256", self.client("-tls1_3"))

    def test_nobody_renegotiates(self):
        self.serve()
        asker = self.enterContext(subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-tls1_2"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        asker.stdin.write("R\n")  # R requests a renegotiation
        asker.stdin.flush()
        watch = threading.Timer(PATIENCE_SECONDS, asker.kill)
        watch.start()
        printed = asker.stdout.read()
        watch.cancel()
        asker.wait()
        self.assertRefused(printed, "RENEGOTIATING(?s:.*)no renegotiation")
        self.assertStillServes()


class ServersCertificate(TlsCase):
    """The errors of a client that checks the server's certificate."""

    def look(self, *words):
        authority = self.certificates.authority.certificate
        return self.client("-verify_return_error", "-CAfile", authority, *words)

    def test_a_right_one(self):
        self.serve()
        self.assertServed(self.look("-verify_hostname", "localhost"))

    def test_another_name(self):
        self.serve()
        self.assertRefused(self.look("-verify_hostname", "other.example"), "hostname mismatch")

    def test_an_unknown_authority(self):
        self.serve()
        stranger = self.certificates.stranger.certificate
        self.assertRefused(self.client("-verify_return_error", "-CAfile", stranger),
                           "unable to get local issuer certificate")

    def test_its_time_is_over(self):
        self.certificates.install(
            *self.certificates.authority.issue("late", "localhost", is_over=True))
        server = self.serve()
        self.assertRefused(self.look(), "certificate has expired")
        self.assertIn("the certificate is not valid now", server.output())
        self.certificates.install(*self.certificates.authority.issue("in-time", "localhost"))

    def test_self_signed(self):
        self.certificates.install(
            *self.certificates.authority.self_signed("own", "localhost"))
        self.serve()
        self.assertRefused(self.look(), "self-signed certificate")
        self.certificates.install(*self.certificates.authority.issue("vouched", "localhost"))


class ClientsCertificates(TlsCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        known, unknown = cls.certificates.authority, cls.certificates.stranger
        cls.right = known.issue("right", "worker-1", "client")
        cls.wrong = {
            "of an unknown authority": unknown.issue("foreign", "worker-1", "client"),
            "whose time is over": known.issue("old", "worker-1", "client", is_over=True),
            "self-signed": known.self_signed("alone", "worker-1"),
        }

    def refuse_wrong_ones(self):
        for what, identity in self.wrong.items():
            for version in ("-tls1_2", "-tls1_3"):
                with self.subTest(what=what, version=version):
                    self.assertRefused(self.client(version, *self.identity(*identity)),
                                       "alert (unknown ca|certificate expired)")

    def test_required(self):
        server = self.serve("--tls-auth-clients", "required")
        for version in ("-tls1_2", "-tls1_3"):
            with self.subTest(version):
                self.assertRefused(self.client(version),
                                   "alert (certificate required|handshake failure)")
                self.assertServed(self.client(version, *self.identity(*self.right)))
        self.refuse_wrong_ones()
        self.assertTrue(eventually(
            lambda: "peer did not return a certificate" in server.output()))

    def test_optional(self):
        self.serve("--tls-auth-clients", "optional")
        self.assertServed(self.client())
        self.assertServed(self.client(*self.identity(*self.right)))
        self.refuse_wrong_ones()

    def test_not_asked(self):
        self.serve()
        self.assertServed(self.client(*self.identity(*self.wrong["self-signed"])))

    def test_a_server_s_certificate_is_none_of_a_client(self):
        self.serve("--tls-auth-clients", "required")
        usage = self.certificates.authority.folder / "ca.cnf"
        usage.write_text(usage.read_text().replace("[server]",
                                                   "[server]\nextendedKeyUsage = serverAuth"))
        identity = self.certificates.authority.issue("another-server", "localhost")
        self.assertRefused(self.client(*self.identity(*identity)), "alert unsupported certificate")


class CertificatesOfUsers(TlsCase):
    """The certificate's common name is the user's name, if the server is configured that way."""

    RULES = "user worker-1 on +@all ~mine:* owner:worker-1\nuser gone off +@all ~*\n"

    def answers(self, common_name, *requests, options=("--tls-auth-clients-user", "cn")):
        rules = self.certificates.folder / "users.acl"
        rules.write_text(self.RULES)
        self.serve("--tls-auth-clients", "optional", "--acl-file", str(rules), *options)
        identity = (self.certificates.authority.issue(common_name, common_name, "client")
                    if common_name else None)
        with connect(self.tls_port, self.certificates.context(identity=identity)) as client:
            return [client.ask(*words) for words in requests]

    def test_a_user_needs_no_password_and_has_its_rights(self):
        me, mine, others, owner = self.answers(
            "worker-1", ("ACL", "WHOAMI"), ("LOCK", "mine:1", "worker-1"),
            ("LOCK", "theirs:1", "worker-1"), ("LOCK", "mine:2", "worker-2"))
        self.assertEqual(me, b"worker-1")
        self.assertIsInstance(mine, int)
        self.assertTrue(str(others).startswith("NOPERM"), others)
        self.assertTrue(str(owner).startswith("NOPERM"), owner)

    def test_nobody_else_is_let_in(self):
        for name in ("", "stranger", "gone"):
            with self.subTest(name):
                self.assertTrue(str(self.answers(name, ("PING",))[0]).startswith("NOAUTH"))

    def test_a_name_is_only_a_name_where_the_server_is_not_told_so(self):
        answer, = self.answers("worker-1", ("PING",), options=())
        self.assertTrue(str(answer).startswith("NOAUTH"), answer)


class Sessions(TlsCase):

    def resumes(self, version, path):
        """Whether a second connection resumes the session that was stored at the path."""
        return "Reused, " in self.client(version, "-sess_in", path)

    def keep_session(self, version, path):
        self.assertServed(self.client(version, "-sess_out", path))

    def test_they_are_resumed_until_certificates_are_read_again(self):
        server = self.serve()
        for version in ("-tls1_2", "-tls1_3"):
            path = self.certificates.folder / f"session{version}"
            with self.subTest(version):
                self.keep_session(version, path)
                self.assertTrue(self.resumes(version, path))
                server.process.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(lambda: not self.resumes(version, path)))

    def test_who_showed_no_certificate_does_not_come_in_by_an_old_session(self):
        self.serve()
        path = self.certificates.folder / "session-of-nobody"
        self.keep_session("-tls1_3", path)
        self.serve("--tls-auth-clients", "required")
        self.assertRefused(self.client("-sess_in", path), "alert certificate required")


class Unfinished(TlsCase):
    """Peers that start a handshake and do not finish it."""

    HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

    def begin(self, data):
        peer = socket.create_connection(("127.0.0.1", self.tls_port))
        self.addCleanup(peer.close)
        peer.settimeout(PATIENCE_SECONDS)
        peer.sendall(data)
        return peer

    def test_they_are_closed_at_their_deadline(self):
        server = self.serve("--tls-handshake-timeout", "5s")
        begun = time.monotonic()
        peers = [self.begin(data) for data in (b"", b"\x16", self.HELLO)]
        self.assertStillServes()
        for peer in peers:
            peer.setblocking(False)
            with self.assertRaises(BlockingIOError, msg="nobody waits for them"):
                peer.recv(1)
            peer.settimeout(PATIENCE_SECONDS)
        for peer in peers:
            self.assertEqual(peer.recv(1), b"")
        self.assertGreater(time.monotonic() - begun, 4.9)
        self.assertTrue(eventually(lambda: "it took too long" in server.output()))

    def test_who_sends_a_byte_now_and_then_is_closed_too(self):
        self.serve("--tls-handshake-timeout", "500ms")
        peer = self.begin(self.HELLO)
        begun = time.monotonic()
        with self.assertRaises(OSError):
            while time.monotonic() - begun < PATIENCE_SECONDS:
                peer.sendall(b"x")
                time.sleep(0.02)
        self.assertLess(time.monotonic() - begun, PATIENCE_SECONDS)

    def test_more_than_are_allowed_wait_for_room(self):
        server = self.serve("--tls-handshake-timeout", "1s", "--tls-max-handshakes", "5")
        begun = time.monotonic()
        for _ in range(5):
            self.begin(self.HELLO)
        time.sleep(0.1)
        with server.connect() as plain:
            self.assertEqual(plain.ask("PING"), "PONG")
        self.assertStillServes()
        self.assertGreater(time.monotonic() - begun, 0.8, "there was no room before")
        # Waiting for a free slot uses no processor time.
        spent = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().split()
        self.assertLess(int(spent[13]) + int(spent[14]), 50, "hundredths of a second")

    def test_who_says_nothing_keeps_nobody_out(self):
        server = self.serve("--tls-handshake-timeout", "60s", "--tls-max-handshakes", "5",
                            "--max-clients-per-address", "20")
        begun = time.monotonic()
        silent = [self.begin(b"") for _ in range(20)]
        self.assertStillServes()
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual(silent[0].recv(1), b"")
        self.assertTrue(eventually(lambda: "it sent nothing, and its slot" in server.output()))

    def test_who_does_not_go_on_keeps_nobody_out(self):
        """Handshakes that have begun, including those of which a byte arrives now and then."""
        self.serve("--tls-handshake-timeout", "60s", "--tls-max-handshakes", "5",
                   "--max-clients-per-address", "40")
        begun = time.monotonic()
        peers = [self.begin(self.HELLO[:size]) for size in (5, 6, 9, 11) * 5]
        is_over = threading.Event()

        def trickle():
            while not is_over.wait(0.05):
                for peer in peers:
                    with contextlib.suppress(OSError):
                        peer.send(b"x")

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            self.assertStillServes()
        finally:
            is_over.set()
            thread.join()
        self.assertLess(time.monotonic() - begun, 20)

    def test_garbage_ends_at_once(self):
        server = self.serve()
        for data in (b"\x16\x03\x01\x00\x05hello", b"\x16" * 3000):
            with self.subTest(data[:10]):
                peer = self.begin(data)
                begun = time.monotonic()
                while peer.recv(4096):
                    pass
                self.assertLess(time.monotonic() - begun, PATIENCE_SECONDS)
        self.assertStillServes()
        self.assertTrue(eventually(lambda: "failed TLS handshakes" in server.output()))


class WrongPort(TlsCase):

    def test_plain_text_is_told_what_to_do(self):
        server = self.serve()
        for data in (resp.request("PING"), b"PING\r\n", b"GET / HTTP/1.1\r\n\r\n"):
            with self.subTest(data), resp.Connection.to(("127.0.0.1", self.tls_port)) as peer:
                peer.send(data)
                self.assertRegex(peer.reply(), "^ERR this port speaks TLS only; .*--tls")
                self.assertTrue(peer.has_ended())
        self.assertTrue(eventually(lambda: "it does not speak TLS" in server.output()))

    def test_tls_on_the_plain_port_is_named_in_the_log_but_not_each_time(self):
        server = self.serve()
        for _ in range(20):
            with self.assertRaises(ssl.SSLError):
                connect(server.port, self.certificates.context())
        server.stop()
        log = server.output()
        self.assertEqual(log.count("TLS clients on the plaintext port"), 1)
        self.assertIn("they should use tls_port", log)


class Options(TlsCase):

    def end_of(self, *options, files_max=4096, status=1):
        """Returns the output of a server that cannot start; files_max is its limit on open
        files."""
        done = subprocess.run(
            [PROGRAM, "--port", "0", "--http-port", "0", "--durability", "none",
             *map(str, options)],
            cwd=self.certificates.folder, capture_output=True, text=True,
            timeout=PATIENCE_SECONDS, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files_max,) * 2))
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_files_that_are_wrong(self):
        right, _ = self.certificates.cert_file, self.certificates.key_file
        folder = self.certificates.folder
        _, other_key = self.certificates.authority.issue("another", "localhost")
        locked = folder / "locked.key"
        subprocess.run(["openssl", "ec", "-in", other_key, "-aes128", "-passout", "pass:secret",
                        "-out", locked], check=True, capture_output=True)
        (folder / "empty").write_text("")
        tls = ["--tls-port", free_port()]
        for wanted, options in {
                "tls_cert_file: no file is given": [],
                "tls_cert_file: /nowhere: ": ["--tls-cert-file", "/nowhere"],
                "tls_cert_file: .*empty: no start line": ["--tls-cert-file", folder / "empty"],
                "tls_key_file: no file is given": ["--tls-cert-file", right],
                "tls_key_file: .*key values mismatch": ["--tls-cert-file", right, "--tls-key-file",
                                                        other_key],
                "tls_key_file: .*locked.key: ": ["--tls-cert-file", right, "--tls-key-file",
                                                 locked]}.items():
            with self.subTest(wanted):
                self.assertRegex(self.end_of(*tls, *options), wanted)

    def test_who_vouches_for_clients_must_be_known(self):
        options = self.certificates.options(free_port())[:-2]
        self.assertIn("tls_ca_file: no file is given",
                      self.end_of(*options, "--tls-auth-clients", "required"))
        self.assertIn("tls_ca_file: /nowhere: ",
                      self.end_of(*options, "--tls-auth-clients", "optional", "--tls-ca-file",
                                  "/nowhere"))

    def test_users_of_certificates_that_nobody_is_asked_for(self):
        options = self.certificates.options(free_port())
        self.assertIn("tls_auth_clients_user: cn: no client is asked for a certificate",
                      self.end_of(*options, "--tls-auth-clients-user", "cn"))

    def test_what_guards_no_port(self):
        certificate = ("--tls-cert-file", self.certificates.cert_file)
        for wanted, options in {
                "tls_auth_clients: required: applies only to clients of tls_port":
                    ("--tls-auth-clients", "required"),
                "tls_auth_clients: optional: applies only to clients of tls_port":
                    ("--tls-auth-clients", "optional", "--http-tls", "yes", *certificate),
                "tls_cert_file: no port speaks TLS": certificate}.items():
            with self.subTest(wanted):
                # A plain port is given, so that only TLS is missing.
                self.assertIn(wanted, self.end_of("--port", free_port(), *options))
                self.assertIn(wanted, self.end_of(*options, "--check-config", status=2))

    def test_ciphers_that_nobody_knows(self):
        options = self.certificates.options(free_port())
        self.assertIn("tls_ciphers: NONSENSE: no cipher match",
                      self.end_of(*options, "--tls-ciphers", "NONSENSE"))
        self.assertIn("tls_ciphersuites: NONSENSE: ",
                      self.end_of(*options, "--tls-ciphersuites", "NONSENSE"))

    def test_handshakes_have_descriptors_of_their_own(self):
        log = self.end_of("--tls-port", free_port(), "--tls-max-handshakes", 100, files_max=300)
        self.assertIn("max_clients is 136 instead of 10000", log)

    def test_tls_may_be_the_only_port(self):
        server = self.serve("--port", "0")
        self.assertStillServes()
        with self.assertRaises(ConnectionRefusedError):
            server.connect()
        self.assertIn(f"redis-cli --tls -p {self.tls_port}", server.output())


def eventually(condition):
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        if condition():
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    unittest.main()
