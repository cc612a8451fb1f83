"""Locks by hand: real redis-cli processes wait in a queue."""

import random
import signal
import time
import unittest

from own_server import Server
from redis_cli import RedisCli
from terminal import Terminal

WORKERS = 100
KILLED_BEFORE = 10
KILLED_DURING = 10


class ByHand(unittest.TestCase):

    def test_the_second_worker_gets_the_lock_the_moment_the_first_releases_it(self):
        with Server() as server, server.connect() as own:
            cli = RedisCli(server)
            first = int(cli.run("LOCK", "order:42", "worker-1", "PX", "30000"))
            waiting = cli.start("LOCK", "order:42", "worker-2", "PX", "30000", "WAIT", "60000")
            while own.ask("POSITION", "order:42", "worker-2") != 1:
                time.sleep(0.01)
            self.assertIsNone(waiting.poll())
            self.assertEqual(own.ask("UNLOCK", "order:42", "worker-1"), 1)
            second = int(waiting.stdout.readline())
            self.assertEqual(waiting.wait(20), 0)
            waiting.stdout.close()
            self.assertGreater(second, first)
            self.assertEqual(cli.run("CHECK", "order:42", str(second)), "1")
            self.assertEqual(cli.run("CHECK", "order:42", str(first)), "0")

    def test_what_it_prints(self):
        with Server() as server:
            cli = RedisCli(server)
            self.assertRegex(cli.run("--no-raw", "LOCK", "k", "a"), r"^\(integer\) \d+$")
            self.assertEqual(cli.run("--no-raw", "LOCK", "k", "b"), "(nil)")
            self.assertEqual(cli.run("LOCK", "k", "b", "WAIT", "100"), "")
            self.assertEqual(cli.run("--no-raw", "LOCK", "k", "", "PX", "1"),
                             "(error) ERR owner must have 1 to 8192 bytes, got 0")
            self.assertEqual(cli.run("-3", "LOCK", "k", "b"), "")
            self.assertIn("# Server", cli.run("INFO"))
            self.assertEqual(cli.run("-n", "3", "LOCKED", "k"), "0")
            self.assertRegex(cli.run("-3", "--no-raw", "LOCK", "k", "b", "EXPLAIN"),
                             r'1# "status" => "denied"\n2# "reason" => "held"')

    def test_a_wait_at_the_prompt(self):
        with Server() as server, server.connect() as own:
            own.ask("LOCK", "k", "holder")
            words = RedisCli(server).words
            with Terminal(*words, environment={"HOME": str(server.directory)}) as terminal:
                terminal.wait_for(f":{server.port}> ")
                terminal.type("LOCK k me WAIT 20s\r")
                while own.ask("POSITION", "k", "me") != 1:
                    time.sleep(0.01)
                own.ask("UNLOCK", "k", "holder")
                terminal.wait_for("(integer) ")
            self.assertEqual(own.ask("LOCKED", "k", "me"), 1)

    def test_the_unix_socket(self):
        with Server() as server:
            cli = RedisCli(server)
            cli.words = ["redis-cli", "-s", str(server.unix_socket)]
            token = cli.run("LOCK", "k", "a")
            self.assertGreater(int(token), 0)
            self.assertEqual(cli.run("CHECK", "k", token), "1")


class Line(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())
        self.cli = RedisCli(self.server)
        self.processes = {}

    def tearDown(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
            process.stdout.close()

    def start_all(self):
        """Each takes the lock, and releases it as soon as it is granted."""
        for number in range(WORKERS):
            owner = f"worker-{number}"
            self.processes[owner] = self.cli.start(
                typed=f"LOCK key {owner} WAIT 60000 PX 2000\nUNLOCK key {owner}\n")

    def line(self):
        """Returns the owners that wait, in the order in which the server saw them."""
        places = self.own.ask("QUEUE", "key", "COUNT", 1000)
        places = [dict(zip(place[::2], place[1::2])) for place in places]
        return [place[b"owner"].decode() for place in places if place[b"state"] == b"waiting"]

    def wait_for_line_of(self, length):
        give_up = time.monotonic() + 30
        while len(self.line()) != length:
            self.assertLess(time.monotonic(), give_up, f"{len(self.line())} are in line")
            time.sleep(0.01)
        return self.line()

    def kill(self, owners):
        for owner in owners:
            self.processes[owner].send_signal(signal.SIGKILL)

    def collect(self):
        """Returns the tokens of the grants, by owner."""
        tokens = {}
        for owner, process in self.processes.items():
            printed = process.communicate(timeout=30)[0].split()
            if process.returncode == 0:
                self.assertEqual(printed[1:], ["1"], f"{owner} printed {printed}")
            if printed:
                tokens[owner] = int(printed[0])
        return tokens

    def test_a_hundred_are_granted_in_the_order_of_arrival_and_the_dead_are_passed_over(self):
        chance = random.Random(4711)
        self.assertGreater(self.own.ask("LOCK", "key", "holder", "EX", 600), 0)
        self.start_all()
        line = self.wait_for_line_of(WORKERS)
        dead = set(chance.sample(line, KILLED_BEFORE))
        self.kill(dead)
        line = self.wait_for_line_of(WORKERS - KILLED_BEFORE)
        # The clients that are killed next are still waiting when the queue begins to move, and most
        # of them are still waiting when they die.
        dying = set(chance.sample(line[30:], KILLED_DURING))
        self.assertEqual(self.own.ask("UNLOCK", "key", "holder"), 1)
        self.kill(dying)

        tokens = self.collect()
        self.assertEqual(set(tokens) & dead, set())
        self.assertEqual(set(line) - dying - set(tokens), set(), "some were never granted")
        granted = sorted(tokens, key=tokens.get)
        self.assertEqual(granted, [owner for owner in line if owner in tokens])
        self.assertEqual(self.line(), [])
        info = self.own.ask_map("LOCKINFO", "key")
        self.assertEqual(info[b"holders"], [])
        self.assertLessEqual(info[b"granted_after_wait"], WORKERS - KILLED_BEFORE)
        print(f"{len(tokens)} of {WORKERS} redis-cli granted in order, {len(dead)} killed before, "
              f"{len(dying - set(tokens))} while the line moved")


if __name__ == "__main__":
    unittest.main()
