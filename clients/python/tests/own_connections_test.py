"""The library has connections of its own: what the program's client does, or cannot do, does not
reach its locks."""

import asyncio
import contextlib
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import warnings

import redis
import redis.asyncio
import support
from kept_server import KeptServer
from proxy import Proxy

import fairlock
import fairlock.aio

# More than any of these calls may take beside other programs, and less than the attempts of
# redis-py 8 take by themselves.
AT_ONCE_SECONDS_MAX = 8


@contextlib.contextmanager
def ends_within(test, seconds):
    began = time.monotonic()
    yield
    test.assertLess(time.monotonic() - began, seconds)


def full_pool(port, blocks):
    """A client without a free connection."""
    kind = redis.BlockingConnectionPool if blocks else redis.ConnectionPool
    options = {"timeout": 60} if blocks else {}
    client = redis.Redis(connection_pool=kind(host="127.0.0.1", port=port, max_connections=1,
                                              **options))
    client.pubsub().subscribe("the only connection")
    return client


class Pools(support.Case):

    def test_waiters_do_not_use_up_the_pool(self):
        """Holders release and renew although more threads wait than the pool has connections."""
        pool = redis.BlockingConnectionPool(host="127.0.0.1", port=self.server.port,
                                            max_connections=2, timeout=None)
        client = redis.Redis(connection_pool=pool)
        tokens = []

        def work():
            with fairlock.lock(client, "k", lease=3, wait=60) as hold:
                tokens.append(hold.token)
                client.execute_command("PING")

        for result in [self.in_thread(work) for _ in range(12)]:
            result()
        self.assertEqual(tokens, sorted(tokens))
        self.assertEqual(len(tokens), 12)
        pool.disconnect()

    def test_every_request_of_a_lock_does_without_the_pool(self):
        for blocks in (False, True):
            client = full_pool(self.server.port, blocks)
            hold = fairlock.lock(client, "k").try_acquire()
            hold.renew()
            hold.transfer("next")
            fairlock.lock(client, "k", owner="next").acquire().release()
            with fairlock.Channel(client) as channel, \
                    fairlock.lock(client, "k", channel=channel) as hold:
                hold.check()
            self.assert_nothing_left("k")

    def test_tasks_do_not_use_up_the_pool(self):
        async def run():
            pool = redis.asyncio.BlockingConnectionPool(
                host="127.0.0.1", port=self.server.port, max_connections=2, timeout=None)
            client = redis.asyncio.Redis(connection_pool=pool)

            async def work():
                async with fairlock.aio.lock(client, "k", lease=3, wait=60):
                    await client.execute_command("PING")

            await asyncio.gather(*(work() for _ in range(12)))
            await pool.disconnect()

        asyncio.run(run())
        self.assert_nothing_left("k")

    def test_nothing_is_left_open_and_nothing_is_deprecated(self):
        """This is a program that treats warnings as errors."""
        program = textwrap.dedent(f"""
            import asyncio, gc, fairlock.aio, redis, redis.asyncio

            async def main():
                for _ in range(3):
                    client = redis.asyncio.Redis(host="127.0.0.1", port={self.server.port})
                    async with fairlock.aio.Channel(client) as channel:
                        async with fairlock.aio.lock(client, "k", wait=9, channel=channel):
                            pass
                    async with fairlock.aio.lock(client, "k", wait=9) as hold:
                        await hold.renew()
                    await client.connection_pool.disconnect()
                    del client
                    gc.collect()

            asyncio.run(main())
            client = redis.Redis(host="127.0.0.1", port={self.server.port})
            with fairlock.Channel(client) as channel:
                with fairlock.lock(client, "k", wait=9, channel=channel) as hold:
                    hold.renew()
            client.close()
            """)
        done = subprocess.run([sys.executable, "-B", "-W", "error", "-c", program],
                              env=support.environment(), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_client_of_one_event_loop_after_the_other(self):
        client = redis.asyncio.Redis(host="127.0.0.1", port=self.server.port)

        async def run():
            async with fairlock.aio.lock(client, "k", wait=9):
                pass
            await client.connection_pool.disconnect()

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                asyncio.run(run())


class Outages(support.Case):

    def make_server(self):
        return KeptServer("--durability", "async")

    def test_a_server_that_is_down_is_noticed_at_once(self):
        client = redis.Redis("127.0.0.1", port=support.own_server.free_port())
        with ends_within(self, AT_ONCE_SECONDS_MAX), \
                self.assertRaisesRegex(redis.ConnectionError, "order:42"):
            fairlock.lock(client, "order:42").try_acquire()
        with ends_within(self, 1 + AT_ONCE_SECONDS_MAX), \
                self.assertRaisesRegex(redis.ConnectionError, "order:42"):
            fairlock.lock(client, "order:42", wait=1).acquire()

        async def run():
            other = redis.asyncio.Redis(host="127.0.0.1", port=client.connection_pool
                                        .connection_kwargs["port"])
            for wait in (0, 1):
                with ends_within(self, wait + AT_ONCE_SECONDS_MAX), \
                        self.assertRaisesRegex(redis.ConnectionError, "order:42"):
                    await fairlock.aio.lock(other, "order:42", wait=wait).acquire()

        asyncio.run(run())

    def test_no_hold_is_lost_over_a_gap_that_is_shorter_than_its_lease(self):
        lost = []
        holds = [fairlock.lock(self.client(), f"k:{number}", lease=9,
                               on_lost=lost.append).acquire() for number in range(8)]
        for hold in holds:
            hold.renew(6)
        self.server.kill()
        time.sleep(0.5)
        self.server.start_process()
        time.sleep(8)
        for hold in holds:
            hold.check()
            self.assertTrue(hold.release())
        self.assertEqual(lost, [])


class SilentConnections(support.Case):

    def setUp(self):
        super().setUp()
        self.proxy = self.enterContext(Proxy(self.server.port))

    def test_a_wait_ends_on_a_connection_that_swallows_everything(self):
        """The call ends two seconds after its time, and one more for the release, which may be in
        vain."""
        client = redis.Redis("127.0.0.1", port=self.proxy.port, socket_timeout=60)
        fairlock.lock(client, "k").acquire().release()
        self.proxy.is_silent = True
        for wait in (0, 1):
            # Without bounds, the call would take as long as the time-out of the client.
            with ends_within(self, wait + 3 + AT_ONCE_SECONDS_MAX), \
                    self.assertRaises((redis.TimeoutError, redis.ConnectionError)):
                fairlock.lock(client, "k", wait=wait).acquire()

    def test_so_does_one_of_a_task(self):
        async def run():
            client = redis.asyncio.Redis(host="127.0.0.1", port=self.proxy.port)
            async with fairlock.aio.lock(client, "k"):
                pass
            self.proxy.is_silent = True
            for wait in (0, 1):
                with ends_within(self, wait + 3 + AT_ONCE_SECONDS_MAX), \
                        self.assertRaises((redis.TimeoutError, redis.ConnectionError)):
                    await fairlock.aio.lock(client, "k", wait=wait).acquire()

        asyncio.run(run())

    def test_a_handshake_that_is_swallowed_ends(self):
        """The call ends although the client has no time-out, and sends a password first."""
        with contextlib.closing(support.socket_that_never_answers()) as listener:
            client = redis.Redis("127.0.0.1", port=listener.getsockname()[1], password="secret",
                                 socket_timeout=None)
            ended = threading.Event()

            def work():
                try:
                    fairlock.lock(client, "k").try_acquire()
                except redis.RedisError:
                    ended.set()

            self.in_thread(work)()
            self.assertTrue(ended.is_set())


if __name__ == "__main__":
    unittest.main()
