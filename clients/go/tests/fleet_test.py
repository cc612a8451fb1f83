"""A fleet whose leader is killed while a program in Go holds a lock and waits for it."""

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
from own_fleet import Fleet  # noqa: E402

SENTINELS = '"lock1:3249", "lock2:3249", "lock3:3249"'


class FailOver(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.fleet = self.enterContext(Fleet(nodes=3, members=1))
        self.sentinels = [f"127.0.0.1:{node.sentinel_port}" for node in self.fleet.nodes]

    def ask(self, *command):
        with self.fleet.await_leader().connect() as client:
            return client.ask(*command)

    def await_waiter(self):
        give_up = time.monotonic() + 30
        while self.ask("POSITION", "k", "waiter") != 1:
            self.assertLess(time.monotonic(), give_up, "nobody waits")
            time.sleep(0.02)

    def test_a_fail_over_while_holding_and_waiting(self):
        program = self.folder / "worker"
        own_go.build("./tests/fleet_worker", program)
        environment = {**os.environ, "SENTINELS": ",".join(self.sentinels)}
        with subprocess.Popen([program], env=environment, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as worker:
            self.addCleanup(worker.kill)
            self.assertEqual(worker.stdout.readline(), "held\n")
            self.await_waiter()
            leader = self.fleet.await_leader()
            leader.kill()
            self.await_waiter()
            leader.start()
            output, _ = worker.communicate("go on\n", timeout=60)
        self.assertEqual(output, "renewed\ngranted\n")

    def test_the_example_of_the_readme(self):
        output = readme_example.output(self.folder, SENTINELS, self.sentinels)
        self.assertEqual(output, "deployed\n<nil>\n")


if __name__ == "__main__":
    unittest.main()
