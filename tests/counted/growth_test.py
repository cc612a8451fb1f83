"""How the work of requests grows with the number of elements that they concern: ten times as many
may take ten times as many instructions, and not a hundred times."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import resp  # noqa: E402

CONSOLE = os.environ["COMMAND_CONSOLE"]
PATIENCE_SECONDS = 1000
COLLECTED = re.compile(rb"Collected : (\d+)")
FEW = 300
MANY = 10 * FEW
# Searching in a tree or sorting takes a little more than ten times as much; square growth, 100.
GROWTH_MAX = 14


def names(count, begin=0):
    return [f"{number:015}" for number in range(begin, begin + count)]


def pairs(first, second):
    return [word for pair in zip(first, second, strict=True) for word in pair]


def taken(count, *options):
    """Requests that take as many locks."""
    return [("a", "LOCK", name, "owner", "PX", "600000", *options) for name in names(count)]


def waiting(count):
    """Requests for one key; all but the first wait, and are told by a message."""
    return [("b", "SUBSCRIBE", "news"), ("a", "LOCK", "key", "first", "PX", "600000"),
            *(("a", "LOCK", "key", name, "PX", "600000", "WAIT", "1h", "NOTIFY", "news")
              for name in names(count))]


def sharing(count):
    return [("a", "LOCK", "key", name, "PX", "600000", "SHARED") for name in names(count)]


# What a value holds is bounded, so these are checked against a value of as many elements as may be.
STORED = names(1000)
CASES = {
    "HSET": lambda n: [("a", "HSET", "h", *pairs(STORED, STORED)),
                       ("a", "HSET", "h", *pairs(names(n, 500), names(n)))],
    "HMGET": lambda n: [("a", "HSET", "h", *pairs(STORED, STORED)), ("a", "HMGET", "h", *names(n))],
    "HDEL": lambda n: [("a", "HSET", "h", *pairs(STORED, STORED)), ("a", "HDEL", "h", *names(n))],
    "SADD": lambda n: [("a", "SADD", "s", *STORED), ("a", "SADD", "s", *names(n, 500))],
    "SADD of an empty set": lambda n: [("a", "SADD", "s", *names(n))],
    "SREM": lambda n: [("a", "SADD", "s", *STORED), ("a", "SREM", "s", *names(n))],
    "ZADD": lambda n: [("a", "ZADD", "z", *pairs(range(1000), STORED)),
                       ("a", "ZADD", "z", *pairs(range(n, 0, -1), names(n, 500)))],
    "ZREM": lambda n: [("a", "ZADD", "z", *pairs(range(1000), STORED)),
                       ("a", "ZREM", "z", *names(n))],
    "DEL": lambda n: [*taken(n), ("a", "DEL", *names(n))],
    "FLUSHALL": lambda n: [*taken(n), ("a", "FLUSHALL")],
    "MLOCK and MUNLOCK": lambda n: [
        words for begin in range(0, n, 50) for words in (
            ("a", "MLOCK", "50", *names(50, begin), "owner", "PX", "600000"),
            ("a", "MUNLOCK", "50", *names(50, begin), "owner"))],
    "KEYS": lambda n: [*taken(n), ("a", "KEYS", "*")],
    "leases that end": lambda n: [*taken(n), ("pass", 700_000)],
    "a session that ends": lambda n: [*[("c", "LOCK", name, "owner", "SESSION")
                                        for name in names(n)], ("close", "c")],
    "waiters, each granted in turn": lambda n: [
        *waiting(n), ("a", "UNLOCK", "key", "first"),
        *(("a", "UNLOCK", "key", name) for name in names(n))],
    "waiters that are cancelled": lambda n: [
        *waiting(n), *(("a", "CANCEL", "key", name) for name in names(n))],
    "QUEUE": lambda n: [*waiting(n), ("a", "QUEUE", "key", "COUNT", str(n))],
    "holders of a shared lock": lambda n: [
        *sharing(n), *(("a", "RENEW", "key", name, "PX", "700000") for name in names(n)),
        *(("a", "UNLOCK", "key", name) for name in names(n))],
    "BREAK of a shared lock": lambda n: [*sharing(n), ("a", "BREAK", "key")],
    "SUBSCRIBE and PUBLISH": lambda n: [
        *(("b", "SUBSCRIBE", name) for name in names(n)),
        *(("a", "PUBLISH", name, "text") for name in names(n))],
}
# A set or a hash of more than the limit is refused, after the request was looked through.
REFUSED = {"HSET", "SADD", "SADD of an empty set", "ZADD"}


def instructions(steps):
    """Returns how many instructions the steps take, start and end of the program included, and how
    many replies were errors."""
    text = b""
    for client, *words in steps:
        if client in ("pass", "close"):
            text += f"{client} {words[0]}\n".encode()
        else:
            request = resp.request(*words)
            text += f"{client} {len(request)}\n".encode() + request
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           CONSOLE], input=text, capture_output=True, timeout=PATIENCE_SECONDS,
                          check=True)
    return int(COLLECTED.search(done.stderr)[1]), int(done.stdout.split()[0])


class Growth(unittest.TestCase):

    def test_ten_times_as_much_takes_about_ten_times_as_long(self):
        at_start, _ = instructions([("a", "PING")])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            counted = {name: [pool.submit(instructions, steps_of(n)) for n in (FEW, MANY)]
                       for name, steps_of in CASES.items()}
            for name, (few, many) in counted.items():
                with self.subTest(name):
                    few, few_errors = few.result()
                    many, many_errors = many.result()
                    growth = (many - at_start) / (few - at_start)
                    print(f"{name}: {growth:.1f} times as many instructions, "
                          f"{(many - at_start) / MANY:.0f} each")
                    self.assertLess(growth, GROWTH_MAX)
                    if name not in REFUSED:
                        self.assertEqual(few_errors + many_errors, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
