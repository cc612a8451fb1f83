"""A fleet whose leader is killed while a program in Java, which follows Sentinel, holds a lock and
waits for it. Exits with 77 if deploy/build-java-client.sh has not built clients/java."""

import pathlib
import shutil
import sys
import tempfile
import time
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
TESTS = FOLDER.parents[1] / "tests"
sys.path[:0] = [str(TESTS / "integration"), str(TESTS / "clients/conformance")]

import languages  # noqa: E402
from driver import Driver  # noqa: E402
from own_fleet import Fleet  # noqa: E402

SECONDS_MAX = 120


class FailOver:
    """The test, for each library under the client."""

    words = ()

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.fleet = self.enterContext(Fleet(nodes=3, members=1))
        sentinels = ",".join(f"127.0.0.1:{node.sentinel_port}" for node in self.fleet.nodes)
        program = str(FOLDER / "target/program")
        java = languages.make("java", ("/bin/sh", program, "Driver", *self.words))
        self.driver = Driver(java, {"FAIRLOCK_SENTINELS": sentinels}, self.folder / "log")
        self.addCleanup(self.driver.close)

    def ask(self, do, **fields):
        return self.driver.reply(self.driver.start(do, **fields), SECONDS_MAX)

    def await_waiter(self):
        give_up = time.monotonic() + SECONDS_MAX
        while True:
            with self.fleet.await_leader().connect() as client:
                if client.ask("POSITION", "k", "waiter") == 1:
                    return
            self.assertLess(time.monotonic(), give_up, "nobody waits")
            time.sleep(0.02)

    def await_renewal(self, hold):
        """The program's own renewal is sent once, and its connection may lead nowhere by now."""
        give_up = time.monotonic() + SECONDS_MAX
        while True:
            reply = self.ask("renew", hold=hold)
            if reply.get("ok"):
                return
            self.assertEqual(reply["error"], "Failed", reply)
            self.assertLess(time.monotonic(), give_up, reply)
            time.sleep(0.1)

    def test_a_fail_over_while_holding_and_waiting(self):
        held = self.ask("acquire", hold="h", keys=["k"], lease=60)
        self.assertIn("token", held)
        waits = self.driver.start("acquire", hold="w", keys=["k"], owner="waiter", keep=60)
        self.await_waiter()
        leader = self.fleet.await_leader()
        leader.kill()
        self.await_waiter()
        self.await_renewal("h")
        self.assertEqual(self.ask("release", hold="h").get("ok"), True)
        granted = self.driver.reply(waits, SECONDS_MAX)
        self.assertGreater(granted["token"], held["token"])
        self.assertEqual(self.ask("release", hold="w").get("ok"), True)
        leader.start()


class OnLettuce(FailOver, unittest.TestCase):
    pass


class OnJedis(FailOver, unittest.TestCase):

    words = ("jedis",)


if __name__ == "__main__":
    if shutil.which("java") is None or not (FOLDER / "target/complete").exists():
        print("skipped: deploy/build-java-client.sh has not built clients/java")
        sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")
