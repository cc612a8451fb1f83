"""What the routes to a fleet of several partitions decide, without a fleet."""

import time
import unittest
from unittest import mock

import redis
import redis.cluster
import support  # noqa: F401  (finds the library)

from fairlock._routes import Table, without_table
from fairlock._slots import name_in_slot


class Names(unittest.TestCase):

    def test_names_of_channels_have_the_slots_of_the_keys(self):
        for key in (b"order:42", b"{order:42}:stock", b"a{}b", b"{}", b"a}b", b"{a", b"{{a}}", b"",
                    b"\xff\x00", b"k" * 300, b"{" + b"k" * 300 + b"}", b"a{b}c}d{e}"):
            with self.subTest(key):
                slot = redis.cluster.key_slot(key)
                name = name_in_slot("fairlock:me", key, slot)
                self.assertEqual(redis.cluster.key_slot(name.encode()), slot)
                self.assertTrue(name.startswith("fairlock:me:{"))
        self.assertEqual(name_in_slot("c", b"order:42", 0), "c:{order:42}")
        self.assertEqual(name_in_slot("c", b"{order:42}:stock", 0), "c:{order:42}")


class Tables(unittest.TestCase):

    def test_read_time_outs_seldom_make_a_client_read_the_table(self):
        table = Table(None)
        table.note(redis.TimeoutError(), "a")
        self.assertIsNone(table.failed)
        time.sleep(1.1)
        table.note(redis.TimeoutError(), "a")
        self.assertEqual(table.failed, "a")
        table.note_read()
        self.assertIsNone(table.failed)
        table.note(redis.ConnectionError(), "b")
        self.assertEqual(table.failed, "b")

    def test_a_node_that_starts_does_not_know_its_fleet_yet(self):
        client, error = mock.Mock(), Exception("Cluster mode is not enabled on this node")
        client.nodes_manager.slots_cache = {0: ["a node"]}
        self.assertIsInstance(without_table(client, error), redis.ConnectionError)
        client.nodes_manager.slots_cache = {}
        self.assertIsInstance(without_table(client, error), redis.ResponseError)


if __name__ == "__main__":
    unittest.main()
