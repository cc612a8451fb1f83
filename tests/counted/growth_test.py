"""How the work of requests grows: ten times as many elements that a request concerns may take ten
times as many instructions, and not a hundred times; and a value with ten times as many elements
takes about as many for a request that concerns one of them."""

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
    """Returns requests that take this many locks."""
    return [("a", "LOCK", name, "owner", "PX", "600000", *options) for name in names(count)]


def waiting(count):
    """Requests for one key; all but the first wait, and are told by a message."""
    return [("b", "SUBSCRIBE", "news"), ("a", "LOCK", "key", "first", "PX", "600000"),
            *(("a", "LOCK", "key", name, "PX", "600000", "WAIT", "1h", "NOTIFY", "news")
              for name in names(count))]


def sharing(count):
    return [("a", "LOCK", "key", name, "PX", "600000", "SHARED") for name in names(count)]


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


def stored(count, *command):
    """Returns requests that store this many elements; `command` makes each of them from its
    number."""
    return [("a", *command[:2], *[word for number in range(begin, begin + 500)
                                  for word in command[2](number)])
            for begin in range(0, count, 500)]


def hash_of(count):
    return stored(count, "HSET", "h", lambda number: (f"{number:015}", "v"))


def set_of(count):
    return stored(count, "SADD", "s", lambda number: (f"m{number:015}",))


def sorted_set_of(count):
    return stored(count, "ZADD", "z", lambda number: (str(number), f"{number:015}"))


def list_of(count):
    return stored(count, "RPUSH", "l", lambda number: (f"{number:015}",))


# How a value of that size is made, and how a request about one of its elements is, from a number
# that is spread evenly over them.
ONE_ELEMENT = {
    "HSET": (hash_of, lambda at: ("HSET", "h", f"{at:015}", "w")),
    "HSET of a new field": (hash_of, lambda at: ("HSET", "h", f"new{at}", "w")),
    "HGET": (hash_of, lambda at: ("HGET", "h", f"{at:015}")),
    "HINCRBY": (hash_of, lambda at: ("HINCRBY", "h", "n", "1")),
    "HDEL": (hash_of, lambda at: ("HDEL", "h", f"{at:015}")),
    "HSCAN": (hash_of, lambda at: ("HSCAN", "h", str(at + 1))),
    "SADD": (set_of, lambda at: ("SADD", "s", f"new{at}")),
    "SISMEMBER": (set_of, lambda at: ("SISMEMBER", "s", f"m{at:015}")),
    "SREM": (set_of, lambda at: ("SREM", "s", f"m{at:015}")),
    "SPOP": (set_of, lambda at: ("SPOP", "s")),
    "SSCAN": (set_of, lambda at: ("SSCAN", "s", str(at + 1))),
    "ZADD": (sorted_set_of, lambda at: ("ZADD", "z", str(at), f"new{at}")),
    "ZADD of another score": (sorted_set_of, lambda at: ("ZADD", "z", "0.5", f"{at:015}")),
    "ZSCORE": (sorted_set_of, lambda at: ("ZSCORE", "z", f"{at:015}")),
    "ZRANK": (sorted_set_of, lambda at: ("ZRANK", "z", f"{at:015}")),
    "ZCOUNT": (sorted_set_of, lambda at: ("ZCOUNT", "z", "0", str(at))),
    "ZRANGE": (sorted_set_of, lambda at: ("ZRANGE", "z", str(at), str(at + 9))),
    "ZRANGEBYSCORE": (sorted_set_of,
                      lambda at: ("ZRANGEBYSCORE", "z", str(at), "+inf", "LIMIT", "0", "9")),
    "ZREM": (sorted_set_of, lambda at: ("ZREM", "z", f"{at:015}")),
    "ZPOPMIN": (sorted_set_of, lambda at: ("ZPOPMIN", "z")),
    "ZREMRANGEBYRANK": (sorted_set_of, lambda at: ("ZREMRANGEBYRANK", "z", "5", "5")),
    "ZREMRANGEBYSCORE": (sorted_set_of, lambda at: ("ZREMRANGEBYSCORE", "z", str(at), str(at))),
    "ZSCAN": (sorted_set_of, lambda at: ("ZSCAN", "z", str(at + 1))),
    "RPUSH": (list_of, lambda at: ("RPUSH", "l", "new")),
    "LPOP": (list_of, lambda at: ("LPOP", "l")),
    "LINDEX": (list_of, lambda at: ("LINDEX", "l", str(at))),
    "LRANGE": (list_of, lambda at: ("LRANGE", "l", str(at), str(at + 9))),
    "LMOVE": (list_of, lambda at: ("LMOVE", "l", "l", "LEFT", "RIGHT")),
    "DEL of such a value": (hash_of, lambda at: ("DEL", "h")),
}
SMALLER = 2_000
LARGER = 10 * SMALLER
REQUESTS = 100
# A search by rank or score passes a few more links.
ELEMENT_GROWTH_MAX = 1.8


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
                    self.assertEqual(few_errors + many_errors, 0)

    def test_one_element_of_a_large_value_takes_about_as_long(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = {(make, size): pool.submit(instructions, make(size))
                    for make in {make for make, _ in ONE_ELEMENT.values()}
                    for size in (SMALLER, LARGER)}
            counted = {(name, size): pool.submit(instructions, make(size) + [
                ("a", *request(at * size // REQUESTS)) for at in range(REQUESTS)])
                for name, (make, request) in ONE_ELEMENT.items() for size in (SMALLER, LARGER)}
            for name, (make, _) in ONE_ELEMENT.items():
                with self.subTest(name):
                    each = {}
                    for size in (SMALLER, LARGER):
                        before, _ = made[make, size].result()
                        after, errors = counted[name, size].result()
                        self.assertEqual(errors, 0)
                        each[size] = (after - before) / REQUESTS
                    print(f"{name}: {each[SMALLER]:.0f} instructions with {SMALLER} elements, "
                          f"{each[LARGER]:.0f} with {LARGER}")
                    self.assertLess(each[LARGER], ELEMENT_GROWTH_MAX * each[SMALLER])


if __name__ == "__main__":
    unittest.main(verbosity=2)
