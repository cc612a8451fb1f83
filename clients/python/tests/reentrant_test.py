"""Locks with reentrant=True: a thread, or a task, gets again what it holds."""

import asyncio
import gc
import itertools
import unittest
import warnings

import support

import fairlock
import fairlock.aio
import redis.asyncio


class Threads(support.Case):

    def test_the_last_release_ends_the_hold(self):
        lock = fairlock.lock(self.client(), "k", wait=60, reentrant=True)
        with lock as outer:
            before = self.commands("lock")
            with lock as inner, fairlock.lock(self.client(), "k", wait=0, reentrant=True) as third:
                self.assertEqual({hold.token for hold in (outer, inner, third)}, {outer.token})
                self.assertEqual({hold.owner for hold in (outer, inner, third)}, {outer.owner})
            self.assertEqual(self.commands("lock"), before)
            for hold in (inner, third):
                self.assertFalse(hold.release())
                with self.assertRaisesRegex(fairlock.LostHold, "^k was released"):
                    hold.check()
            outer.check()
            self.assertEqual(self.ask("LOCKED", "k", outer.owner), 1)
        self.assert_nothing_left("k")

    def test_releases_count_in_every_order(self):
        client = self.client()
        for order in itertools.permutations(range(3)):
            with self.subTest(order):
                holds = [fairlock.lock(client, "k", reentrant=True).acquire() for _ in range(3)]
                for number in order:
                    self.assertEqual(self.ask("LOCKED", "k"), 1)
                    self.assertEqual([holds[number].release() for _ in range(2)], [True, False])
                self.assert_nothing_left("k")
                self.assertEqual([hold.release() for hold in holds], [False] * 3)

    def test_a_hold_that_an_inner_block_keeps_is_renewed(self):
        client = self.client()
        inner = (fairlock.lock(client, "k", lease=12).acquire(),
                 fairlock.lock(client, "k", reentrant=True).acquire())[1]
        gc.collect()
        renewals = self.commands("renew")
        support.wait_until(lambda: self.commands("renew") > renewals)
        inner.check()
        inner.renew(60)
        self.assertGreater(self.ask("PTTL", "k"), 30_000)
        with self.assertLogs("fairlock", "WARNING"):
            del inner
            gc.collect()

    def test_one_that_is_dropped_inside_does_not_keep_the_lock(self):
        client = self.client()
        with fairlock.lock(client, "k", reentrant=True) as outer:
            fairlock.lock(client, "k", reentrant=True).acquire()
            gc.collect()
            outer.check()
        self.assert_nothing_left("k")

    def test_only_the_same_keys_in_the_same_way_are_shared(self):
        client = self.client()
        for outer, inner in ((("k",), ("k", "j")), (("k", "j"), ("k",))):
            with fairlock.lock(client, *outer), self.assertRaises(fairlock.Deadlock):
                fairlock.lock(client, *inner, reentrant=True).acquire()
        with fairlock.lock(client, "k", "j") as hold:
            with fairlock.lock(client, "j", "k", reentrant=True) as inner:
                self.assertEqual(inner.token, hold.token)
        for outer, inner in itertools.permutations(({}, {"shared": True}, {"limit": 2}), 2):
            with fairlock.lock(client, "k", **outer), self.assertRaises(fairlock.Deadlock):
                fairlock.lock(client, "k", reentrant=True, **inner).acquire()
        for mode in ({"shared": True}, {"limit": 2}):
            with fairlock.lock(client, "k", **mode) as hold:
                with fairlock.lock(client, "k", reentrant=True, **mode) as inner:
                    self.assertEqual((inner.token, self.ask("LOCKED", "k")), (hold.token, 1))
        self.assert_nothing_left("k", "j")

    def test_other_owners_threads_and_databases_do_not_share(self):
        client = self.client()
        with fairlock.lock(client, "k", owner="me") as hold:
            self.assertIsNone(fairlock.lock(client, "k", owner="you", reentrant=True)
                              .try_acquire())
            with fairlock.lock(client, "k", owner=b"me", reentrant=True):
                pass
            hold.check()
            third = fairlock.lock(self.client(db=3), "k", reentrant=True).acquire()
            self.assertNotEqual(third.owner, hold.owner)
            third.release()
            result = self.in_thread(fairlock.lock(client, "k", reentrant=True).try_acquire)
            self.assertIsNone(result())

    def test_a_loss_is_reported_at_the_end_of_both_blocks(self):
        lock = fairlock.lock(self.client(), "k", reentrant=True)
        with self.assertRaisesRegex(fairlock.LostHold, "^k was lost"):
            with lock as hold:
                with self.assertRaisesRegex(fairlock.LostHold, "^k was lost"):
                    with lock:
                        self.ask("BREAK", "k")
                        with self.assertRaises(fairlock.LostHold):
                            hold.renew()
        with lock as hold:  # what is lost is not shared
            hold.check()

    def test_a_transfer_ends_all(self):
        client = self.client()
        outer = fairlock.lock(client, "k").acquire()
        inner = fairlock.lock(client, "k", reentrant=True).acquire()
        inner.transfer("heir")
        self.assertEqual((inner.release(), outer.release()), (False, False))
        self.assertEqual(self.ask("LOCKED", "k", "heir"), 1)

    def test_without_it_the_error_says_so(self):
        with fairlock.lock(self.client(), "k"):
            with self.assertRaisesRegex(fairlock.Deadlock, "^k is held by this thread already.*"
                                        "reentrant=True"):
                fairlock.lock(self.client(), "k").acquire()


class Tasks(support.Case):

    def run_with(self, work):
        async def run():
            client = redis.asyncio.Redis(host="127.0.0.1", port=self.server.port)
            await work(client)

        asyncio.run(run())

    def test_the_last_release_ends_the_hold(self):
        async def work(client):
            lock = fairlock.aio.lock(client, "k", wait=60, reentrant=True)
            async with lock as outer:
                async with lock as inner:
                    self.assertEqual(inner.token, outer.token)
                self.assertFalse(await inner.release())
                with self.assertRaisesRegex(fairlock.LostHold, "^k was released"):
                    inner.check()
                outer.check()
                other = asyncio.ensure_future(lock.acquire())  # another task
                await asyncio.sleep(0.1)
                self.assertFalse(other.done())
            await (await other).release()

        self.run_with(work)
        self.assert_nothing_left("k")

    def test_releases_count_in_every_order(self):
        async def work(client):
            for order in itertools.permutations(range(3)):
                holds = [await fairlock.aio.lock(client, "k", reentrant=True).acquire()
                         for _ in range(3)]
                for number in order:
                    self.assertEqual(self.ask("LOCKED", "k"), 1)
                    self.assertEqual([await holds[number].release() for _ in range(2)],
                                     [True, False])
                self.assert_nothing_left("k")

        self.run_with(work)


class Drops(support.Case):

    def test_a_dropped_hold_is_a_warning_of_python(self):
        with self.assertWarnsRegex(ResourceWarning, "a hold of order:42 was dropped without"):
            fairlock.lock(self.client(), "order:42").acquire()
            gc.collect()

        async def run():
            client = redis.asyncio.Redis(host="127.0.0.1", port=self.server.port)
            with self.assertWarnsRegex(ResourceWarning, "a hold of j was dropped without"):
                await fairlock.aio.lock(client, "j").acquire()
                gc.collect()
            await client.connection_pool.disconnect()

        asyncio.run(run())

    def test_one_that_was_released_or_lost_is_none(self):
        client = self.client()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", ResourceWarning)
            with fairlock.lock(client, "k"):
                pass
            hold = fairlock.lock(client, "k", lease=0.05, renew=False).acquire()
            support.wait_until(lambda: hold._state.lost)
            del hold
            gc.collect()
        self.assertEqual([str(one.message) for one in heard if "hold" in str(one.message)], [])


if __name__ == "__main__":
    unittest.main()
