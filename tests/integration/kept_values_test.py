"""Acknowledged small values outlive the process, and are restored unchanged."""

import random
import signal
import threading
import unittest

from kept_server import KeptServer
import resp

ROUNDS = 6
LIST_LENGTH_MAX = 900  # less than value_elements_max
WRITERS = 3


class KeptValues(unittest.TestCase):

    def start(self, *options):
        return self.enterContext(KeptServer(*options))

    def client(self, server):
        return self.enterContext(server.connect())

    def fill(self, client):
        self.assertEqual(client.ask("HSET", "hash", "b", "1", "a", "2"), 2)
        self.assertEqual(client.ask("HINCRBY", "hash", "b", 4), 5)
        self.assertEqual(client.ask("RPUSH", "list", "x", "", "y"), 3)
        self.assertEqual(client.ask("ZADD", "zset", "1.5", "m", "-inf", "n"), 2)
        self.assertEqual(client.ask("SADD", "set", "3", "1", "2"), 3)
        self.assertEqual(client.ask("SADD", "gone", "1"), 1)
        self.assertEqual(client.ask("DEL", "gone"), 1)
        self.assertEqual(client.ask("SADD", "emptied", "1"), 1)
        self.assertEqual(client.ask("SREM", "emptied", "1"), 1)
        self.assertEqual(client.ask("EXPIRE", "hash", 1000), 1)
        self.assertEqual(client.ask("PEXPIRE", "zset", 100_000), 1)
        client.ask("SELECT", 3)
        self.assertEqual(client.ask("LPUSH", "list", "other database"), 1)

    def check(self, client):
        self.assertEqual(client.ask("HGETALL", "hash"), [b"b", b"5", b"a", b"2"])
        self.assertEqual(client.ask("LRANGE", "list", 0, -1), [b"x", b"", b"y"])
        self.assertEqual(client.ask("ZRANGE", "zset", 0, -1, "WITHSCORES"),
                         [b"n", b"-inf", b"m", b"1.5"])
        self.assertEqual(client.ask("SMEMBERS", "set"), [b"1", b"2", b"3"])
        self.assertEqual(client.ask("DBSIZE"), 4)
        self.assertEqual(client.ask("TTL", "list"), -1)
        self.assertGreater(client.ask("TTL", "hash"), 900)
        client.ask("SELECT", 3)
        self.assertEqual(client.ask("LRANGE", "list", 0, -1), [b"other database"])

    def test_values_come_back(self):
        for durability in ("async", "sync"):
            for is_clean in (False, True):
                with self.subTest(durability=durability, is_clean=is_clean):
                    server = self.start("--durability", durability)
                    self.fill(self.client(server))
                    for _ in range(2):
                        if is_clean:
                            server.stop_and_start_again()
                        else:
                            server.kill_and_start_again()
                        self.check(self.client(server))
                    server.stop()
                    report = server.run("--check-data")
                    self.assertIn("values 5,", report.stdout)
                    self.assertIn("whole", report.stdout)

    # The sizes, and all elements, of these keys.
    def contents(self, client, keys):
        found = {}
        for key in keys:
            kind = client.ask("TYPE", key)
            if kind == "list":
                found[key] = client.ask("LRANGE", key, 0, -1)
            elif kind == "zset":
                found[key] = client.ask("ZRANGE", key, 0, -1, "WITHSCORES")
            elif kind == "set":
                found[key] = sorted(client.ask("SMEMBERS", key))
            else:
                self.assertEqual(kind, "none")
        return found

    def change_large_values(self, client, choice):
        for _ in range(40):
            # Many insertions at one place, so that elements beside it must be stored anew.
            client.ask("LINSERT", "list", choice.choice(["BEFORE", "AFTER"]), "pivot",
                       "i%d" % choice.randrange(10**6))
        length = client.ask("LLEN", "list")
        client.ask("LSET", "list", choice.randrange(length), "pivot")
        if length > 500:
            client.ask("LTRIM", "list", 50, -50)
            client.ask("RPUSH", "list", "pivot")
        for _ in range(5):
            numbers = [choice.randrange(400) for _ in range(30)]
            client.ask("ZADD", choice.choice(["zset", "other"]),
                       *(each for number in numbers for each in (number, "m%d" % number)))
            client.ask("SADD", "set", *("m%d" % number for number in numbers))
            name = choice.choice(["ZINTERSTORE", "ZUNIONSTORE"])
            target = choice.choice(["result", "result", "zset", "set"])
            is_in_transaction = choice.random() < 0.5
            if is_in_transaction:
                client.ask("MULTI")
            client.ask(name, target, 2, choice.choice(["zset", "none"]),
                       choice.choice(["set", "other"]), "AGGREGATE", "MAX")
            client.ask(name, target, 2, "other", target, "WEIGHTS", 1, choice.randrange(3))
            client.ask("ZADD", target, 7, "added")
            client.ask("ZPOPMAX", target, 3)
            if is_in_transaction:
                replies = client.ask("EXEC")
                self.assertEqual(len(replies), 4)
            if target == "set":
                client.ask("DEL", "set")

    def test_large_values_that_commands_replace_and_reorder_come_back(self):
        keys = ("list", "zset", "other", "set", "result")
        choice = random.Random(11)
        server = self.start()
        client = self.client(server)
        client.ask("RPUSH", "list", *("e%d" % i for i in range(200)), "pivot", "end")
        for round_number in range(10):
            self.change_large_values(client, choice)
            expected = self.contents(client, keys)
            self.assertGreater(len(expected["list"]), 100)
            if round_number % 3 == 2:
                server.stop_and_start_again()
            else:
                server.kill_and_start_again()
            client = self.client(server)
            self.assertEqual(self.contents(client, keys), expected)
        server.stop()
        report = server.run("--check-data")
        self.assertIn(f"values {len(expected)},", report.stdout)
        self.assertIn("whole", report.stdout)

    def test_the_empty_key_comes_back(self):
        for is_clean in (False, True):
            with self.subTest(is_clean=is_clean):
                server = self.start()
                client = self.client(server)
                self.assertEqual(client.ask("SET", "", "me", "PX", 100_000), "OK")
                client.ask("SELECT", 1)
                self.assertEqual(client.ask("RPUSH", "", "x"), 1)
                for _ in range(2):
                    if is_clean:
                        server.stop_and_start_again()
                    else:
                        server.kill_and_start_again()
                    client = self.client(server)
                    self.assertEqual(client.ask("GET", ""), b"me")
                    self.assertGreater(client.ask("PTTL", ""), 50_000)
                    client.ask("SELECT", 1)
                    self.assertEqual(client.ask("LRANGE", "", 0, -1), [b"x"])
                self.assertEqual(client.ask("DEL", ""), 1)
                server.stop_and_start_again()
                self.assertEqual(self.client(server).ask("DBSIZE"), 1)
                server.stop()
                self.assertIn("whole", server.run("--check-data").stdout)

    def test_without_durability_no_values_are_kept(self):
        server = self.start("--durability", "none")
        self.fill(self.client(server))
        server.kill_and_start_again()
        self.assertEqual(self.client(server).ask("DBSIZE"), 0)

    def test_a_backup_contains_the_values(self):
        server = self.start("--durability", "sync")
        client = self.client(server)
        self.fill(client)
        backup = server.directory / "backup"
        self.assertEqual(client.ask("BACKUP", backup), "OK")
        client.ask("FLUSHALL")
        server.stop()
        server.data.rename(server.directory / "old")
        restored = server.run("--restore", str(backup))
        self.assertEqual(restored.returncode, 0, restored.stderr)
        server.start_again()
        self.check(self.client(server))

    def test_a_time_to_live_never_ends_early(self):
        server = self.start("--durability", "async")
        client = self.client(server)
        client.ask("SADD", "key", "member")
        client.ask("PEXPIRE", "key", 50_000)
        client.ask("PEXPIRE", "key", 50_000)  # the same length is not written again
        server.stop_and_start_again()
        client = self.client(server)
        self.assertLess(client.ask("PTTL", "key"), 50_000)
        client.ask("PEXPIRE", "key", 50_000)
        server.kill_and_start_again()
        self.assertGreater(self.client(server).ask("PTTL", "key"), 49_000)

    def write(self, server, number, acknowledged):
        """Makes changes until the server is gone. `acknowledged` gets the state after each reply,
        and the state that the unanswered request would have made."""
        hashes, done = {}, 0
        dice = random.Random(number)
        try:
            with server.connect() as client:
                client.ask("DEL", f"hash{number}", f"list{number}")
                acknowledged[:] = [({}, 0), ({}, 0)]
                while True:
                    before = (dict(hashes), done)
                    if dice.random() < 0.7 or done == LIST_LENGTH_MAX:
                        field, value = f"f{dice.randrange(5)}", str(dice.randrange(100))
                        hashes[field.encode()] = value.encode()
                        request = ["HSET", f"hash{number}", field, value]
                    else:
                        done += 1
                        request = ["RPUSH", f"list{number}", done]
                    acknowledged[:] = [before, (dict(hashes), done)]
                    reply = client.ask(*request)
                    if isinstance(reply, resp.ErrorReply):
                        acknowledged[:] = [reply]  # nothing that is found is equal to it
                        return
                    acknowledged[:] = [(dict(hashes), done)] * 2
        except (OSError, resp.Ended):
            pass

    def test_nothing_acknowledged_is_lost_under_load(self):
        server = self.start("--durability", "async")
        for round_number in range(ROUNDS):
            states = [[({}, 0), ({}, 0)] for _ in range(WRITERS)]
            threads = [threading.Thread(target=self.write, args=(server, number, states[number]))
                       for number in range(WRITERS)]
            for thread in threads:
                thread.start()
            threads[0].join(0.3)
            if round_number % 2 == 0:
                server.kill()
            else:
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(server.process.wait(20), 0)
            for thread in threads:
                thread.join()
            server.start_again()
            client = self.client(server)
            for number, state in enumerate(states):
                flat = client.ask("HGETALL", f"hash{number}")
                found = (dict(zip(flat[::2], flat[1::2])), client.ask("LLEN", f"list{number}"))
                self.assertIn(found, state)


if __name__ == "__main__":
    unittest.main(verbosity=2)
