"""Tests what users do with the simulator: find a failure, replay it shortened, mistype an option.

    command_line_test.py FAIRLOCK_SIM FAIRLOCK_SIM_FAULTS
"""

import re
import shlex
import subprocess
import sys
import unittest


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)


class FindingAFault(unittest.TestCase):
    def find(self, fault):
        found = run(FAULTY, "--fault", fault, "--seeds", "1..2000")
        self.assertEqual(found.returncode, 1, found.stdout)
        return found.stdout

    def test_names_the_seed_and_the_command_that_replays_it(self):
        for fault in ("lost-waiter", "barging", "double-grant"):
            with self.subTest(fault):
                text = self.find(fault)
                seed = re.search(r"FAILED: seed (\d+) at step \d+", text).group(1)
                replay = re.search(r"^replay: (.*)$", text, re.MULTILINE).group(1)
                self.assertIn(f"--seed {seed} ", replay)
                again = run(*shlex.split(replay))
                self.assertEqual(again.returncode, 1, again.stdout)
                self.assertIn(f"FAILED: seed {seed}", again.stdout)

    def test_shortens_the_steps_to_a_handful(self):
        shown = re.search(r"shortened to (\d+) steps", self.find("lost-waiter"))
        self.assertLessEqual(int(shown.group(1)), 6)

    def test_the_shortened_steps_are_fine_without_the_fault(self):
        text = self.find("lost-waiter")
        replay = re.search(r"^replay: (.*)$", text, re.MULTILINE).group(1)
        without = replay.replace("--fault lost-waiter", "--fault none")
        self.assertNotEqual(without, replay)
        fine = run(*shlex.split(without))
        self.assertEqual(fine.returncode, 0, fine.stdout)


class OneSeed(unittest.TestCase):
    def test_has_the_same_trace_in_every_process(self):
        first = run(PLAIN, "--seed", "77", "--trace")
        second = run(PLAIN, "--seed", "77", "--trace")
        steps = [line for line in first.stdout.splitlines() if line.startswith("#")]
        self.assertEqual(len(steps), 1000)
        self.assertEqual(steps, [line for line in second.stdout.splitlines()
                                 if line.startswith("#")])
        hashes = [re.search(r"trace ([0-9a-f]+)", run.stdout).group(1) for run in (first, second)]
        self.assertEqual(hashes[0], hashes[1])

    def test_differs_from_another(self):
        hashes = [re.search(r"trace ([0-9a-f]+)", run(PLAIN, "--seed", seed).stdout).group(1)
                  for seed in ("77", "78")]
        self.assertNotEqual(hashes[0], hashes[1])

    def test_that_passes_is_not_the_failure_that_was_expected(self):
        self.assertEqual(run(PLAIN, "--seed", "77", "--expect-failure").returncode, 1)


class BadArguments(unittest.TestCase):
    def test_are_named_and_exit_with_2(self):
        for arguments in (("--seeds", "5..3"), ("--seeds", "many"), ("--seed", "1", "--only", "x"),
                          ("--seed", "1", "--only", "1000"), ("--fault", "no-such-fault")):
            with self.subTest(arguments):
                refused = run(FAULTY, *arguments)
                self.assertEqual(refused.returncode, 2)
                self.assertIn(arguments[-1], refused.stderr)

    def test_a_fault_needs_the_program_that_has_faults(self):
        refused = run(PLAIN, "--fault", "barging")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("fairlock_sim_faults", refused.stderr)

    def test_help_names_every_option(self):
        text = run(PLAIN, "--help").stdout
        for option in ("--seed", "--seeds", "--steps", "--only", "--fault", "--judge", "--trace",
                       "--twice", "--expect-failure"):
            self.assertIn(option, text)


if __name__ == "__main__":
    PLAIN, FAULTY = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
