"""The package's tests on a real fleet of several partitions, whose leaders they kill."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE.parents[1] / "tests/integration"))

import own_go  # noqa: E402
import readme_example  # noqa: E402
from own_cluster import PartitionedFleet  # noqa: E402

FAIL_OVER_SECONDS_MAX = 30
TESTS_SECONDS_MAX = 300
ADDRESSES = '"lock1:3247", "lock2:3247", "lock3:3247"'


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

    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(Fleet(partitions=2, nodes_each=2))
        cls.nodes = [f"127.0.0.1:{node.port}" for node in cls.fleet.nodes]

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_the_example_of_the_readme(self):
        output = readme_example.output(self.folder, ADDRESSES, self.nodes)
        self.assertEqual(output, "deployed\n<nil>\n")

    def test_the_package_on_several_partitions(self):
        program = self.folder / "tests"
        own_go.run("test", "-c", "-o", program, ".").check_returncode()
        commands, end = os.pipe()
        environment = {
            **os.environ, "FAIRLOCK_TEST_COMMANDS": str(end),
            "FAIRLOCK_TEST_NODES": ",".join(self.nodes)}
        with subprocess.Popen(
                [program, "-test.v", f"-test.timeout={TESTS_SECONDS_MAX}s", "-test.run",
                 "^TestFleet"], cwd=PACKAGE, env=environment, stdin=subprocess.PIPE, text=True,
                pass_fds=[end]) as tests, open(commands, encoding="utf-8") as lines:
            self.addCleanup(tests.kill)
            os.close(end)
            for line in lines:
                command, *key = line.split()
                getattr(self.fleet, command)(*key)
                tests.stdin.write("done\n")
                tests.stdin.flush()
        self.assertEqual(tests.returncode, 0, self.fleet.logs())


if __name__ == "__main__":
    unittest.main()
