"""Requests that arrive byte by byte and never end."""

import unittest

import measured
from socket_server import wait_until


class Slowloris(measured.Fault):
    name = "1,000 requests that never end"
    options = ("--request-deadline", "1s")

    def beside(self, server):
        return measured.attackers(server, "slowloris", 1000)

    def check(self, server):
        closed = server.info("request_deadline_disconnections")
        if closed < 100:
            raise AssertionError(f"only {closed} were closed by request_deadline")
        wait_until(lambda: "did not send the rest of a request (request_deadline)"
                   in server.output(), "it is logged")


FAULT = Slowloris()


class SlowlorisTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
