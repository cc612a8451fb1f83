"""Connections that request long replies and read them byte by byte."""

import unittest

import measured


class SlowReaders(measured.Fault):
    name = "100 connections read 1 byte/s"
    memory_bytes_max = 200 << 20

    def beside(self, server):
        return measured.attackers(server, "slow_read", 100)


FAULT = SlowReaders()


class SlowReadersTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
