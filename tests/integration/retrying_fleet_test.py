"""A fleet of jobs that never block: each asks for the same lock every 50 ms."""

import heapq
import itertools
import random
import time
import unittest

from own_server import Server

OWNERS = 200
ROUND_S = 0.050
HOLD_S = 0.005
KEEP_MS = 1000


class Job:
    """One owner, on its own connection."""

    def __init__(self, name, connection):
        self.name = name
        self.connection = connection
        self.asked = None         # its rank in the order of the first requests
        self.granted_at = None
        self.late_rounds = 0      # requests that were denied although its turn had come


class Fleet:
    """Runs all jobs in the order of their scheduled times, each until it has held the lock once."""

    def __init__(self, server, options):
        # Every fleet gets the same times.
        phases = random.Random(1)
        self.options = options
        self.jobs = [Job(f"job:{i}", server.connect()) for i in range(OWNERS)]
        self.tie = itertools.count()
        self.agenda = []
        for job in self.jobs:
            self.plan(phases.uniform(0, ROUND_S), self.ask, job)
        self.first_questions = itertools.count()
        self.served = []
        self.gaps_s = []          # the time from each release to the next grant
        self.released_at = None

    def plan(self, at, action, job):
        heapq.heappush(self.agenda, (at, next(self.tie), action, job))

    def run(self):
        begin = time.monotonic()
        while self.agenda:
            at, _, action, job = heapq.heappop(self.agenda)
            time.sleep(max(0.0, begin + at - time.monotonic()))
            action(job, time.monotonic() - begin)
        for job in self.jobs:
            job.connection.close()

    def ask(self, job, now):
        if job.asked is None:
            job.asked = next(self.first_questions)
        token = job.connection.ask("LOCK", "nightly", job.name, *self.options)
        if token is None:
            job.late_rounds += self.is_its_turn(job)
            self.plan(now + ROUND_S, self.ask, job)
            return
        self.served.append(job)
        if self.released_at is not None:
            self.gaps_s.append(now - self.released_at)
        self.released_at = None
        self.plan(now + HOLD_S, self.release, job)

    def is_its_turn(self, job):
        """Whether the lock is free, and all jobs that first asked before it have been served."""
        return self.released_at is not None and job.asked == len(self.served)

    def release(self, job, now):
        assert job.connection.ask("UNLOCK", "nightly", job.name) == 1
        self.released_at = now

    def inversions(self):
        """Counts the pairs in which the job that asked later was served first."""
        order = [job.asked for job in self.served]
        return sum(a > b for a, b in itertools.combinations(order, 2))


class RetryingFleet(unittest.TestCase):

    def run_fleet(self, *options):
        with Server() as server:
            fleet = Fleet(server, options)
            begin = time.monotonic()
            fleet.run()
            print(f"{OWNERS} owners {' '.join(map(str, options)) or 'without KEEP'}: "
                  f"{fleet.inversions()} inversions, "
                  f"{max(job.late_rounds for job in fleet.jobs)} rounds late at most, "
                  f"from a release to the next grant {max(fleet.gaps_s) * 1000:.1f} ms at most, "
                  f"{time.monotonic() - begin:.1f} s in all")
        self.assertEqual(len(fleet.served), OWNERS)
        return fleet

    def test_with_keep_all_are_served_in_the_order_of_their_first_question(self):
        fleet = self.run_fleet("KEEP", KEEP_MS)
        self.assertEqual(fleet.inversions(), 0)
        # The first request of a job after its turn has come is granted.
        self.assertEqual(max(job.late_rounds for job in fleet.jobs), 0)

    def test_without_keep_they_pass_one_another(self):
        fleet = self.run_fleet()
        self.assertGreater(fleet.inversions(), OWNERS)


if __name__ == "__main__":
    unittest.main()
