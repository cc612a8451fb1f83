"""A test case with a server of its own, and a client of it."""

import unittest

import redis
from own_server import Server


class WithServer(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.redis = self.client()

    def client(self):
        return redis.Redis(port=self.server.port, decode_responses=True)

    def ask(self, *words):
        return self.redis.execute_command(*words)

    def run_script(self, script, keys, *values):
        return self.redis.eval(script, len(keys), *keys, *values)
