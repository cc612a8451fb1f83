"""Resident bytes of locks, connections and waiters, and the order of grants under load: the same on
every machine."""

import contextlib
import pathlib
import resource
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

from own_server import PROGRAM, Server  # noqa: E402

LOAD = PROGRAM.parent / "fairlock_load"
PATIENCE_SECONDS = 1000
LOCKS = 1_000_000
BYTES_PER_LOCK_MAX = 145
CONNECTIONS = 10_000
BYTES_PER_CONNECTION_MAX = 4096
WAITERS = 15_000
BYTES_PER_WAITER_MAX = 400


def figures(lines):
    return {name: float(value) for name, value in (line.split() for line in lines)}


class Sizes(unittest.TestCase):

    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (20_000, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.server = self.enterContext(Server("--max-clients", "19000", "--log-level", "error"))

    def command(self, kind, *words):
        return [LOAD, kind, "--server", str(self.server.unix_socket), "--server-pid",
                str(self.server.process.pid), *words]

    def load(self, kind, *words):
        """Runs the load generator, which checks every reply, and returns what it counted."""
        done = subprocess.run(self.command(kind, *words), text=True, capture_output=True,
                              timeout=PATIENCE_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return figures(done.stdout.splitlines())

    @contextlib.contextmanager
    def crowd(self, *words):
        """Keeps connections open while the context is open; its value is what was counted once all
        of them were open."""
        with subprocess.Popen(self.command("crowd", *words), text=True,
                              stdout=subprocess.PIPE) as process:
            try:
                lines = []
                for line in process.stdout:
                    lines.append(line)
                    if line.startswith("ready"):
                        break
                self.assertIn("ready 1\n", lines)
                yield figures(lines)
            finally:
                process.kill()

    def test_of_a_held_lock(self):
        held = self.load("hold", "--locks", str(LOCKS), "--lease-ms", "6000000",
                         "--key-bytes", "19", "--owner-bytes", "32")
        print(held)
        self.assertLessEqual(held["resident_bytes_per_lock"], BYTES_PER_LOCK_MAX)
        with self.server.connect() as client:
            self.assertEqual(client.ask("DBSIZE"), LOCKS)

    def test_of_an_idle_connection(self):
        with self.crowd("--connections", str(CONNECTIONS)) as counted:
            print(counted)
            self.assertLessEqual(counted["resident_bytes_per_connection"],
                                 BYTES_PER_CONNECTION_MAX)

    def test_of_a_waiter(self):
        with self.server.connect() as holder:
            holder.ask("LOCK", "crowded", "holder", "EX", "3600")
            with self.crowd("--connections", str(WAITERS), "--wait-for", "crowded") as counted:
                print(counted)
                self.assertLessEqual(counted["resident_bytes_per_waiter"], BYTES_PER_WAITER_MAX)
                waiting = holder.ask_map("LOCKINFO", "crowded")[b"waiters"]
                self.assertEqual(waiting, WAITERS)

    def test_grants_are_in_order_however_many_wait(self):
        for clients in (10, 100, 1000):
            with self.subTest(clients):
                done = self.load("contended", "--clients", str(clients), "--seconds", "1")
                self.assertGreater(done["hand_overs"], clients)
                self.assertGreater(done["order_observations"], 0)
                self.assertEqual(done["order_inversions"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
