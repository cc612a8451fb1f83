"""Tests that run at once do not take each other's ports."""

import os
import pathlib
import subprocess
import sys
import unittest

import own_server

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
PROCESSES = 4
PORTS_EACH = 150  # there are 6,000; without leases, some would certainly be equal
PYTHON = f"""
import own_server
print(*(own_server.free_port() for _ in range({PORTS_EACH})), flush=True)
input()
"""
NODE = f"""
import {{ freePort }} from "./server.js";
const ports = [];
while (ports.length < {PORTS_EACH}) ports.push(await freePort());
console.log(...ports);
process.stdin.once("data", () => process.exit());
"""


class FreePorts(unittest.TestCase):

    def test_no_two_processes_get_the_same_port(self):
        python = ([sys.executable, "-B", "-c", PYTHON], FOLDER)
        node = (["node", "--input-type=module", "-e", NODE], ROOT / "tests/dashboard")
        processes = [self.enterContext(subprocess.Popen(
            words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(FOLDER)}))
                     for words, folder in [python, node] * (PROCESSES // 2)]
        ports = []
        for process in processes:
            ports += process.stdout.readline().split()
        for process in processes:
            process.communicate("\n")
        self.assertEqual(len(ports), PROCESSES * PORTS_EACH)
        self.assertEqual(len(set(ports)), len(ports))

    def test_an_ended_process_holds_no_ports(self):
        done = subprocess.run([sys.executable, "-B", "-c", PYTHON], cwd=FOLDER, text=True,
                              input="\n", capture_output=True, check=True)
        for port in map(int, done.stdout.split()):
            with own_server.socket.socket() as probe:
                probe.bind(("127.0.0.1", port + 1))


if __name__ == "__main__":
    unittest.main()
