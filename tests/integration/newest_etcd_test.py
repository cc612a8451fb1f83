"""Fail-overs of a fleet on the newest etcd, and a changed password there. More is run by hand:

    ETCD=build/newest-etcd/etcd FAIRLOCKD=build/release/bin/fairlockd \\
    /usr/bin/python3 tests/integration/relay_test.py
"""

import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
ETCD = ROOT / "build" / "newest-etcd" / "etcd"
SKIPPED = 77
CHOSEN = {
    "etcd_password": (),  # all of it
    "fail_over": (
        "FailOver.test_a_killed_leader_is_followed_by_one_with_all_its_locks",
        "FailOver.test_a_leader_that_is_stopped_hands_over_at_once",
        "FailOver.test_a_paused_leader_reveals_nothing_after_another_has_taken_over",
        "FailOver.test_without_etcd_clients_are_sent_away_and_no_lease_ends"),
}


class NewestEtcd(unittest.TestCase):

    def test_all(self):
        for name, tests in CHOSEN.items():
            with self.subTest(name):
                done = subprocess.run([sys.executable, "-B", FOLDER / f"{name}_test.py", *tests],
                                      env={**os.environ, "ETCD": str(ETCD)}, check=False,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    if not ETCD.exists():
        print("skipped: deploy/install-etcd.sh has not built the newest etcd")
        sys.exit(SKIPPED)
    print(subprocess.run([ETCD, "--version"], check=True, capture_output=True,
                         text=True).stdout.splitlines()[0], flush=True)
    unittest.main()
