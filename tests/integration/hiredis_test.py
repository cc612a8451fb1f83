"""A C application that uses locks through Debian's hiredis."""

import os
import subprocess
import unittest

from own_server import Server


class Hiredis(unittest.TestCase):

    def test_its_session(self):
        with Server() as server:
            done = subprocess.run([os.environ["HIREDIS_SESSION"], str(server.port)],
                                  capture_output=True, text=True, timeout=60, check=False)
            print(done.stdout, end="")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
