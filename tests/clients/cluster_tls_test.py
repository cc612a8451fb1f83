"""Our client libraries with a fleet of three partitions which they reach only by TLS, as a user
with a password."""

import pathlib
import sys
import time
import unittest
import urllib.parse

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "integration"), str(FOLDER / "conformance")]

# pylint: disable=wrong-import-position
import languages
from driver import Driver
from own_tls_cluster import APP, TlsFleet

PARTITIONS = 3
SECONDS_MAX = 20
# redis-py 4.3 with asyncio has no TLS in its cluster mode.
LIBRARIES = {name: one for name, one in languages.existing().items() if name != "asyncio"}


class Clients(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(
            TlsFleet(PARTITIONS, host="localhost", options=["--tls-auth-clients", "no"]))
        cls.keys = {}
        number = 0
        while len(cls.keys) < PARTITIONS:
            key = f"{{order:{number}}}"
            cls.keys.setdefault(cls.fleet.partition_of(key), key)
            number += 1
        environment = {
            "FAIRLOCK_URL": f"rediss://app:{urllib.parse.quote(APP)}@localhost:1",
            "FAIRLOCK_CLUSTER": ",".join(cls.fleet.addresses()),
            "FAIRLOCK_CA": cls.fleet.authority,
        }
        cls.drivers = {}
        for name, language in LIBRARIES.items():
            driver = Driver(language, environment, cls.fleet.directory / f"{name}.err")
            cls.addClassCleanup(driver.close)
            cls.drivers[name] = driver
        # A cluster client of node-redis that a leader leaves while it connects never does so.
        first = {driver: driver.start("acquire", hold="first", keys=[cls.keys[0] + name], lease=10)
                 for name, driver in cls.drivers.items()}
        for driver, number in first.items():
            if "token" not in (driver.reply(number, SECONDS_MAX) or {}):
                raise AssertionError(f"{driver.language}: {driver.errors()}")

    def ask(self, driver, do, **fields):
        reply = driver.reply(driver.start(do, **fields), SECONDS_MAX)
        self.assertIsNotNone(reply, f"{driver.language}: {do}, {fields}: {driver.errors()}")
        self.assertNotIn("error", reply, f"{driver.language}: {do}, {fields}")
        return reply

    def acquire_all(self, driver, hold, **options):
        return [driver.start("acquire", hold=f"{hold}{partition}", keys=[f"{key}{hold}"], **options)
                for partition, key in self.keys.items()]

    def granted(self, driver, numbers, seconds=SECONDS_MAX):
        for number in numbers:
            reply = driver.reply(number, seconds)
            self.assertIn("token", reply or {}, f"{driver.language}: {reply}, {driver.errors()}")

    def release_all(self, driver, hold):
        for partition in self.keys:
            self.ask(driver, "release", hold=f"{hold}{partition}")

    def test_every_library_locks_and_waits_in_all_partitions(self):
        for name, driver in self.drivers.items():
            with self.subTest(name):
                holder, hold = self.drivers["python"], f"h-{name}-"
                # Both use the same keys, but name their holds differently.
                self.granted(holder, self.acquire_all(holder, hold, lease=10))
                waits = [] if driver is holder else self.acquire_all(
                    driver, hold, lease=10, wait=15, channel=LIBRARIES[name].has_channels,
                    owner=f"waits-{name}")
                time.sleep(0.2)
                self.release_all(holder, hold)
                self.granted(driver, waits)
                if waits:
                    self.release_all(driver, hold)

    def test_a_fail_over_while_holding_and_waiting(self):
        holder = self.drivers["python"]
        self.granted(holder, self.acquire_all(holder, "killed", lease=10))
        waits = {name: self.acquire_all(driver, "killed", lease=10, wait=SECONDS_MAX,
                                        channel=LIBRARIES[name].has_channels, owner=name)
                 for name, driver in self.drivers.items() if name != "python"}
        time.sleep(0.5)
        self.fleet.leaders()[0].kill()
        end = time.monotonic() + SECONDS_MAX
        while 0 not in self.fleet.leaders():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        for partition in self.keys:
            self.assertTrue(self.ask(holder, "check", hold=f"killed{partition}")["ok"])
        self.release_all(holder, "killed")
        # Each waiter releases what it is granted, in whichever order they are served.
        pending = {(name, partition): number for name, numbers in waits.items()
                   for partition, number in zip(self.keys, numbers)}
        end = time.monotonic() + SECONDS_MAX
        while pending and time.monotonic() < end:
            for (name, partition), number in list(pending.items()):
                reply = self.drivers[name].reply(number, 0.01)
                if reply is not None:
                    self.assertIn("token", reply, name)
                    self.ask(self.drivers[name], "release", hold=f"killed{partition}")
                    del pending[(name, partition)]
        self.assertFalse(pending)


if __name__ == "__main__":
    unittest.main(verbosity=2)
