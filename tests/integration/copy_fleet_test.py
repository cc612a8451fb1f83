"""`fairlockctl cluster copy`: a fleet of two partitions becomes one of three, with all locks."""

import binascii
import re
import subprocess
import time
import unittest

import own_fleet
import own_server
import resp
from fairlockctl import DONE, WRONG_USE, Fairlockctl

OLD, NEW = 2, 3
HOLDS = 3_000
QUEUES = 200
MLOCKS = 300
SLOTS = 16_384
LEASE_MS = 3_600_000
KEEP_MS = 3_000_000
HOLDER_FIELDS = (b"owner", b"token", b"meta", b"label", b"limit", b"mode", b"keys")
PLACE_FIELDS = (b"position", b"owner", b"meta", b"label", b"limit", b"mode", b"keys")
ROW_FIELDS = (b"pattern", b"db", b"limit", b"reason")


def partition_of(key, partitions):
    tag = re.search(r"\{([^}]+)\}", key)
    slot = binascii.crc_hqx((tag.group(1) if tag else key).encode(), 0) % SLOTS
    return ((slot + 1) * partitions - 1) // SLOTS


def as_map(pairs):
    return dict(zip(pairs[::2], pairs[1::2]))


class OneFleet:
    """The connections to the leaders of all partitions."""

    def __init__(self, nodes, partitions):
        self.partitions = partitions
        self.leaders = [None] * partitions
        for node in nodes:
            self.await_leader(node)

    def await_leader(self, node):
        end = time.monotonic() + own_fleet.START_SECONDS_MAX
        while True:
            try:
                connection = node.connect(20)
                status = connection.ask_map("CLUSTER", "STATUS")
                if (status[b"role"] == b"leader"
                        and not isinstance(connection.ask("DBSIZE"), resp.ErrorReply)):
                    self.leaders[status[b"partition"]] = connection
                    return
                connection.close()
            except (OSError, resp.Ended):
                pass
            if time.monotonic() > end:
                raise AssertionError(f"{node.name} does not lead: {node.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def close(self):
        for connection in self.leaders:
            connection.close()

    def ask_all(self, requests):
        """Sends (key, words) to the leader of each key, in pipelines; returns the replies in the
        order of the requests."""
        of_leaders = [[] for _ in self.leaders]
        for number, (key, words) in enumerate(requests):
            of_leaders[partition_of(key, self.partitions)].append((number, words))
        replies = [None] * len(requests)
        for connection, own in zip(self.leaders, of_leaders):
            for first in range(0, len(own), 100):
                part = own[first:first + 100]
                connection.send(b"".join(resp.request(*words) for _, words in part))
                for number, _ in part:
                    replies[number] = connection.reply()
        return replies

    def ask(self, key, *words):
        return self.ask_all([(key, words)])[0]

    def snapshot(self, keys):
        """Returns {key: (its holders, its queue, other facts)}."""
        holders = self.ask_all([(key, ("LOCKINFO", key)) for key in keys])
        queues = self.ask_all([(key, ("QUEUE", key)) for key in keys])
        found = {}
        for key, info, queue in zip(keys, holders, queues):
            info = as_map(info)
            found[key] = (
                [{field: as_map(one)[field] for field in HOLDER_FIELDS}
                 for one in info[b"holders"]],
                [{field: as_map(one)[field] for field in PLACE_FIELDS} for one in queue],
                (info[b"mode"], info[b"limit"], info[b"waiters"], info[b"override"],
                 info[b"cooling_ms"] > 0))
        return found

    def overrides(self):
        return [[{field: as_map(row)[field] for field in ROW_FIELDS}
                 for row in leader.ask("LIMIT", "LIST")] for leader in self.leaders]


class Copy(unittest.TestCase):

    def setUp(self):
        self.fleet = self.enterContext(own_fleet.Fleet(
            nodes=OLD + NEW, members=1, starts_nodes=False, options=("--max-keep", "1h")))
        self.old, self.new = self.fleet.nodes[:OLD], self.fleet.nodes[OLD:]
        for node in self.old:
            node.words += ["--cluster-name", "old"]
        for node in self.new:
            node.words += ["--cluster-name", "new"]
        self.ctl = Fairlockctl(HOME=str(self.fleet.directory))
        self.cluster("create", "--partitions", OLD, "--name", "old")
        for node in self.old:
            node.start()

    def cluster(self, *words):
        done = self.ctl.run("cluster", *map(str, words), "--etcd", self.fleet.endpoints)
        self.assertEqual(done.returncode, DONE, done.stderr)
        return done.stdout

    def copy(self):
        return self.ctl.run("cluster", "copy", "old", "--partitions", str(NEW), "--name", "new",
                            "--etcd", self.fleet.endpoints)

    def fill(self, fleet):
        """Returns all keys, and the tokens of the MLOCKs."""
        keys = [f"k{i}" for i in range(HOLDS)]
        requests = [(key, ("LOCK", key, f"owner{i}", "PX", LEASE_MS + i, "META", f"m{i}",
                           "LABEL", f"label{i % 7}")) for i, key in enumerate(keys)]
        for key in keys[:QUEUES]:
            requests += [(key, ("LOCK", key, f"waiter{i}", "PX", LEASE_MS, "KEEP", KEEP_MS))
                         for i in (3, 1, 2)]
        for i in range(100):
            key = f"semaphore{i}"
            keys.append(key)
            requests += [(key, ("LOCK", key, f"user{j}", "LIMIT", 3, "PX", LEASE_MS))
                         for j in range(3)]
            requests.append((key, ("LOCK", key, "user9", "LIMIT", 3, "PX", LEASE_MS, "KEEP",
                                   KEEP_MS)))
            key = f"shared{i}"
            keys.append(key)
            requests += [(key, ("LOCK", key, f"reader{j}", "SHARED", "PX", LEASE_MS))
                         for j in range(2)]
            key = f"cooling{i}"
            keys.append(key)
            requests += [(key, ("LOCK", key, "owner", "PX", LEASE_MS, "MINHOLD", LEASE_MS)),
                         (key, ("UNLOCK", key, "owner"))]
        for reply in fleet.ask_all(requests):
            self.assertNotIsInstance(reply, resp.ErrorReply)
        mlocks = self.lock_groups(fleet)
        for token in mlocks:
            self.assertIsInstance(token, int)
        for tag in range(0, MLOCKS, 3):
            group = self.group(tag)
            self.assertIsNone(fleet.ask(group[0], "MLOCK", 3, *group, "late", "PX", LEASE_MS,
                                        "KEEP", KEEP_MS))
        for tag in range(MLOCKS):
            keys += self.group(tag)
        for pattern, limit in (("semaphore7*", 5), ("drained:*", 0)):
            for leader in fleet.leaders:
                self.assertEqual(leader.ask("LIMIT", "SET", pattern, limit, "REASON", "test"),
                                 "OK")
        return keys, mlocks

    @staticmethod
    def group(tag):
        return [f"{{t{tag}}}{end}" for end in "abc"]

    def lock_groups(self, fleet):
        return fleet.ask_all([
            (self.group(tag)[0], ("MLOCK", 3, *self.group(tag), f"group{tag}", "PX", LEASE_MS))
            for tag in range(MLOCKS)])

    def test_a_fleet_of_two_partitions_becomes_one_of_three(self):
        old = OneFleet(self.old, OLD)
        keys, mlocks = self.fill(old)
        before = old.snapshot(keys)
        overrides = old.overrides()
        old.close()

        done = self.copy()
        self.assertNotEqual(done.returncode, DONE)
        self.assertRegex(done.stderr, "node n[01] of the fleet old runs; stop all its nodes first")

        self.assertEqual(self.old[0].terminate(), 0)
        self.old[1].kill()  # its record disappears a few seconds later
        done = self.copy()
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertIn("the fleet new has 3 partitions with the locks of old (2 partitions): ",
                      done.stdout)
        again = self.copy()
        self.assertNotEqual(again.returncode, DONE)
        self.assertIn("the fleet new exists already", again.stderr)

        for node in self.new:
            node.start()
        new = OneFleet(self.new, NEW)
        after = new.snapshot(keys)
        for key in keys:
            self.assertEqual(after[key], before[key], key)
        for own in new.overrides():
            self.assertEqual(own, overrides[0])
        used = {partition_of(key, NEW) for key in keys}
        self.assertEqual(used, set(range(NEW)))

        self.check_tokens(new, before)
        self.check_mlocks(new, mlocks)
        self.check_queues(new)
        new.close()

    def check_tokens(self, fleet, before):
        newest = max(holder[b"token"] for holders, _, _ in before.values() for holder in holders)
        for number in range(20):
            self.assertGreater(fleet.ask(f"fresh{number}", "LOCK", f"fresh{number}", "o"), newest)

    def check_mlocks(self, fleet, tokens):
        """Each is still one lock of three keys."""
        self.assertEqual(self.lock_groups(fleet), tokens)
        for tag in range(MLOCKS):
            group = self.group(tag)
            self.assertEqual(fleet.ask(group[0], "MRENEW", 3, *group, f"group{tag}", "PX",
                                       LEASE_MS), 1)
        self.assertEqual(fleet.ask("{t0}a", "MUNLOCK", 3, *self.group(0), "group0"), 3)
        self.assertGreater(fleet.ask("{t0}a", "MLOCK", 3, *self.group(0), "late", "PX", LEASE_MS),
                           max(tokens))

    def check_queues(self, fleet):
        """The waiters are served in the order of their first requests."""
        for key in ("k0", "k7", f"k{QUEUES - 1}"):
            holder = f"owner{key[1:]}"
            order = ["waiter3", "waiter1", "waiter2"]
            for waiter in list(order):
                order.remove(waiter)
                self.assertEqual(fleet.ask(key, "UNLOCK", key, holder), 1)
                for later in order:
                    self.assertIsNone(fleet.ask(key, "LOCK", key, later, "PX", LEASE_MS, "KEEP",
                                                KEEP_MS))
                self.assertIsInstance(fleet.ask(key, "LOCK", key, waiter, "PX", LEASE_MS), int)
                holder = waiter
        self.assertIsNone(fleet.ask("cooling5", "LOCK", "cooling5", "other"))
        self.assertIsNone(fleet.ask("drained:1", "LOCK", "drained:1", "other"))

    def test_wrong_use_is_explained(self):
        done = self.ctl.run("cluster", "copy", "old", "--etcd", self.fleet.endpoints)
        self.assertEqual(done.returncode, WRONG_USE)
        self.assertIn("--partitions is missing", done.stderr)
        done = self.ctl.run("cluster", "copy", "none", "--partitions", "2", "--name", "new",
                            "--etcd", self.fleet.endpoints)
        self.assertIn("the fleet none: the fleet does not exist", done.stderr)
        done = subprocess.run([own_server.PROGRAM, "--copy-from", "old"], capture_output=True,
                              text=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--copy-from needs --create-fleet N", done.stderr)


if __name__ == "__main__":
    unittest.main()
