"""A damaged data folder can be salvaged: its intact beginning is kept, what may be missing is
named, and nobody gets a lock that an owner may still hold."""

import random
import re
import time
import unittest

from kept_server import KeptServer

LEASE_MS = 4_000
LOCKS = 1_000
INTACT = 100  # what is damaged comes right after that many locks


class Salvage(unittest.TestCase):

    def start(self, *options):
        return self.enterContext(KeptServer("--durability", "async", *options))

    def client(self, server):
        return self.enterContext(server.connect())

    @staticmethod
    def newest_log(server):
        return max((server.data / "db").glob("*.log"))

    def damage(self, server, at, size=40):
        """Overwrites a part of the log, as a page that a power failure has left behind."""
        log = self.newest_log(server)
        content = bytearray(log.read_bytes())
        content[at:at + size] = random.Random(at).randbytes(size)
        log.write_bytes(content)

    def filled(self, *options):
        """A killed server that has granted LOCKS locks; and their tokens, and where in its log each
        one's batch ends."""
        server = self.start(*options)
        client = self.client(server)
        tokens, ends = [], []
        for i in range(LOCKS):
            tokens.append(client.ask("LOCK", f"key{i}", f"owner{i}", "PX", LEASE_MS))
            ends.append(self.newest_log(server).stat().st_size)
        server.kill()
        return server, tokens, ends

    def test_the_beginning_is_kept_and_the_rest_is_named(self):
        server, tokens, ends = self.filled()
        self.damage(server, ends[INTACT - 1] + 20)
        server.start_process()
        self.assertEqual(server.end_code(), 1)
        self.assertIn("`fairlockd --salvage` keeps the beginning", server.output())
        salvaged = server.run("--salvage")
        self.assertEqual(salvaged.returncode, 0, salvaged.stderr)
        missing = re.findall(r"^  0 'key(\d+)': the hold of 'owner(\d+)', token (\d+), is missing$",
                             salvaged.stdout, re.M)
        self.assertGreater(len(missing), 50, salvaged.stdout)
        for key, owner, token in missing:
            self.assertEqual((key, int(token)), (owner, tokens[int(key)]))
        self.assertIn("the next start grants nothing new for 4s", salvaged.stdout)
        kept = int(re.search(r"the batches up to (\d+)", salvaged.stdout)[1])
        unknown = re.search(r"the batches from (\d+) to (\d+) cannot be read", salvaged.stdout)
        self.assertEqual(int(unknown[1]), kept + 1)
        began = time.monotonic()
        server.start_again()
        client = self.client(server)
        self.assertIn("the data was salvaged, and locks may be missing", server.output())
        held = [client.ask("CHECK", f"key{i}", token) for i, token in enumerate(tokens)]
        self.assertEqual(held, sorted(held, reverse=True))  # without a gap
        self.assertEqual(held[:INTACT], [1] * INTACT)
        first = held.index(0)
        self.assertLess(first, int(missing[0][0]) + 1)
        # The owner of a missing hold may still work, so nobody else is granted it for a lease.
        explained = client.ask_map("LOCK", f"key{first}", "thief", "EXPLAIN")
        self.assertEqual(explained[b"reason"], b"starting")
        self.assertEqual(client.ask("RENEW", "key0", "owner0", "PX", 60_000), 1)
        token = client.ask("LOCK", f"key{first}", "thief", "WAIT", "60s")
        self.assertGreater(time.monotonic() - began, LEASE_MS / 1000 - 0.1)
        self.assertGreater(token, max(tokens))
        # That was the only delay, and the folder is whole.
        server.kill_and_start_again()
        client = self.client(server)
        self.assertGreater(client.ask("LOCK", "another", "owner"), token)
        self.assertEqual(client.ask("CHECK", f"key{first}", token), 1)
        self.assertEqual(server.stop(), 0)
        self.assertIn("whole", server.run("--check-data").stdout)
        again = server.run("--salvage")
        self.assertEqual(again.returncode, 1)
        self.assertIn("is not damaged", again.stderr)
        self.assertEqual(len(list(server.data.glob("db.damaged-*"))), 1)

    def test_an_interrupted_delay_begins_again(self):
        server, _, ends = self.filled()
        self.damage(server, ends[INTACT] + 20)
        self.assertEqual(server.run("--salvage").returncode, 0)
        server.start_again()
        time.sleep(LEASE_MS / 2000)
        server.kill()
        began = time.monotonic()
        server.start_again()
        self.assertGreater(self.client(server).ask("LOCK", "new", "owner", "WAIT", "60s"), 0)
        self.assertGreater(time.monotonic() - began, LEASE_MS / 1000 - 0.1)

    def test_a_running_server_is_left_alone(self):
        server = self.start()
        refused = server.run("--salvage")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is in use by another process", refused.stderr)

    def test_what_a_release_freed_is_said_to_be_held_again(self):
        server = self.start()
        client = self.client(server)
        client.ask("LOCK", "key", "worker", "PX", LEASE_MS, "META", "m" * 4000)
        end = self.newest_log(server).stat().st_size
        client.ask("LOCK", "lost", "worker", "META", "m" * 4000)
        for i in range(20):
            client.ask("LOCK", f"filler{i}", "worker", "PX", LEASE_MS, "META", "m" * 4000)
        client.ask("UNLOCK", "key", "worker")
        server.kill()
        self.damage(server, end + 100)
        salvaged = server.run("--salvage").stdout
        self.assertRegex(salvaged, r"  0 'key': the hold of 'worker', token \d+, had ended, and is "
                                   r"there again")
        server.start_again()
        self.assertEqual(self.client(server).ask("LOCKED", "key"), 1)

    def test_any_damage_is_salvaged_or_refused(self):
        """At random places, of any size. What is kept is a beginning, and never mixed up."""
        server, tokens, _ = self.filled()
        log = self.newest_log(server)
        whole = log.read_bytes()
        database = {path.name: path.read_bytes() for path in log.parent.iterdir()
                    if path.is_file()}
        identity = (server.data / "fairlock.id").read_bytes()
        random_source = random.Random(7)
        outcomes = {"salvaged": 0, "refused": 0}
        for attempt in range(25):
            for path in server.data.glob("db*"):
                for file in path.iterdir():
                    file.unlink()
            log.parent.mkdir(exist_ok=True)
            for name, content in database.items():
                (log.parent / name).write_bytes(content)
            (server.data / "fairlock.id").write_bytes(identity)
            self.damage(server, random_source.randrange(len(whole)),
                        random_source.choice([1, 8, 400, 5_000, 40_000]))
            with self.subTest(attempt=attempt):
                salvaged = server.run("--salvage")
                if salvaged.returncode != 0:
                    self.assertRegex(salvaged.stderr, "nothing was salvaged: .+")
                    outcomes["refused"] += 1
                    continue
                outcomes["salvaged"] += 1
                server.start_again()
                client = self.client(server)
                held = [client.ask("CHECK", f"key{i}", token)
                        for i, token in enumerate(tokens)]
                self.assertEqual(held, sorted(held, reverse=True))
                server.kill()
        self.assertGreater(outcomes["salvaged"], 10, outcomes)


if __name__ == "__main__":
    unittest.main()
