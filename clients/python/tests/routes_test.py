"""What the routes to a fleet of several partitions decide, without a fleet."""

import time
import unittest

import redis
import redis.cluster
import support  # noqa: F401  (finds the library)

from fairlock._failures import of_a_cluster
from fairlock._slots import name_in_slot
from fairlock._table import Table


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


A, B, C = ("10.0.0.1", 1), ("10.0.0.2", 2), ("10.0.0.3", 3)


def row(first, last, *nodes):
    """Makes a row of the reply to CLUSTER SLOTS."""
    return [first, last, *([host.encode(), port, b"id"] for host, port in nodes)]


class Tables(unittest.TestCase):

    def setUp(self):
        self.table = Table([A])
        self.table.learn([row(8192, 16383, C, A), row(0, 8191, A, B)], A)

    def leaders(self):
        return [self.table.nodes(slot)[0] for slot in (0, 8191, 8192, 16383)]

    def test_every_slot_has_the_leader_that_the_nodes_name(self):
        self.assertEqual(self.leaders(), [A, A, C, C])
        self.assertFalse(self.table.is_outdated)
        self.assertEqual(Table([A]).nodes(5), [])
        self.assertTrue(Table([A]).is_outdated)

    def test_a_redirection_counts_in_any_form(self):
        for error in (redis.exceptions.MovedError("7 10.0.0.2:2"),
                      redis.ResponseError("MOVED 7 10.0.0.2:2")):
            self.setUp()
            self.assertTrue(self.table.heed(of_a_cluster(error), A))
            self.assertEqual(self.table.nodes(7)[0], B)
        other = redis.ResponseError("ERR MOVED 7 10.0.0.2:2")
        self.assertIs(of_a_cluster(other), other)

    def test_a_redirection_is_about_the_whole_partition(self):
        error = redis.exceptions.MovedError("7 10.0.0.2:2")
        self.assertTrue(self.table.heed(error, A))
        self.assertEqual(self.leaders(), [B, B, C, C])
        self.assertEqual(self.table.nodes(7), [B, A])
        empty = Table([A])
        self.assertTrue(empty.heed(error, A))
        self.assertTrue(empty.is_outdated)

    def test_a_node_without_a_host_is_the_one_that_was_asked(self):
        for nothing in (b"", None):
            self.table.learn([[0, 16383, [nothing, 7, b"id"]]], B)
            self.assertEqual(self.table.nodes(0), [(B[0], 7)])

    def test_addresses_are_those_that_the_client_can_reach(self):
        table = Table([A], lambda address: ("127.0.0.1", address[1] + 10))
        table.learn([row(0, 16383, A)], A)
        self.assertEqual(table.nodes(1), [("127.0.0.1", 11)])
        table.heed(redis.exceptions.MovedError("7 10.0.0.2:2"), A)
        self.assertEqual(table.nodes(1)[0], ("127.0.0.1", 12))

    def test_who_is_asked_first(self):
        self.assertEqual(set(self.table.to_ask(0)), {A, B, C})
        self.assertEqual(self.table.to_ask(0)[-1], C)
        self.table.heed(redis.ConnectionError(), A)
        self.assertTrue(self.table.is_outdated)
        self.assertEqual(self.table.to_ask(0), [B, C, A])

    def test_read_time_outs_seldom_make_a_client_read_the_table(self):
        self.table.heed(redis.TimeoutError(), A)
        self.assertFalse(self.table.is_outdated)
        time.sleep(1.1)
        self.table.heed(redis.TimeoutError(), A)
        self.assertTrue(self.table.is_outdated)
        self.table.learn([row(0, 16383, A)], A)
        self.assertFalse(self.table.is_outdated)
        self.table.heed(redis.ConnectionError(), B)
        self.assertTrue(self.table.is_outdated)

    def test_a_node_that_starts_does_not_know_its_fleet_yet(self):
        error = redis.ResponseError("Cluster mode is not enabled on this node")
        self.assertIsInstance(self.table.unknown(error), redis.ConnectionError)
        self.assertIsInstance(Table([A]).unknown(error), redis.ResponseError)


if __name__ == "__main__":
    unittest.main()
