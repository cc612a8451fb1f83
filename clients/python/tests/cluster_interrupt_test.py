"""Interrupts of a thread whose request is redirected, in a fleet of several partitions."""

import unittest

from cluster_case import ClusterCase
from interrupt_test import InterruptAtEveryLine

import fairlock
from fairlock import _routes


class InterruptOfARedirectedRequest(ClusterCase):
    """Interrupts at all other lines are in interrupt_test.py."""

    SOURCE = _routes.__file__
    run_interrupted = InterruptAtEveryLine.run_interrupted
    interrupt_everywhere = InterruptAtEveryLine.interrupt_everywhere

    def test_of_a_lock_that_is_free(self):
        client = self.client()

        def prepare():
            self.mislead(client, "k")

        def call():
            with fairlock.lock(client, "k", lease=60, owner="me", renew=False):
                pass

        self.assertGreater(self.interrupt_everywhere(call, prepare), 20)


# Otherwise, its tests would run here too.
del InterruptAtEveryLine

if __name__ == "__main__":
    unittest.main()
