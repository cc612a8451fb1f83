"""Locks for threads, against a real server."""

import threading
import time
import unittest

import support
from own_redis import Redis

import fairlock
import redis
import redis.asyncio


class Options(support.Case):

    def test_the_block_holds_the_lock_and_releases_it(self):
        with fairlock.lock(self.client(), "order:42", lease=30, wait=10) as hold:
            self.assertEqual(self.ask("CHECK", "order:42", hold.token), 1)
            self.assertEqual(hold.keys, ("order:42",))
            self.assertEqual(self.ask("LOCKED", "order:42", hold.owner), 1)
            self.assertGreater(hold.deadline - fairlock.now(), 29)
        self.assert_nothing_left("order:42")
        with self.assertRaisesRegex(fairlock.LostHold, "was released"):
            hold.check()

    def test_a_denial_names_the_holder_and_the_position(self):
        self.ask("LOCK", "k", "other", "PX", 20000, "META", "at work", "LABEL", "jobs")
        with self.assertRaises(fairlock.Denied) as raised:
            fairlock.lock(self.client(), "k", wait=0, keep=5).acquire()
        found = raised.exception.explanation
        self.assertEqual((found.status, found.reason, found.position), ("queued", "held", 1))
        (holder,) = found.holders
        self.assertEqual((holder.owner, holder.meta, holder.label, holder.mode),
                         ("other", "at work", "jobs", "exclusive"))
        self.assertAlmostEqual(holder.ttl, 20, delta=5)
        self.assertIn("held by other", str(raised.exception))

    def test_a_wait_ends_at_its_time(self):
        self.ask("LOCK", "k", "other")
        begin = time.monotonic()
        with self.assertRaises(fairlock.Denied) as raised:
            fairlock.lock(self.client(), "k", wait=0.2).acquire()
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)
        self.assertEqual(raised.exception.explanation.status, "timeout")
        self.assertEqual(self.waiters("k"), [])

    def test_try_acquire_returns_none_if_the_lock_is_held(self):
        lock = fairlock.lock(self.client(), "k")
        with lock.try_acquire() as hold:
            self.assertIsNone(lock.try_acquire())
            self.assertEqual(self.ask("CHECK", "k", hold.token), 1)
        self.assertIsNotNone(lock.try_acquire())

    def test_shared_and_exclusive(self):
        client = self.client()
        with fairlock.lock(client, "k", shared=True), fairlock.lock(client, "k", shared=True):
            self.assertEqual(self.ask("LOCKED", "k"), 2)
            self.assertIsNone(fairlock.lock(client, "k").try_acquire())
        self.assert_nothing_left("k")

    def test_a_semaphore(self):
        lock = fairlock.lock(self.client(), "k", limit=2)
        with lock as first, lock as second:
            self.assertNotEqual(first.token, second.token)
            self.assertIsNone(lock.try_acquire())
        self.assert_nothing_left("k")

    def test_many_keys(self):
        client = self.client()
        with fairlock.lock(client, "a", "b", "c") as hold:
            for key in hold.keys:
                self.assertEqual(self.ask("CHECK", key, hold.token), 1)
            with self.assertRaises(fairlock.Denied) as raised:
                fairlock.lock(client, "x", "c", wait=0).acquire()
            self.assertEqual(raised.exception.explanation.key, "c")
            hold.renew(60)
            self.assertGreater(self.ask("PTTL", "c"), 31000)
        self.assert_nothing_left("a", "b", "c", "x")

    def test_min_hold_and_max_waiters(self):
        client = self.client()
        fairlock.lock(client, "k", min_hold=60).acquire().release()
        with self.assertRaises(fairlock.Denied) as raised:
            fairlock.lock(client, "k", wait=0).acquire()
        self.assertEqual(raised.exception.explanation.reason, "cooling")
        with self.assertRaises(fairlock.Denied) as raised:
            fairlock.lock(client, "k", wait=9, max_waiters=0).acquire()
        self.assertEqual(raised.exception.explanation.reason, "full")

    def test_transfer_gives_the_lock_to_another_owner(self):
        client = self.client()
        with fairlock.lock(client, "k") as hold:
            token = hold.transfer("worker-2")
            with self.assertRaises(fairlock.LostHold):
                hold.check()
        with fairlock.lock(client, "k", owner="worker-2") as hold:
            self.assertEqual(hold.token, token)

    def test_a_given_owner_keeps_its_place_between_attempts(self):
        client = self.client()
        self.ask("LOCK", "k", "other")
        mine = fairlock.lock(client, "k", owner="job:1", keep=20, wait=0)
        self.assertIsNone(mine.try_acquire())
        self.assertEqual(self.waiters("k"), ["job:1"])
        self.ask("UNLOCK", "k", "other")
        self.assertIsNone(fairlock.lock(client, "k").try_acquire())
        self.assertIsNotNone(mine.try_acquire())

    def test_terms_that_contradict_each_other(self):
        for options in ({"lease": 0}, {"shared": True, "limit": 2}):
            with self.assertRaises(ValueError):
                fairlock.lock(self.client(), "k", **options)
        with self.assertRaises(ValueError):
            fairlock.lock(self.client())
        with self.assertRaisesRegex(redis.ResponseError, "key must have"):
            fairlock.lock(self.client(), "").acquire()

    def test_any_bytes_and_decoded_responses(self):
        client = self.client(decode_responses=True)
        with fairlock.lock(client, b"\xff\x00", owner=b"\xfe", meta=b"\xfd") as hold:
            self.assertEqual(self.ask("CHECK", b"\xff\x00", hold.token), 1)
            with self.assertRaises(fairlock.Denied) as raised:
                fairlock.lock(client, b"\xff\x00", wait=0).acquire()
        holder = raised.exception.explanation.holders[0]
        self.assertEqual(holder.owner.encode("utf-8", "surrogateescape"), b"\xfe")

    def test_other_requests_that_end_a_wait(self):
        self.ask("LOCK", "k", "other")
        for command in ("CANCEL", "UNLOCK"):
            lock = fairlock.lock(self.client(), "k", owner="me", wait=20)
            result = self.in_thread(lock.acquire)
            support.wait_until(lambda: self.waiters("k") == ["me"])
            self.ask(command, "k", "me")
            with self.assertRaisesRegex(fairlock.WaitEnded, "CANCELLED"):
                result()

    def test_a_deadlock_is_refused(self):
        first = fairlock.lock(self.client(), "a", owner="one").acquire()
        self.addCleanup(first.release)
        self.ask("LOCK", "b", "two")
        lock = fairlock.lock(self.client(), "b", owner="one", wait=10)
        result = self.in_thread(lock.acquire)
        support.wait_until(lambda: self.waiters("b") == ["one"])
        with self.assertRaisesRegex(fairlock.Deadlock, "waits for"):
            fairlock.lock(self.client(), "a", owner="two", wait=10).acquire()
        self.ask("UNLOCK", "b", "two")
        result().release()

    def test_threads_take_turns(self):
        lock = fairlock.lock(self.client(), "k", wait=20)
        inside, failures, tokens = [], [], []

        def work():
            for _ in range(20):
                with lock as hold:
                    inside.append(hold)
                    if inside != [hold]:
                        failures.append(list(inside))
                    tokens.append(hold.token)
                    inside.remove(hold)

        threads = [threading.Thread(target=work) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failures, len(tokens)), ([], 200))
        self.assertEqual(tokens, sorted(tokens))

    def test_the_database_of_the_client_is_that_of_its_locks(self):
        third, there = self.client(db=3), self.client(db=3)
        hold = fairlock.lock(third, "k").acquire()
        with fairlock.Channel(third) as channel:
            waiting = self.in_thread(fairlock.lock(third, "k", channel=channel).acquire)
            support.wait_until(lambda: there.execute_command("QUEUE", "k"))
            self.assertEqual(self.ask("LOCKED", "k"), 0)
            hold.release()
            hold = waiting()
        self.assertEqual((self.ask("LOCKED", "k"), there.execute_command("LOCKED", "k")), (0, 1))
        self.assertFalse(there.set("k", "old", nx=True))
        self.assertTrue(hold.release())


class OtherServers(unittest.TestCase):

    def test_redis_is_not_fairlock(self):
        with Redis() as server:
            client = redis.Redis("127.0.0.1", port=server.port)
            for keys in (["k"], ["a", "b"]):
                with self.assertRaisesRegex(fairlock.NotFairlock, "it may be Redis"):
                    fairlock.lock(client, *keys, wait=60).acquire()
            client.close()

    def test_no_server(self):
        client = redis.Redis("127.0.0.1", port=support.own_server.free_port())
        begin = time.monotonic()
        with self.assertRaises(redis.ConnectionError):
            fairlock.lock(client, "k", wait=0).acquire()
        self.assertLess(time.monotonic() - begin, 10)
        with self.assertRaises(redis.ConnectionError):
            fairlock.lock(client, "k", wait=0.3).acquire()
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_other_clients_are_refused(self):
        for client in (redis.ConnectionPool(), redis.asyncio.RedisCluster("127.0.0.1")):
            for take in (lambda: fairlock.lock(client, "k"), lambda: fairlock.Channel(client)):
                with self.assertRaisesRegex(TypeError, "expected a redis.Redis or .*, got redis"):
                    take()


if __name__ == "__main__":
    unittest.main()
