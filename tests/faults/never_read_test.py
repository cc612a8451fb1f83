"""Connections that send requests endlessly and read nothing."""

import unittest

import measured


class NeverRead(measured.Fault):
    name = "1,000 connections never read"
    memory_bytes_max = 200 << 20

    def beside(self, server):
        return measured.attackers(server, "never_read", 1000)


FAULT = NeverRead()


class NeverReadTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
