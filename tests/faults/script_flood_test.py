"""A flood of distinct scripts, as sent by a client that writes values into the script text."""

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


if __name__ == "__main__":
    unittest.main()
