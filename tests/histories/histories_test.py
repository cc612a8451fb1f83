"""A short form of run.py: stops and kills a server under load, and judges the clients' replies.
Also plants faults in the recorded histories, which must be found."""

import copy
import os
import unittest

import load
import checker
import mutations
from kept_server import KeptServer

SEED = int(os.environ.get("HISTORIES_SEED", "1"))
KEEP = os.environ.get("HISTORIES_KEEP")  # a folder for histories that break a promise
STOPS = ("SIGTERM", "SIGKILL", "SHUTDOWN", "SIGTERM", "SIGKILL")
ATTEMPTS = 3


class Histories(unittest.TestCase):

    def record(self, durability, stops, seconds):
        server = self.enterContext(KeptServer("--durability", durability, "--log-level", "error"))
        history = load.Load(server, SEED).run_segment(stops, seconds)
        findings, reconstruction = checker.judge(history)
        story = "\n".join(str(finding) for finding in findings[:10])
        if findings:
            story += "\n" + "\n".join(checker.story(reconstruction, findings[0].key))
            if KEEP:
                history.write(f"{KEEP}/{durability}.history")
        self.assertEqual(findings, [], story)
        figures = load.figures(history, reconstruction)
        self.assertGreater(figures["grants"], 100, figures)
        self.assertEqual(figures["kills"] + figures["clean stops"], len(stops))
        return history, reconstruction

    def test_async_keeps_its_promises_and_planted_faults_are_found(self):
        history, reconstruction = self.record("async", STOPS, 0.6)
        for mutate in mutations.ALL:
            with self.subTest(mutate.__name__):
                self.plant(mutate, history, reconstruction)

    def plant(self, mutate, history, reconstruction):
        planted = 0
        for number in range(ATTEMPTS):
            changed = copy.deepcopy(history)
            if not mutate(changed, reconstruction, number):
                continue
            planted += 1
            findings, _ = checker.judge(changed)
            self.assertNotEqual(findings, [], f"{mutate.__name__}, number {number}")
        self.assertGreater(planted, 0)

    def test_sync_keeps_its_promises(self):
        self.record("sync", STOPS, 0.6)


if __name__ == "__main__":
    unittest.main()
