"""A fleet whose leader is killed while a Ruby process holds a lock and another waits for it."""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "integration"))

from own_fleet import Fleet  # noqa: E402


class FailOver(unittest.TestCase):

    def test_sentinel_names_the_leader(self):
        with Fleet(nodes=3, members=1) as fleet:
            sentinels = ",".join(str(node.sentinel_port) for node in fleet.nodes)
            child = subprocess.Popen(
                [os.environ.get("RUBY", "/usr/bin/ruby"), str(HERE / "fleet_worker.rb")],
                env={**os.environ, "SENTINEL_PORTS": sentinels}, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            try:
                self.assertEqual(child.stdout.readline(), "readme: 1\n")
                self.assertEqual(child.stdout.readline(), "waits\n")
                leader = fleet.await_leader()
                leader.kill()
                fleet.await_leader()
                output, _ = child.communicate("go on\n", timeout=60)
                self.assertEqual(output, "held: true, rising: true, lost: 0\n")
            finally:
                child.kill()
                child.communicate()


if __name__ == "__main__":
    unittest.main()
