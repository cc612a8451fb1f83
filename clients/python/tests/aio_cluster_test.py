"""Locks of tasks in a fleet of several partitions."""

import asyncio
import unittest

import redis
import support
from cluster_case import ClusterCase

import fairlock.aio


async def until(condition):
    """Like wait_until(), which would stop the event loop."""
    await asyncio.to_thread(support.wait_until, condition)


class AsyncClusterCase(ClusterCase, unittest.IsolatedAsyncioTestCase):
    """Asks the leaders in other threads."""

    async def asyncSetUp(self):
        asyncio.get_running_loop().slow_callback_duration = 60  # other tasks run meanwhile

    async def outside(self, call, *arguments):
        return await asyncio.to_thread(call, *arguments)


class Tasks(AsyncClusterCase):

    async def test_locks_of_every_partition(self):
        async with self.aio_client() as client:
            for key in self.keys(3):
                async with fairlock.aio.lock(client, key, wait=10) as hold:
                    self.assertEqual(await self.outside(self.ask, "CHECK", key, hold.token), 1)
                    self.assertIsNone(await fairlock.aio.lock(client, key).try_acquire())
                    with self.assertRaisesRegex(fairlock.Denied, "held by"):
                        await fairlock.aio.lock(client, key, wait=0.1,
                                                owner="other").acquire()
                    await hold.renew(lease=60)
                    await hold.transfer("another")
                async with fairlock.aio.lock(client, key, owner="another"):
                    pass
                await self.outside(self.assert_nothing_left, key)
                async with fairlock.aio.lock(client, f"{{{key}}}:1", f"{{{key}}}:2"):
                    pass
            with self.assertRaisesRegex(redis.exceptions.ClusterCrossSlotError, "same slot"):
                await fairlock.aio.lock(client, *self.keys(), wait=60).acquire()

    async def test_waiters_are_granted_in_order(self):
        async with self.aio_client() as client, fairlock.aio.Channel(client) as channel:
            for key in self.keys():
                order = []

                async def work(number):
                    options = {"channel": channel} if number % 2 else {}
                    async with fairlock.aio.lock(client, key, wait=30, **options):
                        order.append(number)

                async with fairlock.aio.lock(client, key):
                    tasks = []
                    for number in range(4):
                        tasks.append(asyncio.ensure_future(work(number)))
                        await until(lambda: len(self.waiters(key)) == number + 1)
                await asyncio.gather(*tasks)
                self.assertEqual(order, [0, 1, 2, 3])

    async def test_other_clients_are_told_to_use_this_one(self):
        client = redis.asyncio.Redis(host="127.0.0.1", port=self.ports[0])
        for key in self.keys():
            if (await self.outside(self.leader, key)).port != self.ports[0]:
                with self.assertRaisesRegex(fairlock.FairlockError, "needs a RedisCluster"):
                    await fairlock.aio.lock(client, key, wait=60).acquire()
        await client.close()

    async def test_redirections_are_followed_at_once(self):
        async with self.aio_client() as client:
            for key in self.keys():
                await self.mislead_tasks(client, key)
                async with fairlock.aio.lock(client, key, wait=0):
                    pass
                leader = await self.outside(self.leader, key)
                address = fairlock.aio._routes.ClusterRoute(client, key).address
                self.assertEqual(address, ("127.0.0.1", leader.port))

    async def test_a_channel_over_all_partitions(self):
        async with self.aio_client() as client, self.aio_client() as other:
            keys = self.keys(4)
            async with fairlock.aio.Channel(client) as channel:
                holds = {key: await fairlock.aio.lock(other, key).acquire() for key in keys}
                tasks = {key: asyncio.ensure_future(fairlock.aio.lock(
                    client, key, wait=30, channel=channel).acquire()) for key in keys}
                for key in keys:
                    await until(lambda: len(self.waiters(key)) == 1)
                    names = await self.outside(self.channels, key)
                    self.assertIn(f"{channel.name}:{{{key}}}", names)
                for key in reversed(keys):
                    await holds[key].release()
                    await (await tasks[key]).release()
                for key in keys:
                    await until(lambda: len(self.channels(key)) == 1)
            for key in keys:
                await until(lambda: not self.channels(key))

    async def test_a_channel_reports_a_loss_at_once(self):
        lost = []
        async with self.aio_client() as client, fairlock.aio.Channel(client) as channel:
            for key in self.keys():
                hold = await fairlock.aio.lock(client, key, lease=60, wait=30, channel=channel,
                                               on_lost=lost.append).acquire()
                await self.outside(self.ask, "BREAK", key)
                await until(lambda: hold in lost)

    async def test_a_subscription_at_a_standby_is_renewed(self):
        async with self.aio_client() as client, self.aio_client() as other:
            for key in self.keys():
                await self.mislead_tasks(client, key)
                async with fairlock.aio.Channel(client) as channel:
                    async with fairlock.aio.lock(other, key):
                        task = asyncio.ensure_future(fairlock.aio.lock(
                            client, key, wait=30, channel=channel).acquire())
                        await until(lambda: self.waiters(key))
                    await (await task).release()

    async def test_cancelled_waits_leave_nothing(self):
        async with self.aio_client() as client, fairlock.aio.Channel(client) as channel:
            for key in self.keys():
                other = await fairlock.aio.lock(client, key).acquire()
                for options in ({}, {"channel": channel}):
                    for steps in range(0, 60, 3):
                        task = asyncio.ensure_future(fairlock.aio.lock(
                            client, key, keep=60, **options).acquire())
                        for _ in range(steps):
                            await asyncio.sleep(0)
                        task.cancel()
                        await asyncio.wait({task})
                        self.assertTrue(task.cancelled())
                self.assertEqual(await self.outside(self.waiters, key), [])
                await other.release()
                await self.outside(self.assert_nothing_left, key)


class FailOver(AsyncClusterCase):

    async def test_a_leader_dies_while_locks_are_held_and_waited_for(self):
        lost = []
        async with self.aio_client() as client, fairlock.aio.Channel(client) as channel:
            keys = self.keys(3)
            holds = {key: await fairlock.aio.lock(client, key, lease=20, on_lost=lost.append,
                                                  channel=channel).acquire() for key in keys}
            ways = {"direct": None, "channel": channel}
            tasks = {(key, way): asyncio.ensure_future(fairlock.aio.lock(
                client, key, owner=way, wait=60, keep=30, channel=option).acquire())
                for key in keys for way, option in ways.items()}
            for key in keys:
                await until(lambda: len(self.waiters(key)) == 2)
            await self.outside(self.kill_leader, keys[0])
            for key in keys:
                await until(lambda: len(self.waiters(key)) == 2)
                order = await self.outside(self.waiters, key)
                await holds[key].renew()
                self.assertTrue(await holds[key].release())
                for way in order:
                    self.assertTrue(await (await tasks[key, way]).release())
            self.assertEqual(lost, [])
        await self.outside(self.assert_nothing_left, *keys)

    async def test_waits_of_other_partitions_are_not_disturbed(self):
        """redis-py would close the connections to all nodes."""
        async with self.aio_client(client_name="waits") as client:
            (key, other) = self.keys()
            async with fairlock.aio.lock(client, other):
                task = asyncio.ensure_future(fairlock.aio.lock(client, other, wait=60).acquire())
                await until(lambda: self.waiters(other))
                before = await self.outside(self.asked, other)
                await self.outside(self.kill_leader, key)
                async with fairlock.aio.lock(client, key, wait=30):
                    pass
                self.assertEqual(await self.outside(self.asked, other), before)
            await (await task).release()

    def asked(self, key):
        """How often the leader of the key was asked for a lock."""
        with self.leader(key).connect() as connection:
            text = connection.ask("INFO", "commandstats").decode()
        return text.split("cmdstat_lock:calls=")[1].split(",")[0]

    async def test_a_wait_that_is_cancelled_during_a_fail_over_leaves_nothing(self):
        async with self.aio_client() as client, fairlock.aio.Channel(client) as channel:
            for key in self.keys():
                for options in ({}, {"channel": channel}):
                    holder = await fairlock.aio.lock(client, key, wait=30).acquire()
                    task = asyncio.ensure_future(fairlock.aio.lock(
                        client, key, keep=60, **options).acquire())
                    await until(lambda: self.waiters(key))
                    leader = await self.outside(self.leader, key)
                    leader.kill()
                    await asyncio.sleep(0.2)
                    task.cancel()
                    await asyncio.wait({task})
                    self.assertTrue(task.cancelled())
                    leader.start()
                    await self.outside(self.fleet.await_whole, 30)
                    self.assertTrue(await holder.release())
                    await self.outside(self.assert_nothing_left, key)


if __name__ == "__main__":
    unittest.main()
