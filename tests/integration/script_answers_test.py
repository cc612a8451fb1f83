"""Compares scripts in Redis and fairlock: the same script gives the same bytes."""

import os
import pathlib
import random
import subprocess
import unittest

from own_redis import REDIS, Redis
import random_scripts
import resp

# One script per line; '#' begins a heading.
SCRIPTS = [line for line in pathlib.Path(__file__).with_name("script_answers.txt").read_text(
    encoding="utf-8").split("\n") if line and not line.startswith("#")]
KEYS = ("k1", "k2")
RANDOM_SCRIPTS = int(os.environ.get("RANDOM_SCRIPTS", "3000"))
ARGV = ("v", "100", "", b"\x00\xff\r\n")

# Sent after each script: shows where the reply ends.
BEHIND = resp.request("ECHO", "behind")
END = b"$6\r\nbehind\r\n"


def eval_request(script):
    return resp.request("EVAL", script, len(KEYS), *KEYS, *ARGV)


def answer_of_redis(connection, script):
    connection.send(eval_request(script) + BEHIND)
    data = b""
    while not data.endswith(END):
        piece = connection.socket.recv(65536)
        if not piece:
            return data + b"(closed)"
        data += piece
    return data.removesuffix(END)


class Console:
    """Runs scripts without a server. Used in a with statement."""

    def __enter__(self):
        self.process = subprocess.Popen([os.environ["SCRIPT_CONSOLE"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        return self

    def __exit__(self, *failure):
        self.process.communicate(timeout=20)

    def answer(self, script):
        self.process.stdin.write(eval_request(script) + BEHIND)
        self.process.stdin.flush()
        data = b""
        while not data.endswith(END):
            piece = self.process.stdout.read1(65536)
            if not piece:
                return data + b"(closed)"
            data += piece
        return data.removesuffix(END)


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class SameBytes(unittest.TestCase):

    def test_as_redis_answers(self):
        with Redis() as redis, Console() as console, redis.connect() as connection:
            for script in SCRIPTS:
                with self.subTest(script):
                    self.assertEqual(console.answer(script), answer_of_redis(connection, script))
        print(f"{len(SCRIPTS)} scripts answered as by Redis")
        self.assertGreater(len(SCRIPTS), 500)

    def test_random_scripts(self):
        chance = random.Random(1)
        errors = 0
        with Redis() as redis, Console() as console, redis.connect() as connection:
            for _ in range(RANDOM_SCRIPTS):
                script = random_scripts.script(chance)
                answer = answer_of_redis(connection, script)
                errors += answer.startswith(b"-")
                with self.subTest(script.removeprefix(random_scripts.SHOW)):
                    self.assertEqual(console.answer(script), answer)
        self.assertGreater(errors, RANDOM_SCRIPTS / 10)
        self.assertLess(errors, RANDOM_SCRIPTS / 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
