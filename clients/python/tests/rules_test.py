"""Rules for every argument, error and hold: durations, texts, nested locks, dropped holds."""

import asyncio
import datetime
import decimal
import gc
import itertools
import json
import math
import pickle
import signal
import time
import unittest

import failure_test
import readme_test
import support

import fairlock
import fairlock.aio
import redis.asyncio

YEAR = 365 * 24 * 3600
NO_DURATIONS = (math.inf, -math.inf, math.nan, -1, -0.001, YEAR + 1, 1e300, "5", b"5", "abc", True,
                datetime.timedelta(seconds=5), decimal.Decimal(5), [5], {}, object())


class Durations(support.Case):

    def test_what_is_no_number_of_seconds_is_refused_at_the_call(self):
        client, aio = self.client(), redis.asyncio.Redis()
        hold = fairlock.lock(client, "held").acquire()
        calls = {name: lambda value, name=name: fairlock.lock(client, "k", **{name: value})
                 for name in ("lease", "wait", "keep", "min_hold")}
        calls |= {f"aio {name}": lambda value, name=name: fairlock.aio.lock(aio, "k",
                                                                            **{name: value})
                  for name in ("lease", "wait", "keep", "min_hold")}
        calls |= {"renew": lambda value: hold.renew(value),
                  "transfer": lambda value: hold.transfer("other", value)}
        none = {"wait", "keep", "min_hold", "renew", "transfer"}
        for (name, call), value in itertools.product(calls.items(), (*NO_DURATIONS, None)):
            if value is None and name.removeprefix("aio ") in none:
                continue
            with self.subTest(name, value=value):
                with self.assertRaisesRegex(ValueError, "must be a number of seconds"):
                    call(value)
        for name in ("lease", "aio lease", "renew", "transfer"):
            with self.assertRaisesRegex(ValueError, "greater than 0"):
                calls[name](0)
        self.assertTrue(hold.release())
        self.assert_nothing_left("k", "held")

    def test_the_longest_ones_are_accepted(self):
        client = self.client()
        for options in ({"lease": YEAR}, {"wait": YEAR}, {"min_hold": 0}, {"keep": 0},
                        {"lease": 0.0001}):
            with self.subTest(options):
                fairlock.lock(client, str(options), **options).acquire().release()


class Texts(support.Case):

    def test_a_denial_names_the_key_the_holder_and_the_waiters(self):
        self.ask("LOCK", "order:42", "worker-2")
        waiting = [self.in_thread(lambda: fairlock.lock(self.client(), "order:42").acquire()
                                  .release()) for _ in range(2)]
        support.wait_until(lambda: len(self.waiters("order:42")) == 2)
        with self.assertRaisesRegex(fairlock.Denied, r"^order:42 not granted in 0\.1 s: held by "
                                    r"worker-2 for [0-9.]+ s; 2 waiting"):
            fairlock.lock(self.client(), "order:42", wait=0.1).acquire()
        with self.assertRaisesRegex(fairlock.Denied, r"^a, order:42 not granted: held by worker-2 "
                                    r"for [0-9.]+ s; 2 waiting.* \(order:42\)$") as raised:
            fairlock.lock(self.client(), "a", "order:42", wait=0).acquire()
        copy = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((str(copy), copy.explanation, copy.keys),
                         (str(raised.exception), raised.exception.explanation, ("a", "order:42")))
        self.ask("UNLOCK", "order:42", "worker-2")
        for result in waiting:
            result()

    def test_every_text_can_be_printed(self):
        for name in (b"\xff\xfe", b"\x00\x00\x02\x11\xec\xff", "äö".encode(), b"a\nb\x1b[2J",
                     "\u2028".encode(), b"\xed\xa0\x80"):
            with self.subTest(name):
                self.ask("LOCK", name, name, "PX", 60000)
                with self.assertRaises(fairlock.Denied) as raised:
                    fairlock.lock(self.client(), name, wait=0.01).acquire()
                for text in (str(raised.exception), str(raised.exception.explanation)):
                    self.assertTrue(text.isprintable(), repr(text))
                    json.dumps(text, ensure_ascii=False).encode()
                owner = raised.exception.explanation.holders[0].owner
                self.assertEqual(owner.encode("utf-8", "surrogateescape"), name)

    def test_every_error_names_its_key(self):
        client = self.client()
        hold = fairlock.lock(client, "order:42").acquire()
        with self.assertRaisesRegex(fairlock.Deadlock, "^order:42 "):
            fairlock.lock(client, "order:42").acquire()
        hold.release()
        with self.assertRaisesRegex(fairlock.LostHold, "^order:42 was released"):
            hold.check()
        self.ask("LOCK", "order:42", "other")
        result = self.in_thread(fairlock.lock(client, "order:42", owner="me").acquire)
        support.wait_until(lambda: self.waiters("order:42"))
        self.ask("CANCEL", "order:42", "me")
        with self.assertRaisesRegex(fairlock.WaitEnded, "^order:42: "):
            result()


class Nesting(support.Case):
    """A thread or a task that asked for a lock that it holds itself would wait for ever."""

    KINDS = ({}, {"shared": True}, {"limit": 1}, {"limit": 2})

    def test_it_is_told_at_once(self):
        client = self.client()
        for number, (outer, inner) in enumerate(itertools.product(self.KINDS, self.KINDS)):
            key = f"k:{number}"
            may_both = outer == inner and outer in ({"shared": True}, {"limit": 2})
            with self.subTest(outer, inner=inner), fairlock.lock(client, key, **outer):
                self.assertEqual(fairlock.lock(client, key, **inner).try_acquire() is not None,
                                 may_both)
                gc.collect()
                if may_both:
                    continue
                for wait in (None, 60):
                    with self.assertRaisesRegex(fairlock.Deadlock, "held by this thread already"):
                        fairlock.lock(self.client(), "other", key, wait=wait, **inner).acquire()

    def test_semaphores_count(self):
        lock = fairlock.lock(self.client(), "k", limit=2, wait=60)
        with lock, lock, self.assertRaises(fairlock.Deadlock):
            lock.acquire()

    def test_what_may_be_granted_is_asked_for(self):
        client = self.client()
        hold = fairlock.lock(client, "k").acquire()
        with fairlock.lock(client, "other"):  # another key
            pass
        third = self.client(db=3)
        with fairlock.lock(third, "k"):  # another database
            pass
        waiting = self.in_thread(fairlock.lock(client, "k").acquire)  # another thread
        support.wait_until(lambda: self.waiters("k"))
        hold.release()
        waiting()
        # The program has named the owners: another thread may release the hold.
        hold = fairlock.lock(client, "named").acquire()
        timer = self.in_thread(lambda: (time.sleep(0.1), hold.release()))
        with fairlock.lock(client, "named", owner="next", wait=60):
            timer()
        # After a release, a loss and a transfer.
        for end in (lambda hold: hold.release(), lambda hold: self.ask("BREAK", "again"),
                    lambda hold: hold.transfer("again") and self.ask("UNLOCK", "again", "again")):
            hold = fairlock.lock(client, "again", lease=0.3, renew=False).acquire()
            end(hold)
            support.wait_until(lambda: hold._state.is_over or hold._state.lost)
            fairlock.lock(client, "again", wait=60).acquire().release()

    def test_tasks(self):
        async def run():
            client = redis.asyncio.Redis(host="127.0.0.1", port=self.server.port)
            async with fairlock.aio.lock(client, "k"):
                with self.assertRaisesRegex(fairlock.Deadlock, "held by this task already"):
                    await fairlock.aio.lock(client, "k", wait=60).acquire()
                waiting = asyncio.ensure_future(fairlock.aio.lock(client, "k").acquire())
                await asyncio.sleep(0.1)
            await (await waiting).release()
            async with fairlock.aio.lock(client, "k"):
                pass

        asyncio.run(run())


class Ends(support.Case):

    def test_a_second_release_says_that_nothing_was_held(self):
        hold = fairlock.lock(self.client(), "k").acquire()
        self.assertEqual([hold.release() for _ in range(3)], [True, False, False])
        with hold:
            pass

        async def run():
            client = redis.asyncio.Redis(host="127.0.0.1", port=self.server.port)
            hold = await fairlock.aio.lock(client, "k").acquire()
            self.assertEqual([await hold.release() for _ in range(3)], [True, False, False])

        asyncio.run(run())

    def test_a_hold_that_is_dropped_ends_with_its_lease(self):
        client = self.client()
        with fairlock.Channel(client) as channel:
            for options in ({}, {"channel": channel}, {"on_lost": print}):
                with self.assertLogs("fairlock", "WARNING") as logs:
                    fairlock.lock(client, "k", lease=3, **options).acquire()
                    gc.collect()
                self.assertRegex(logs.output[0], "'k',.* was dropped")
                self.assertEqual(self.ask("LOCKED", "k"), 1)
                support.wait_until(lambda: self.ask("LOCKED", "k") == 0)

        async def run():
            client = redis.asyncio.Redis(host="127.0.0.1", port=self.server.port)
            with self.assertLogs("fairlock", "WARNING"):
                await fairlock.aio.lock(client, "k", lease=0.6).acquire()
                gc.collect()
            await asyncio.to_thread(support.wait_until, lambda: self.ask("LOCKED", "k") == 0)

        asyncio.run(run())

    def test_a_hold_that_is_kept_is_renewed(self):
        lost = []
        hold = fairlock.lock(self.client(), "k", lease=3, on_lost=lost.append).acquire()
        gc.collect()
        time.sleep(7)
        hold.check()
        self.assertEqual((lost, hold.release()), ([], True))

    run_child = failure_test.Processes.run_child

    def test_sigterm_as_the_readme_says(self):
        """What is held is released, and a wait leaves nothing."""
        self.ask("LOCK", "waited for", "other")
        (example,) = [text for text in readme_test.blocks() if "signal" in text]
        child = self.run_child(example + """
with fairlock.lock(client, "held", lease=60):
    fairlock.lock(client, "waited for", keep=60).acquire()
""")
        support.wait_until(lambda: self.waiters("waited for"))
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(20), 143)
        self.assertEqual((self.ask("LOCKED", "held"), self.waiters("waited for")), (0, []))


if __name__ == "__main__":
    unittest.main()
