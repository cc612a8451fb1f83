"""Instructions under callgrind of each operation of the engine. The same binary takes the same
number on every machine."""

import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["FAIRLOCKD"]).parents[1]
PATIENCE_SECONDS = 1000
# At most 5 % more than when a number was changed last. What makes an operation slower by more than
# that needs a reason.
ENGINE_MAX = {
    "lock-unlock": 1346,
    "lock-unlock-recorded": 1827,
    "lock-unlock-among-held": 1375,
    "renew": 495,
    "lock-denied": 604,
    "lock-denied-recorded": 1023,
    "hand-over-join": 3953,
}


class Instructions(unittest.TestCase):

    def test_of_each_operation_of_the_engine(self):
        done = subprocess.run([ROOT / "bench/engine_instructions.sh", BUILD], text=True,
                              capture_output=True, timeout=PATIENCE_SECONDS, check=True)
        print(done.stdout)
        counted = {name: int(count) for name, count, _ in map(str.split, done.stdout.splitlines())}
        self.assertEqual(counted.keys(), ENGINE_MAX.keys())
        for name, count in counted.items():
            with self.subTest(name):
                self.assertLessEqual(count, ENGINE_MAX[name])


if __name__ == "__main__":
    unittest.main(verbosity=2)
