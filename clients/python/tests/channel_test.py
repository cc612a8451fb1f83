"""Many waits over one connection, with NOTIFY, against a real server."""

import asyncio
import threading
import time
import unittest

import redis.asyncio

import aio_test
import support
from kept_server import KeptServer

import fairlock
import fairlock.aio

WAITS = 1000
EARLIER_MESSAGES = [
    f'{{"event":"{event}","key":"k","owner":"me","token":{token},"reason":null}}'
    for event, token in (("cancelled", "null"), ("timeout", "null"), ("granted", 1))]


class Threads(support.Case):

    def setUp(self):
        super().setUp()
        self.shop = self.client(client_name="shop")
        self.channel = self.enterContext(fairlock.Channel(self.shop))

    def lock(self, *keys, **options):
        return fairlock.lock(self.shop, *keys, channel=self.channel, **options)

    def connections(self):
        return sum(entry["name"] == "shop" for entry in self.outside.client_list())

    def test_waits_share_one_connection_and_are_granted_in_order(self):
        order, results = [], []
        with self.lock("k"):
            for number in range(20):
                def work(number=number):
                    with self.lock("k", owner=f"w{number}"):
                        order.append(number)
                results.append(self.in_thread(work))
                support.wait_until(lambda: len(self.waiters("k")) == number + 1)
            self.assertEqual(self.connections(), 2)
        for result in results:
            result()
        self.assertEqual(order, list(range(20)))
        self.assertEqual(self.connections(), 2)
        self.assert_nothing_left("k")

    def test_a_time_out_names_the_holder(self):
        self.ask("LOCK", "k", "other")
        with self.assertRaises(fairlock.Denied) as raised:
            self.lock("k", wait=0.2).acquire()
        found = raised.exception.explanation
        self.assertEqual((found.status, found.holders[0].owner), ("timeout", "other"))
        self.assertIsNone(self.lock("k").try_acquire())
        self.assertEqual(self.waiters("k"), [])

    def test_many_keys(self):
        self.ask("LOCK", "b", "other")
        result = self.in_thread(self.lock("a", "b").acquire)
        support.wait_until(lambda: self.waiters("a"))
        self.ask("UNLOCK", "b", "other")
        with result() as hold:
            self.assertEqual(self.ask("CHECK", "b", hold.token), 1)
        self.assert_nothing_left("a", "b")

    def test_a_lost_hold_is_reported_at_once(self):
        lost = []
        hold = self.lock("k", lease=60, on_lost=lost.append).acquire()
        self.ask("BREAK", "k")
        support.wait_until(lambda: lost == [hold], seconds=5)
        with self.assertRaisesRegex(fairlock.LostHold, "broken"):
            hold.check()

    def test_other_requests_that_end_a_wait(self):
        self.ask("LOCK", "k", "other")
        result = self.in_thread(self.lock("k", owner="me").acquire)
        support.wait_until(lambda: self.waiters("k"))
        self.ask("CANCEL", "k", "me")
        with self.assertRaisesRegex(fairlock.WaitEnded, "cancelled"):
            result()

    def test_a_newer_wait_of_an_owner_ends_the_older_one(self):
        self.ask("LOCK", "k", "other")
        older = self.in_thread(self.lock("k", owner="me", wait=30).acquire)
        support.wait_until(lambda: self.waiters("k"))
        newer = self.in_thread(self.lock("k", owner="me", wait=30).acquire)
        with self.assertRaisesRegex(fairlock.WaitEnded, "superseded"):
            older()
        self.ask("UNLOCK", "k", "other")
        newer().release()

    def test_an_owner_that_comes_back_hears_of_its_grant(self):
        first = self.lock("k", owner="me").acquire()
        rival = self.in_thread(fairlock.lock(self.client(), "k", owner="rival").acquire)
        support.wait_until(lambda: self.waiters("k"))
        first.release()
        again = self.in_thread(self.lock("k", owner="me", wait=30).acquire)
        held = rival()
        support.wait_until(lambda: self.waiters("k"))
        held.release()
        again().release()

    def test_messages_of_others_are_ignored(self):
        self.ask("LOCK", "k", "other")
        result = self.in_thread(self.lock("k", owner="me").acquire)
        support.wait_until(lambda: self.waiters("k"))
        for text in ("granted", "[]", '{"event":"granted"}'):
            self.ask("PUBLISH", self.channel.name, text)
        self.ask("UNLOCK", "k", "other")
        result().release()

    def test_messages_about_an_earlier_wait_of_the_owner_are_not_believed(self):
        self.ask("LOCK", "k", "other")
        result = self.in_thread(self.lock("k", owner="me", wait=30).acquire)
        support.wait_until(lambda: self.waiters("k"))
        for text in EARLIER_MESSAGES:
            self.ask("PUBLISH", self.channel.name, text)
        support.wait_until(lambda: self.commands("renew") == 1 and self.commands("position") == 1)
        time.sleep(0.3)
        self.assertEqual(self.waiters("k"), ["me"])
        self.ask("UNLOCK", "k", "other")
        with result() as hold:
            self.assertEqual(self.ask("CHECK", "k", hold.token), 1)

    def test_the_connection_of_the_channel_is_closed(self):
        self.ask("LOCK", "k", "other")
        result = self.in_thread(self.lock("k", owner="me").acquire)
        support.wait_until(lambda: self.waiters("k"))
        self.ask("CLIENT", "KILL", "TYPE", "pubsub")
        support.wait_until(lambda: self.commands("subscribe") == 2)
        self.ask("UNLOCK", "k", "other")
        result().release()

    def test_a_transfer_is_not_a_loss(self):
        lost = []
        with self.lock("k", lease=0.5, on_lost=lost.append) as hold:
            hold.transfer("other", lease=60)
            time.sleep(0.7)
        self.assertEqual(lost, [])
        self.assertEqual(self.ask("LOCKED", "k", "other"), 1)

    def test_a_silent_connection_is_checked(self):
        channel = self.enterContext(fairlock.Channel(self.client(socket_timeout=0.1)))
        support.wait_until(lambda: self.commands("ping") >= 2)
        self.assertEqual(self.commands("subscribe"), 2)
        with fairlock.lock(self.shop, "k", channel=channel):
            pass


class Restarts(support.Case):

    def make_server(self):
        return KeptServer("--durability", "async")

    def test_a_restart_while_waiting_and_holding(self):
        client, lost = self.client(), []
        with fairlock.Channel(client) as channel:
            holder = fairlock.lock(client, "k", lease=4, channel=channel,
                                   on_lost=lost.append).acquire()
            result = self.in_thread(
                fairlock.lock(client, "k", owner="me", keep=20, channel=channel).acquire)
            support.wait_until(lambda: self.waiters("k") == ["me"])
            self.server.kill_and_start_again()
            time.sleep(0.5)
            self.assertEqual(self.waiters("k"), ["me"])
            self.assertTrue(holder.release())
            self.assertTrue(result().release())
        self.assertEqual(lost, [])

    def test_a_channel_opened_during_an_outage(self):
        client = self.client()
        self.server.kill()
        threads = self.in_thread(lambda: fairlock.Channel(client))

        async def tasks():
            own = redis.asyncio.Redis(port=self.server.port)
            async with fairlock.aio.Channel(own) as channel:
                name = channel.name
            await own.close()
            return name

        names = self.in_thread(lambda: asyncio.run(tasks()))
        time.sleep(0.5)
        self.server.start_again()
        with threads() as channel:
            with fairlock.lock(client, "k", channel=channel) as hold:
                self.assertGreater(hold.token, 0)
        self.assertTrue(names())


class Tasks(aio_test.AsyncCase):

    async def test_a_thousand_waits_at_once(self):
        client = self.client(client_name="shop")
        inside, order = [], []
        async with fairlock.aio.Channel(client) as channel:
            async def work(number):
                lock = fairlock.aio.lock(client, "k", owner=f"w{number}", wait=60,
                                         channel=channel)
                async with lock as hold:
                    inside.append(number)
                    self.assertEqual(inside, [number])
                    order.append(hold.token)
                    inside.remove(number)

            async with fairlock.aio.lock(client, "k", channel=channel):
                tasks = [asyncio.ensure_future(work(number)) for number in range(WAITS)]
                await self.until(lambda: self.ask("LOCKS")[1][0][2] == WAITS)
                names = [entry["name"] for entry in self.outside.client_list()]
                self.assertEqual(names.count("shop"), 2)
                self.assertEqual(self.commands("lock"), WAITS + 1)
            await asyncio.gather(*tasks)
        self.assertEqual((len(order), order), (WAITS, sorted(order)))
        self.assert_nothing_left("k")

    async def test_a_cancelled_wait_leaves_no_place(self):
        client = self.client()
        self.ask("LOCK", "k", "other")
        async with fairlock.aio.Channel(client) as channel:
            for steps in range(0, 40):
                task = asyncio.ensure_future(
                    fairlock.aio.lock(client, "k", keep=60, channel=channel).acquire())
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait({task})
                self.assertTrue(task.cancelled())
                self.assertEqual(self.waiters("k"), [])

    async def test_the_connection_of_the_channel_is_closed(self):
        client = self.client()
        self.ask("LOCK", "k", "other")
        async with fairlock.aio.Channel(client) as channel:
            task = asyncio.ensure_future(
                fairlock.aio.lock(client, "k", channel=channel).acquire())
            await self.until(lambda: self.waiters("k"))
            self.ask("CLIENT", "KILL", "TYPE", "pubsub")
            await self.until(lambda: self.commands("subscribe") == 2)
            self.ask("UNLOCK", "k", "other")
            await (await task).release()

    async def test_a_lost_hold_is_reported_at_once(self):
        client, lost = self.client(), []
        async with fairlock.aio.Channel(client) as channel:
            hold = await fairlock.aio.lock(client, "k", lease=60, channel=channel,
                                           on_lost=lost.append).acquire()
            self.ask("BREAK", "k")
            await self.until(lambda: lost == [hold])
            with self.assertRaisesRegex(fairlock.FairlockError, "not open"):
                await fairlock.aio.lock(client, "k",
                                        channel=fairlock.aio.Channel(client)).acquire()


if __name__ == "__main__":
    unittest.main()
