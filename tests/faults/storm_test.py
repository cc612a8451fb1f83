"""Connections that open and close rapidly."""

import unittest

import measured
from socket_server import wait_until


class Storm(measured.Fault):
    name = "500 connections/s come and go"

    def beside(self, server):
        return measured.attackers(server, "storm", 500)

    def check(self, server):
        # What remains: the load's connection, and the one used for this check.
        wait_until(lambda: server.info("connected_clients") <= 2, "all of them are closed")


FAULT = Storm()


class StormTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
