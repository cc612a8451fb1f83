"""Third-party clients over TLS: redis-cli, redis-py, curl, WebSockets."""

import asyncio
import http.client
import json
import socket
import subprocess
import threading
import time
import unittest

import redis
import websockets

from certificates import Certificates
from own_server import Server, free_port

TOKEN = "a-token-of-many-letters"
SOON_SECONDS = 10


class TlsCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.certificates = cls.enterClassContext(Certificates())
        cls.authority = str(cls.certificates.authority.certificate)
        cls.identity = [str(path) for path in
                        cls.certificates.authority.issue("worker", "worker-1", "client")]
        cls.tls_port, cls.https_port = free_port(), free_port()
        token = cls.certificates.folder / "token"
        token.write_text(TOKEN)
        cls.server = cls.enterClassContext(Server(
            *cls.certificates.options(cls.tls_port), "--tls-auth-clients", "required",
            "--tls-handshake-timeout", "2s", "--http-port", str(cls.https_port), "--http-tls",
            "yes", "--http-token-file", str(token)))


class RedisCli(TlsCase):

    def ask(self, *words):
        done = subprocess.run(
            ["redis-cli", "--tls", "-h", "localhost", "-p", str(self.tls_port), *words],
            capture_output=True, text=True, timeout=20, check=False)
        return done.stdout + done.stderr

    def test_it_takes_a_lock(self):
        identity = ["--cacert", self.authority, "--cert", self.identity[0], "--key",
                    self.identity[1]]
        self.assertRegex(self.ask(*identity, "LOCK", "cli", "me", "PX", "30000"), r"^\d+\n$")
        self.assertEqual(self.ask(*identity, "UNLOCK", "cli", "me"), "1\n")

    def test_without_a_certificate_it_does_nothing(self):
        self.assertRegex(self.ask("--cacert", self.authority, "LOCK", "none", "me"), "[Ee]rror")
        self.assertIn("certificate verify failed", self.ask("PING"))


class RedisPy(TlsCase):

    def client(self, **options):
        settings = {"ssl": True, "ssl_ca_certs": self.authority, "ssl_certfile": self.identity[0],
                    "ssl_keyfile": self.identity[1], "ssl_check_hostname": True, **options}
        client = redis.Redis("localhost", port=self.tls_port, **settings)
        self.addCleanup(client.connection_pool.disconnect)
        return client

    def test_a_lock_that_others_wait_for(self):
        client = self.client()
        client.execute_command("LOCK", "py", "me", "PX", 30_000)
        granted = []
        waiter = threading.Thread(target=lambda: granted.append(self.client().execute_command(
            "LOCK", "py", "you", "PX", 30_000, "WAIT", 60_000)))
        waiter.start()
        time.sleep(0.2)
        begun = time.monotonic()
        self.assertEqual(client.execute_command("UNLOCK", "py", "me"), 1)
        waiter.join()
        self.assertLess(time.monotonic() - begun, SOON_SECONDS)
        self.assertIsInstance(granted[0], int)

    def test_its_own_lock(self):
        client = self.client()
        with client.lock("py-lock", timeout=10):
            self.assertFalse(client.lock("py-lock", timeout=10).acquire(blocking=False))

    def test_pipelines_and_messages(self):
        client = self.client()
        listener = client.pubsub()
        listener.subscribe("news")
        self.assertEqual(listener.get_message(timeout=10)["type"], "subscribe")
        with client.pipeline(transaction=True) as pipeline:
            for n in range(1000):
                pipeline.set(f"pipe:{n}", "me", nx=True, px=30_000)
            self.assertEqual(pipeline.execute(), [True] * 1000)
        client.publish("news", "hello")
        self.assertEqual(listener.get_message(timeout=10)["data"], b"hello")

    def test_another_name_is_noticed(self):
        with self.assertRaisesRegex(redis.ConnectionError, "CERTIFICATE_VERIFY_FAILED"):
            self.client(ssl_ca_certs=str(self.certificates.stranger.certificate)).ping()


class Https(TlsCase):
    """The server does not ask for a certificate."""

    def curl(self, *words):
        done = subprocess.run(["curl", "-sS", "--max-time", "20", *words], capture_output=True,
                              text=True, timeout=30, check=False)
        return done.stdout + done.stderr

    def url(self, path):
        return f"https://localhost:{self.https_port}{path}"

    def test_curl(self):
        printed = self.curl("--cacert", self.authority, self.url("/api/v1/status"))
        self.assertIn("locks", json.loads(printed))
        self.assertIn("fairlock_", self.curl("--cacert", self.authority, self.url("/metrics")))
        self.assertIn("unable to get local issuer", self.curl(self.url("/metrics")))

    def test_curl_with_old_versions(self):
        printed = self.curl("--cacert", self.authority, "--tls-max", "1.1", "--ciphers",
                            "ALL:@SECLEVEL=0", self.url("/metrics"))
        self.assertRegex(printed, "alert protocol version|unsupported protocol")

    def test_plain_text_is_told_what_to_do(self):
        printed = self.curl(f"http://127.0.0.1:{self.https_port}/metrics")
        self.assertEqual(printed, "this port speaks HTTPS; use https:\n")

    def test_one_connection_for_many_requests(self):
        connection = http.client.HTTPSConnection("localhost", self.https_port, timeout=20,
                                                 context=self.certificates.context())
        self.addCleanup(connection.close)
        for _ in range(50):
            connection.request("GET", "/api/v1/openapi.json")
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertGreater(len(answer.read()), 20_000, "several records")
        connection.request("GET", "/nowhere")
        self.assertEqual(connection.getresponse().status, 404)

    def test_the_last_answer_ends_with_a_word_of_tls(self):
        context = self.certificates.context()
        with socket.create_connection(("127.0.0.1", self.https_port)) as plain, \
                context.wrap_socket(plain, server_hostname="localhost",
                                    suppress_ragged_eofs=False) as peer:
            peer.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            answer = b""
            while data := peer.recv(65536):  # raises an error without close_notify
                answer += data
        self.assertIn(b" 200 OK\r\n", answer)

    def test_events_by_web_socket(self):
        asyncio.run(self.listen())

    async def listen(self):
        url = f"wss://localhost:{self.https_port}/api/v1/events?match=event*"
        async with websockets.connect(url, ssl=self.certificates.context()) as listener:
            await asyncio.to_thread(self.take_lock, "event:1")
            events = json.loads(await asyncio.wait_for(listener.recv(), 20))
            self.assertEqual(events[0]["key"], "event:1")

    def take_lock(self, key):
        with self.server.connect() as client:
            client.ask("LOCK", key, "me", "PX", 30_000)

    def test_slow_peers_are_closed(self):
        with socket.create_connection(("127.0.0.1", self.https_port), timeout=30) as peer:
            peer.sendall(b"\x16\x03\x01")
            self.assertEqual(peer.recv(1), b"", "at the deadline of the handshake")


if __name__ == "__main__":
    unittest.main()
