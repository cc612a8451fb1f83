"""A short form of `run.py --fleet`: kills a leader under a load of small values, and hands over."""

import unittest

import value_load
from value_fleet import FleetOfNodes


class ValueFleet(unittest.TestCase):

    def test_the_next_leader_has_everything_that_was_acknowledged(self):
        with FleetOfNodes(nodes=2) as place:
            load = value_load.Load(place, 1)
            load.run_segment(["SIGKILL", "SIGTERM"], 0.3)
        self.assertEqual(load.findings, [], "\n".join(map(str, load.findings[:5])))
        self.assertGreater(load.counts["commands of owners"], 100)


if __name__ == "__main__":
    unittest.main()
