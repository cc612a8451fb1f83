"""Locks over TLS, against a real server."""

import asyncio
import socket
import threading
import unittest

import readme_test
import support
from certificates import Certificates
from own_server import Server, free_port

import fairlock
import fairlock.aio
import redis
import redis.asyncio


class Tls(support.Case):

    def make_server(self):
        self.certificates = self.enterContext(Certificates())
        self.tls_port = free_port()
        return Server(*self.certificates.options(self.tls_port), "--tls-auth-clients", "required")

    def test_the_example_of_the_readme(self):
        certificate, key = self.certificates.authority.issue("worker", "worker-1", "client")
        (example,) = [text for text in readme_test.blocks() if "ssl" in text]
        done = readme_test.run_block(example, {
            "port=3247": f"port={self.tls_port}",
            "/etc/fairlock/ca.pem": str(self.certificates.authority.certificate),
            "/etc/fairlock/client.pem": str(certificate), "/etc/fairlock/client.key": str(key)})
        self.assertEqual(done, [(42, 0)])
        self.assert_nothing_left("order:42")

    def test_a_server_that_is_not_trusted_is_not_asked_again(self):
        client = redis.Redis("127.0.0.1", port=self.tls_port, ssl=True,
                             ssl_ca_certs=str(self.certificates.stranger.certificate))
        with self.assertRaisesRegex(redis.ConnectionError, "CERTIFICATE_VERIFY_FAILED"):
            fairlock.lock(client, "k", wait=60).acquire()

    def test_a_server_that_ends_the_handshake_is_asked_again(self):
        """Behaves like a server that is stopping; for threads and for asyncio."""
        listener = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        accepted = []

        def refuse():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                accepted.append(connection.recv(65536))
                connection.close()

        threading.Thread(target=refuse).start()
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
        options = {"host": "127.0.0.1", "port": listener.getsockname()[1], "ssl": True}
        with self.assertRaises(redis.ConnectionError):
            fairlock.lock(redis.Redis(**options), "k", wait=0.5).acquire()
        attempts = len(accepted)
        self.assertGreater(attempts, 1)
        asyncio.run(self.be_refused(redis.asyncio.Redis(**options)))
        self.assertGreater(len(accepted), attempts + 1)

    async def be_refused(self, client):
        with self.assertRaises(redis.ConnectionError):
            await fairlock.aio.lock(client, "k", wait=0.5).acquire()
        with self.assertRaises(redis.ConnectionError):
            async with fairlock.aio.Channel(client):
                pass


if __name__ == "__main__":
    unittest.main()
