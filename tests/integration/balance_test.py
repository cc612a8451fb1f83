"""Leaders spread over the machines of a fleet, one hand-over at a time."""

import time
import unittest

import own_cluster
import own_fleet

PARTITIONS = 4
BALANCE_SECONDS = 10
WHY = "its machine leads too many partitions"


class UnbalancedFleet(own_cluster.PartitionedFleet):
    """The first of two machines leads all partitions, and the first node never hands over."""

    def __init__(self):
        super().__init__(partitions=PARTITIONS, nodes_each=2)
        for node in self.nodes:
            balance = "0" if node is self.nodes[0] else f"{BALANCE_SECONDS}s"
            node.words += ["--cluster-balance", balance]

    def start_nodes(self):
        for node in self.of_machine(0):
            node.start()
        end = time.monotonic() + own_fleet.START_SECONDS_MAX
        while len(self.leaders()) < PARTITIONS:
            if time.monotonic() > end:
                raise AssertionError(f"not all partitions are led: {self.logs()}")
            time.sleep(0.05)
        for node in self.of_machine(1):
            node.start()

    def of_machine(self, machine):
        return self.nodes[machine::2]

    def led_by(self, machine):
        return sum(node in self.of_machine(machine) for node in self.leaders().values())

    def hand_overs(self):
        return sum(node.log.read_text().count(WHY) for node in self.nodes)


class Balance(unittest.TestCase):

    def setUp(self):
        self.fleet = self.enterContext(UnbalancedFleet())

    def keys(self):
        """Returns {partition: a key of it}."""
        keys = {}
        for number in range(1_000):
            keys.setdefault(self.fleet.partition_of(f"key{number}"), f"key{number}")
            if len(keys) == PARTITIONS:
                return keys
        raise AssertionError("a partition has no key")

    def lock_all(self, keys):
        tokens = {}
        for partition, node in self.fleet.leaders().items():
            with node.connect() as client:
                tokens[partition] = client.ask("LOCK", keys[partition], "owner", "PX", 600_000)
        self.assertEqual(len(tokens), PARTITIONS)
        return tokens

    def watch(self, until):
        """Returns the changes of leaders until that time, as (time, leaders)."""
        changes = []
        while not until():
            leaders = self.fleet.leaders()
            # While a leader hands over, its partition alone has none.
            self.assertGreaterEqual(len(leaders), PARTITIONS - 1)
            names = {partition: node.name for partition, node in leaders.items()}
            if len(names) == PARTITIONS and (not changes or changes[-1][1] != names):
                changes.append((time.monotonic(), names))
            time.sleep(0.05)
        return changes

    def test_leaders_hand_over_until_no_machine_leads_two_more_than_another(self):
        keys = self.keys()
        tokens = self.lock_all(keys)
        self.assertEqual(self.fleet.led_by(0), PARTITIONS)
        kept = self.fleet.nodes[0].name
        end = time.monotonic() + 80
        changes = self.watch(
            lambda: self.fleet.led_by(1) == 2 or time.monotonic() > end)
        changes += [(time.monotonic(), {partition: node.name
                                        for partition, node in self.fleet.leaders().items()})]
        self.assertEqual(self.fleet.led_by(1), 2, self.fleet.logs())
        for (_, before), (_, after) in zip(changes, changes[1:]):
            self.assertLessEqual(len(set(before.items()) - set(after.items())), 1)
        moments = [at for (at, after), (_, before) in zip(changes[1:], changes) if after != before]
        self.assertEqual(len(moments), 2)
        self.assertGreater(moments[1] - moments[0], BALANCE_SECONDS - 1)
        self.assertIn(kept, changes[-1][1].values())
        end = time.monotonic() + BALANCE_SECONDS + 4
        self.assertLessEqual(len(self.watch(lambda: time.monotonic() > end)), 1)
        self.assertEqual(self.fleet.hand_overs(), 2)
        self.assertEqual(self.lock_all(keys), tokens)


if __name__ == "__main__":
    unittest.main()
