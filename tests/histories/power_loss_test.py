"""When the machine of a server in mode sync loses power under load, all replies remain true."""

import os
import pathlib
import random
import tempfile
import unittest

import load
import checker
import lost_power
from kept_server import KeptServer

SEED = int(os.environ.get("HISTORIES_SEED", "1"))
CUTS = int(os.environ.get("POWER_CUTS", "6"))


class PowerLoss(unittest.TestCase):

    def run_load(self, cuts, is_torn, *options):
        server = KeptServer("--log-level", "error", *options)
        disk = lost_power.traced(server, is_torn)
        self.enterContext(server)
        history = load.Load(server, SEED, disk).run_segment(["power"] * cuts, 0.5)
        return history, *checker.judge(history)

    def test_sync_loses_nothing_that_was_told(self):
        history, findings, reconstruction = self.run_load(CUTS, True, "--durability", "sync")
        story = "\n".join(str(finding) for finding in findings[:10])
        self.assertEqual(findings, [], story)
        figures = load.figures(history, reconstruction)
        self.assertEqual(figures["power cuts"], CUTS)
        self.assertGreater(figures["grants"], 50, figures)

    def test_a_server_that_does_not_sync_is_found(self):
        _, findings, _ = self.run_load(2, False, "--durability", "async", "--flush-interval",
                                       "1m")
        self.assertIn("lost hold", checker.summary(findings))


class Disk(unittest.TestCase):
    """The simulated disk loses exactly what a disk may lose."""

    def write(self, program, times):
        """Returns what is left of the program's writes after the power is lost in `times` different
        ways."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        data, record = folder / "data", folder / "record"
        data.mkdir()
        script = f"import os\nos.chdir({str(data)!r})\n" + PROGRAM_START + program
        process = os.posix_spawn("/usr/bin/python3", ["python3", "-c", script],
                                 {**os.environ, **lost_power.tracing(data, record)})
        os.waitpid(process, 0)
        recorded, found = record.read_bytes(), []
        for seed in range(times):
            record.write_bytes(recorded)
            lost_power.Disk(data, record).lose_power(random.Random(seed))
            found.append({path.name: path.read_bytes() for path in data.iterdir()})
        return found

    def test_what_was_synced_is_there(self):
        for found in self.write("write('a', 5000)\nos.fsync(files['a'])\nsync_names()\n", 10):
            self.assertEqual(found, {"a": b"x" * 5000})

    def test_what_was_not_synced_may_be_lost(self):
        found = self.write("write('a', 5000)\nsync_names()\nwrite('b', 1)\n", 20)
        self.assertTrue(all("a" in one for one in found))
        self.assertTrue(any(one["a"] == b"" for one in found))
        self.assertTrue(any(one["a"] == b"x" * 5000 for one in found))
        self.assertTrue(any("b" not in one for one in found))

    def test_a_rename_that_was_not_synced_may_be_undone(self):
        program = "write('a', 9)\nos.fsync(files['a'])\nsync_names()\nos.rename('a', 'b')\n"
        found = {tuple(one) for one in self.write(program, 20)}
        self.assertEqual(found, {("a",), ("b",)})


PROGRAM_START = """
files = {}
def write(name, size):
    files[name] = os.open(name, os.O_CREAT | os.O_WRONLY)
    os.write(files[name], b"x" * size)
def sync_names():
    os.fsync(os.open(os.getcwd(), os.O_RDONLY | os.O_DIRECTORY))
"""


if __name__ == "__main__":
    unittest.main()
