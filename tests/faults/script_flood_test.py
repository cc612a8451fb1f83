"""Floods of scripts: of distinct ones, as sent by a client that writes values into the script text,
and of long ones."""

import contextlib
import pathlib
import sys
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import own_server  # noqa: E402
import resp  # noqa: E402
from longest_ping import LongestPing  # noqa: E402
from own_server import Server  # noqa: E402

CACHE = 1000
CONNECTIONS = 4
SCRIPTS_PER_CONNECTION = 5000
BATCH = 100
LONG_SCRIPTS = 300
LONG_BYTES = 60_000
GROWTH_BYTES_MAX = 64 << 20


class Flood(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server("--script-cache", str(CACHE)))
        self.client = self.enterContext(self.server.connect())

    def cached(self):
        info = self.client.ask("INFO", "memory").decode().splitlines()
        return int(next(line.split(":")[1] for line in info
                        if line.startswith("number_of_cached_scripts:")))

    def flood(self, number, used, failures):
        """Each script returns its own number; `used` is called repeatedly, so that it stays
        cached."""
        with self.server.connect() as client:
            for begin in range(0, SCRIPTS_PER_CONNECTION, BATCH):
                texts = [f"redis.call('LOCK', KEYS[1], 'o', 'EX', 60) "
                         f"return {number} * 1000000 + {i}"
                         for i in range(begin, begin + BATCH)]
                client.send(b"".join(resp.request("EVAL", text, 1, f"k:{number}")
                                     for text in texts) + resp.request("EVALSHA", used, 0))
                replies = [client.reply() for _ in range(BATCH + 1)]
                if replies != [*range(number * 1_000_000 + begin,
                                      number * 1_000_000 + begin + BATCH), b"always"]:
                    failures.append(replies)

    def test_distinct_scripts(self):
        used = self.client.ask("SCRIPT", "LOAD", "return 'always'")
        failures = []
        self.flood(CONNECTIONS, used, failures)
        memory = self.server.resident_bytes()
        floods = [threading.Thread(target=self.flood, args=(number, used, failures))
                  for number in range(CONNECTIONS)]
        with LongestPing(self.server) as others:
            for flood in floods:
                flood.start()
            while any(flood.is_alive() for flood in floods):
                self.assertLessEqual(self.cached(), CACHE)
            for flood in floods:
                flood.join()
        self.assertEqual(failures, [])
        growth = self.server.resident_bytes() - memory
        print(f"{CONNECTIONS * SCRIPTS_PER_CONNECTION} distinct scripts: {self.cached()} are kept; "
              f"memory grew by {growth / (1 << 20):.1f} MB; longest PING of another connection "
              f"{others.milliseconds:.1f} ms", flush=True)
        if own_server.IS_MEASURED:
            self.assertLess(growth, GROWTH_BYTES_MAX)

    def test_long_distinct_scripts(self):
        """4 MiB of script text are cached, however few scripts that is."""
        filler = "-- " + "x" * LONG_BYTES
        memory = self.server.resident_bytes()
        with LongestPing(self.server) as others:
            names = [self.client.ask("SCRIPT", "LOAD", f"return {number} {filler}")
                     for number in range(LONG_SCRIPTS)]
        exist = self.client.ask("SCRIPT", "EXISTS", *names)
        kept = sum(exist)
        self.assertEqual(exist, [0] * (LONG_SCRIPTS - kept) + [1] * kept)
        self.assertLessEqual(kept * LONG_BYTES, 4 << 20)
        self.assertGreater(kept * LONG_BYTES, 3 << 20)
        self.assertEqual(self.client.ask("EVALSHA", names[-1], 0), LONG_SCRIPTS - 1)
        self.assertRegex(self.client.ask("EVALSHA", names[0], 0), "^NOSCRIPT ")
        growth = self.server.resident_bytes() - memory
        print(f"{LONG_SCRIPTS} scripts of {LONG_BYTES} bytes: {kept} are kept; memory grew by "
              f"{growth / (1 << 20):.1f} MB; longest PING of another connection "
              f"{others.milliseconds:.1f} ms", flush=True)
        if own_server.IS_MEASURED:
            self.assertLess(growth, GROWTH_BYTES_MAX)


LONG_SCRIPT = "local s = ('x'):rep(1e6) while true do redis.sha1hex(s) end"
SHORT_SCRIPT = "return redis.call('LOCK', KEYS[1], 'o', 'EX', 60)"
STATISTICS = ("INFO", "commandstats")
ATTACKERS = 50
GONE = 1_500
ASKED = 10


class LongScripts(unittest.TestCase):
    """Many clients run scripts that use all of script_time. What others wait for is counted in
    scripts, so that it does not depend on the processor."""

    def setUp(self):
        self.server = self.enterContext(Server("--script-time", "100ms"))
        self.asking = self.enterContext(self.server.connect())

    @staticmethod
    def stopped(statistics):
        """Returns the number of scripts that have been stopped, from the reply to STATISTICS."""
        lines = statistics.decode().splitlines()
        line = next(line for line in lines if line.startswith("cmdstat_eval:"))
        return int(line.split("failed_calls=")[1])

    def scripts(self):
        return self.stopped(self.asking.ask(*STATISTICS))

    @contextlib.contextmanager
    def attack(self, pipelined, connects_again=False):
        is_over = threading.Event()

        def run():
            client = self.server.connect()
            while not is_over.is_set():
                client.send(resp.request("EVAL", LONG_SCRIPT, 0) * pipelined)
                for _ in range(pipelined):
                    client.reply()
                if connects_again:
                    client.close()
                    client = self.server.connect()
            client.close()

        resp.Connection.TIMEOUT_SECONDS = 120
        threads = [threading.Thread(target=run) for _ in range(ATTACKERS)]
        for thread in threads:
            thread.start()
        try:
            self.asking.ask("EVAL", "return redis.error_reply('first')", 0)
            # From then on, each of them has run a script.
            all_have_run = self.scripts() + ATTACKERS
            while self.scripts() < all_have_run:
                pass
            yield
        finally:
            is_over.set()
            for thread in threads:
                thread.join()

    def most_scripts_during(self, expected, *words):
        """Returns how many scripts of others ran while one request was answered, at most. The
        server counts before and after it, so that this does not depend on this process."""
        count = resp.request(*STATISTICS)
        most = 0
        for _ in range(ASKED):
            self.asking.send(count + resp.request(*words) + count)
            before, reply, after = (self.asking.reply() for _ in range(3))
            self.assertEqual(reply, expected)
            most = max(most, self.stopped(after) - self.stopped(before))
        return most

    def test_others_wait_for_one_script(self):
        self.asking.ask("LOCK", "mine", "o", "PX", 60_000)
        token = self.asking.ask("LOCK", "short", "o", "EX", 60)
        for pipelined, connects_again in ((1, False), (3, False), (1, True)):
            with self.subTest(pipelined=pipelined, connects_again=connects_again):
                with self.attack(pipelined, connects_again):
                    # A request waits for the script that runs, and so does the one that counts.
                    renewal = self.most_scripts_during(1, "RENEW", "mine", "o", "PX", 60_000)
                    self.assertLessEqual(renewal, 3)
                    if not connects_again:
                        # In addition, a script waits for its own turn.
                        short = self.most_scripts_during(token, "EVAL", SHORT_SCRIPT, 1, "short")
                        self.assertLessEqual(short, 5)

    def test_clients_that_are_gone_do_not_come_before_others(self):
        """The scripts of the flood still run, one in each turn, but others are read in each turn,
        too."""
        for _ in range(GONE):
            client = self.server.connect()
            client.send(resp.request("EVAL", LONG_SCRIPT, 0))
            client.reset()
        least = ASKED
        for _ in range(ASKED):
            before = self.scripts()
            self.assertEqual(self.asking.ask("PING"), "PONG")
            least = min(least, self.scripts() - before)
        self.assertLessEqual(least, 3)

    def test_scripts_of_one_transaction_share_the_time(self):
        for text in (LONG_SCRIPT, "-- " + "x" * 60_000 + "\n" + LONG_SCRIPT):
            self.asking.ask("MULTI")
            for i in range(200):
                self.asking.ask("EVAL", f"{text} -- {i}", 0)
            replies = self.asking.ask("EXEC")
            self.assertRegex(replies[0], "the script was stopped after 100 ms")
            # The first has used up the time, but for what it took to compile the next.
            for reply in replies[2:]:
                self.assertRegex(reply, "the scripts of this transaction have used up script_time")
        self.assertEqual(self.asking.ask("EVAL", "return 1", 0), 1)


if __name__ == "__main__":
    unittest.main()
