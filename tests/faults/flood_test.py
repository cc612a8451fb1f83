"""Connections that send endless pipelines."""

import unittest

import measured


class Flood(measured.Fault):
    name = "10 connections flood"

    def beside(self, server):
        return measured.attackers(server, "flood", 10)


FAULT = Flood()


class FloodTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
