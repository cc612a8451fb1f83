"""A fairlockd with an HTTP port, and a client for it."""

import http.client
import json
import time
import unittest

import resp
from own_server import Server, free_port

TOKEN = "a-token-of-the-tests"


class HttpServer(Server):

    def __init__(self, *options, with_token=True):
        self.http_port = free_port()
        super().__init__("--http-port", str(self.http_port), *options)
        if with_token:
            path = self.directory / "token"
            path.write_text(TOKEN + "\n")
            self.options = [*self.options, "--http-token-file", str(path)]

    def ask(self, method, target, body=None, headers=None, token=None):
        """Returns status, headers and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=20)
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + token
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, target, **options):
        status, _, body = self.ask("GET", target, **options)
        return status, json.loads(body)

    def post(self, target, body, token=TOKEN, **options):
        status, _, answer = self.ask("POST", target, body, token=token, **options)
        return status, json.loads(answer)


class WithServer(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(HttpServer())
        self.own = self.enterContext(self.server.connect())

    def wait_in_line(self, key, owner):
        connection = self.enterContext(self.server.connect())
        connection.send(resp.request("LOCK", key, owner, "WAIT", "100s"))
        while self.own.ask("POSITION", key, owner) is None:
            time.sleep(0.001)
        return connection
