"""The one thread that waits for the renewals of all holds, with a real server."""

import os
import threading
import time
import unittest

import support

import fairlock
from fairlock import _alarms


class Alarms(support.Case):

    def renewal_threads(self):
        return sum(thread.name == "fairlock-renewal" for thread in threading.enumerate())

    def test_short_holds_start_no_threads_and_leave_no_alarms(self):
        client = self.client()
        fairlock.lock(client, "k").acquire().release()
        before = threading.active_count()
        for _ in range(500):
            with fairlock.lock(client, "k", lease=3600):
                self.assertEqual(threading.active_count(), before)
        self.assertLess(len(_alarms.alarms), 150)

    def test_holds_are_renewed_in_their_own_order(self):
        client = self.client()
        holds = [fairlock.lock(client, f"k{lease}", lease=lease).acquire()
                 for lease in (60, 0.6, 30, 0.3)]
        time.sleep(1)
        for hold in holds:
            hold.check()
        self.assertEqual(self.renewal_threads(), 2)
        for hold in holds:
            self.assertTrue(hold.release())
        support.wait_until(lambda: self.renewal_threads() == 0)

    def test_a_shorter_lease_is_renewed_earlier(self):
        hold = fairlock.lock(self.client(), "k", lease=60).acquire()
        hold.renew(0.6)
        time.sleep(1)
        hold.check()
        hold.release()

    def test_a_forked_child_renews_its_own_holds(self):
        with fairlock.lock(self.client(), "k", lease=60):
            child = os.fork()
            if child == 0:
                self.check_in_child()
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def check_in_child(self):
        try:
            hold = fairlock.lock(self.client(), "of the child", lease=0.4).acquire()
            time.sleep(0.8)
            hold.check()
            os._exit(0)
        finally:
            os._exit(1)

    def test_alarms_are_called_when_they_are_due_unless_they_are_cancelled(self):
        called, begin = [], fairlock.now()
        alarms = _alarms.Alarms()
        made = {name: alarms.at(begin + seconds, lambda name=name: called.append(name))
                for name, seconds in (("third", 0.3), ("first", 0.1), ("never", 0.15),
                                      ("second", 0.2))}
        self.assertTrue(alarms.cancel(made["never"]))
        support.wait_until(lambda: len(called) == 3)
        self.assertGreaterEqual(fairlock.now() - begin, 0.3)
        self.assertEqual(called, ["first", "second", "third"])
        self.assertFalse(alarms.cancel(made["never"]) or alarms.cancel(made["first"]))


if __name__ == "__main__":
    unittest.main()
