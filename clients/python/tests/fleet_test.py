"""A fleet whose leader is killed while locks are held and waited for."""

import asyncio
import threading
import time
import unittest

import readme_test
import support  # noqa: F401  (finds the library)
from own_fleet import Fleet
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.sentinel import Sentinel

import fairlock
import fairlock.aio
import redis

SENTINELS = '[("lock1", 3249), ("lock2", 3249), ("lock3", 3249)]'


class FailOver(unittest.TestCase):

    def ask(self, *command):
        with self.fleet.await_leader().connect() as client:
            return client.ask(*command)

    def sentinels(self):
        return [("127.0.0.1", node.sentinel_port) for node in self.fleet.nodes]

    def fail_over(self):
        leader = self.fleet.await_leader()
        leader.kill()
        self.fleet.await_leader()
        leader.start()

    def hold_and_wait(self, client):
        """Kills the leader while a lock is held and waited for."""
        lost, granted = [], []
        holder = fairlock.lock(client, "k", lease=10, on_lost=lost.append).acquire()

        def wait():
            with fairlock.lock(client, "k", owner="waiter", wait=60) as hold:
                granted.append(hold.token)

        waiter = threading.Thread(target=wait)
        waiter.start()
        support.wait_until(lambda: self.ask("POSITION", "k", "waiter") == 1)
        self.fail_over()
        support.wait_until(lambda: self.ask("POSITION", "k", "waiter") == 1)
        holder.renew()
        token = holder.token
        self.assertTrue(holder.release())
        waiter.join(30)
        self.assertEqual((lost, len(granted)), ([], 1))
        self.assertGreater(granted[0], token)

    def test_sentinel_names_the_leader(self):
        with Fleet(nodes=3, members=1) as self.fleet:
            (example,) = [text for text in readme_test.blocks() if "Sentinel" in text]
            done = readme_test.run_block(example, {SENTINELS: repr(self.sentinels())})
            self.assertEqual(len(done), 1)
            client = Sentinel(self.sentinels(), socket_timeout=5).master_for("main")
            self.hold_and_wait(client)
            asyncio.run(self.hold_in_the_loop())

    async def hold_in_the_loop(self):
        sentinel = AsyncSentinel(self.sentinels(), socket_timeout=5)
        client = sentinel.master_for("main")
        async with fairlock.aio.lock(client, "k", lease=10) as hold:
            await asyncio.to_thread(self.fail_over)
            await asyncio.sleep(0.5)
            self.assertEqual(await asyncio.to_thread(self.ask, "CHECK", "k", hold.token), 1)

    def test_any_node_relays(self):
        with Fleet(nodes=3, members=1, relays=True) as self.fleet:
            standby = self.fleet.standby()
            client = redis.Redis("127.0.0.1", port=standby.port, socket_timeout=5)
            lock = fairlock.lock(client, "k", lease=10, wait=60)
            with lock as hold:
                begin = time.monotonic()
                self.fail_over()
                hold.renew()
                self.assertEqual(self.ask("CHECK", "k", hold.token), 1)
                self.assertLess(time.monotonic() - begin, 20)


if __name__ == "__main__":
    unittest.main()
