"""Locks over TLS, against a real server."""

import unittest

import readme_test
import support
from certificates import Certificates
from own_server import Server, free_port

import fairlock
import redis


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


if __name__ == "__main__":
    unittest.main()
