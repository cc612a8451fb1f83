"""Locks for asyncio, against a real server."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import support
from kept_server import KeptServer
from own_redis import Redis

import fairlock
import fairlock.aio
import redis.asyncio


class AsyncCase(support.Case, unittest.IsolatedAsyncioTestCase):

    async def asyncSetUp(self):
        # Unittest turns on the debug mode, which is slow.
        asyncio.get_running_loop().set_debug(False)

    def client(self, **options):
        """A synchronous client that looks from outside until the loop runs."""
        if not hasattr(self, "outside"):
            return super().client(**options)
        client = redis.asyncio.Redis(host="127.0.0.1", port=self.server.port, **options)
        self.addAsyncCleanup(client.connection_pool.disconnect)
        return client

    async def until(self, condition):
        give_up = time.monotonic() + support.WAIT_SECONDS_MAX
        while not condition():
            self.assertLess(time.monotonic(), give_up)
            await asyncio.sleep(0.005)


class Options(AsyncCase):

    async def test_the_block_holds_the_lock_and_releases_it(self):
        async with fairlock.aio.lock(self.client(), "order:42", lease=30, wait=10) as hold:
            self.assertEqual(self.ask("CHECK", "order:42", hold.token), 1)
            self.assertEqual(self.ask("LOCKED", "order:42", hold.owner), 1)
        self.assert_nothing_left("order:42")
        with self.assertRaisesRegex(fairlock.LostHold, "was released"):
            hold.check()

    async def test_a_denial_names_the_holder(self):
        self.ask("LOCK", "k", "other")
        lock = fairlock.aio.lock(self.client(decode_responses=True), "k", wait=0.1)
        self.assertIsNone(await lock.try_acquire())
        with self.assertRaises(fairlock.Denied) as raised:
            await lock.acquire()
        found = raised.exception.explanation
        self.assertEqual((found.status, found.holders[0].owner), ("timeout", "other"))

    async def test_many_keys_renewal_and_transfer(self):
        client = self.client()
        async with fairlock.aio.lock(client, "a", "b", lease=0.4) as hold:
            await asyncio.sleep(1)
            await hold.renew(10)
            self.assertEqual(self.ask("CHECK", "b", hold.token), 1)
            self.assertGreater(self.ask("PTTL", "b"), 5000)
            with self.assertRaises(ValueError):
                await hold.transfer("worker-2")
        async with fairlock.aio.lock(client, "k") as hold:
            token = await hold.transfer("worker-2")
        self.assertEqual(self.ask("CHECK", "k", token), 1)
        self.assertLessEqual(self.commands("mrenew"), 6)

    async def test_a_lost_hold_is_reported_to_a_coroutine(self):
        lost = asyncio.Event()

        async def on_lost(hold):
            lost.set()

        with self.assertRaises(fairlock.LostHold):
            async with fairlock.aio.lock(self.client(), "k", lease=0.3, on_lost=on_lost):
                self.ask("BREAK", "k")
                await asyncio.wait_for(lost.wait(), 5)

    async def test_the_other_kind_of_client_is_refused(self):
        with self.assertRaisesRegex(TypeError, "expected a redis.asyncio.Redis"):
            await fairlock.aio.lock(self.outside, "k").acquire()
        with self.assertRaisesRegex(TypeError, "expected a redis.Redis"):
            fairlock.lock(self.client(), "k").acquire()

    async def test_a_single_server_needs_no_cluster_client(self):
        cluster = redis.asyncio.RedisCluster(host="127.0.0.1", port=self.server.port)
        with self.assertRaisesRegex(redis.ResponseError, "a redis.Redis is needed"):
            await fairlock.aio.lock(cluster, "k", wait=60).acquire()

    async def test_redis_is_not_fairlock(self):
        with Redis() as server:
            client = redis.asyncio.Redis(host="127.0.0.1", port=server.port)
            with self.assertRaisesRegex(fairlock.NotFairlock, "it may be Redis"):
                await fairlock.aio.lock(client, "k", wait=60).acquire()
            await client.close()

    async def test_tasks_take_turns(self):
        lock = fairlock.aio.lock(self.client(), "k", wait=20)
        inside, tokens = [], []

        async def work():
            for _ in range(10):
                async with lock as hold:
                    inside.append(hold)
                    await asyncio.sleep(0)
                    self.assertEqual(inside, [hold])
                    tokens.append(hold.token)
                    inside.remove(hold)

        await asyncio.gather(*(work() for _ in range(10)))
        self.assertEqual(len(tokens), 100)
        self.assertEqual(tokens, sorted(tokens))


class Cancellation(AsyncCase):

    async def cancel_after(self, steps, call):
        """Cancels a task after that many turns of the loop, and returns whether it was still
        running."""
        task = asyncio.ensure_future(call())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    async def test_of_a_free_lock_at_every_turn(self):
        client = self.client()

        async def call():
            async with fairlock.aio.lock(client, "k", keep=60):
                await asyncio.sleep(0.001)

        await call()
        steps = 0
        while await self.cancel_after(steps, call):
            self.assert_nothing_left("k")
            steps += 1
        self.assertGreater(steps, 5)

    async def test_of_a_wait_just_when_it_is_granted(self):
        client = self.client()
        for steps in range(40):
            async with fairlock.aio.lock(client, "k", owner="other"):
                task = asyncio.ensure_future(
                    fairlock.aio.lock(client, "k", owner="me", keep=60).acquire())
                await self.until(lambda: self.waiters("k") == ["me"])
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                await task.result().release()
            self.assert_nothing_left("k")

    async def test_a_second_cancellation_does_not_stop_the_first_from_cleaning_up(self):
        client = self.client()
        self.ask("LOCK", "k", "other")
        task = asyncio.ensure_future(fairlock.aio.lock(client, "k", keep=60).acquire())
        await self.until(lambda: self.waiters("k"))
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        await self.until(lambda: self.waiters("k") == [])

    async def test_a_time_limit_around_a_wait(self):
        self.ask("LOCK", "k", "other")
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(fairlock.aio.lock(self.client(), "k", keep=9).acquire(), 0.1)
        self.assertEqual(self.waiters("k"), [])

    async def test_ctrl_c(self):
        self.ask("LOCK", "k", "other")
        program = textwrap.dedent(f"""
            import asyncio, fairlock.aio, redis.asyncio
            async def main():
                client = redis.asyncio.Redis(host="127.0.0.1", port={self.server.port})
                await fairlock.aio.lock(client, "k", keep=60).acquire()
            try:
                asyncio.run(main())
            except KeyboardInterrupt:
                print("interrupted")
            """)
        child = subprocess.Popen([sys.executable, "-B", "-c", program], text=True,
                                 stdout=subprocess.PIPE, env=support.environment())
        await self.until(lambda: self.waiters("k"))
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=20)[0], "interrupted\n")
        self.assertEqual(self.waiters("k"), [])


class Failures(AsyncCase):

    def make_server(self):
        return KeptServer("--durability", "async")

    async def test_a_read_time_out_shorter_than_the_wait_keeps_the_place(self):
        self.ask("LOCK", "k", "other")
        client = self.client(socket_timeout=0.2)
        tasks = []
        for owner in ("first", "second"):
            tasks.append(asyncio.ensure_future(
                fairlock.aio.lock(client, "k", owner=owner, wait=20, keep=20).acquire()))
            await self.until(lambda: owner in self.waiters("k"))
        await asyncio.sleep(0.7)
        self.ask("UNLOCK", "k", "other")
        first = await tasks[0]
        self.assertFalse(tasks[1].done())
        await first.release()
        await (await tasks[1]).release()

    async def test_a_restart_while_waiting_and_holding(self):
        lost = []
        client = self.client()
        holder = await fairlock.aio.lock(client, "k", lease=3, on_lost=lost.append).acquire()
        task = asyncio.ensure_future(
            fairlock.aio.lock(client, "k", owner="second", keep=20).acquire())
        await self.until(lambda: self.waiters("k") == ["second"])
        await asyncio.to_thread(self.server.kill_and_start_again)
        await self.until(lambda: self.waiters("k") == ["second"])
        await asyncio.sleep(2.2)
        self.assertTrue(await holder.release())
        await (await task).release()
        self.assertEqual(lost, [])

    async def test_the_database_of_the_client_is_that_of_its_locks(self):
        third = self.client(db=3)
        hold = await fairlock.aio.lock(third, "k").acquire()
        async with fairlock.aio.Channel(third) as channel:
            task = asyncio.create_task(fairlock.aio.lock(third, "k", channel=channel).acquire())
            while not await third.execute_command("QUEUE", "k"):
                await asyncio.sleep(0.005)
            await hold.release()
            hold = await task
        self.assertEqual((self.ask("LOCKED", "k"), await third.execute_command("LOCKED", "k")),
                         (0, 1))
        self.assertTrue(await hold.release())

    async def test_a_forked_child_neither_renews_nor_releases(self):
        hold = await fairlock.aio.lock(self.client(), "k").acquire()
        child = os.fork()
        if child == 0:
            try:
                hold.check()
            except fairlock.LostHold:
                os._exit(7)
            os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 7 << 8)
        self.assertTrue(await hold.release())


if __name__ == "__main__":
    unittest.main()
