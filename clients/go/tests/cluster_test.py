"""The package's tests on a real fleet of several partitions, whose leaders they kill.

GOPATH must contain the package as `fairlock`.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE.parents[1] / "tests/integration"))

from own_cluster import PartitionedFleet  # noqa: E402

FAIL_OVER_SECONDS_MAX = 30
TESTS_SECONDS_MAX = 200
PATTERN = os.environ.get("FAIRLOCK_GO_TESTS", "^TestFleet")


class Fleet(PartitionedFleet):
    """Obeys the tests."""

    def _leader(self, key):
        return self.leaders()[self.partition_of(key)]

    def kill(self, key):
        self._leader(key).kill()

    def pause(self, key):
        self._leader(key).pause()

    def replace(self, key):
        """Lets the leader hand over to another node."""
        partition, old = self.partition_of(key), self._leader(key)
        with old.connect() as client:
            reply = client.ask("CLUSTER", "FAILOVER")
        assert reply == "OK", reply
        end = time.monotonic() + FAIL_OVER_SECONDS_MAX
        while self.leaders().get(partition) in (None, old):
            assert time.monotonic() < end, f"no node follows {old.name}"
            time.sleep(0.02)

    def whole(self):
        for node in self.nodes:
            if node.is_running:
                node.go_on()
            else:
                node.start()
        self.await_whole(FAIL_OVER_SECONDS_MAX)


class Cluster(unittest.TestCase):

    def test_the_package_on_several_partitions(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = folder / "tests"
        subprocess.run(["go", "test", "-c", "-o", program, "fairlock"], check=True, timeout=200)
        fleet = self.enterContext(Fleet(partitions=2, nodes_each=2))
        commands, end = os.pipe()
        environment = {
            **os.environ, "FAIRLOCK_TEST_COMMANDS": str(end),
            "FAIRLOCK_TEST_NODES": ",".join(f"127.0.0.1:{node.port}" for node in fleet.nodes)}
        with subprocess.Popen(
                [program, "-test.v", f"-test.timeout={TESTS_SECONDS_MAX}s", "-test.run",
                 PATTERN], cwd=PACKAGE, env=environment, stdin=subprocess.PIPE, text=True,
                pass_fds=[end]) as tests, open(commands, encoding="utf-8") as lines:
            self.addCleanup(tests.kill)
            os.close(end)
            for line in lines:
                command, *key = line.split()
                getattr(fleet, command)(*key)
                tests.stdin.write("done\n")
                tests.stdin.flush()
        self.assertEqual(tests.returncode, 0)


if __name__ == "__main__":
    unittest.main()
