"""What may go wrong while a thread waits for a lock or holds one, with a real server."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import redis

import support
from kept_server import KeptServer

import fairlock


class Renewal(support.Case):

    def test_a_lease_is_renewed_when_a_third_is_left(self):
        with fairlock.lock(self.client(), "k", lease=0.6) as hold:
            time.sleep(1.5)
            hold.check()
            self.assertEqual(self.ask("CHECK", "k", hold.token), 1)
            self.assertIn(self.commands("renew"), (2, 3))

    def test_a_lease_without_renewal_ends(self):
        lost = []
        lock = fairlock.lock(self.client(), "k", lease=0.2, renew=False, on_lost=lost.append)
        hold = lock.acquire()
        support.wait_until(lambda: lost)
        self.assertEqual(lost, [hold])
        with self.assertRaisesRegex(fairlock.LostHold, "lease of 0.2 s ended"):
            hold.token
        self.assertEqual(self.commands("renew"), 0)
        self.assertFalse(hold.release())

    def test_a_hold_that_an_operator_breaks_is_reported_at_the_next_renewal(self):
        lost = []
        with self.assertRaisesRegex(fairlock.LostHold, "before it was released"):
            with fairlock.lock(self.client(), "k", lease=0.3, on_lost=lost.append) as hold:
                self.ask("BREAK", "k")
                support.wait_until(lambda: lost)
                with self.assertRaisesRegex(fairlock.LostHold, "does not know it"):
                    hold.check()

    def test_a_failed_block_raises_its_own_error(self):
        with self.assertRaises(ZeroDivisionError):
            with fairlock.lock(self.client(), "k"):
                self.ask("BREAK", "k")
                1 / 0

    def test_a_grant_after_a_long_wait_is_confirmed(self):
        self.ask("LOCK", "k", "other", "PX", 20000)
        result = self.in_thread(fairlock.lock(self.client(), "k", lease=0.4).acquire)
        support.wait_until(lambda: self.waiters("k"))
        time.sleep(0.5)
        self.ask("UNLOCK", "k", "other")
        hold = result()
        hold.check()
        self.assertGreaterEqual(self.commands("renew"), 1)
        hold.release()

    def test_a_renewal_never_shortens_the_lease(self):
        hold = fairlock.lock(self.client(socket_timeout=0.5), "k", lease=60, renew=False).acquire()
        hold.renew(0.1)
        self.assertGreater(self.ask("PTTL", "k"), 30_000)
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            with self.assertRaises(redis.TimeoutError):
                hold.renew(0.1)
            hold.check()
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        time.sleep(0.2)
        hold.check()
        self.assertEqual(self.ask("CHECK", "k", hold.token), 1)

    def test_renewing_a_lost_hold_raises(self):
        hold = fairlock.lock(self.client(), "k").acquire()
        self.ask("BREAK", "k")
        with self.assertRaises(fairlock.LostHold):
            hold.renew()


class Reconnection(support.Case):

    def test_a_read_time_out_shorter_than_the_wait_keeps_the_place(self):
        self.ask("LOCK", "k", "other")
        first = self.in_thread(
            fairlock.lock(self.client(socket_timeout=0.2), "k", owner="first", wait=20,
                          keep=20).acquire)
        support.wait_until(lambda: self.waiters("k") == ["first"])
        second = self.in_thread(
            fairlock.lock(self.client(), "k", owner="second", wait=20).acquire)
        time.sleep(1)
        self.assertEqual(self.waiters("k"), ["first", "second"])
        # There is one request for each 0.2 s, and that of the second waiter.
        self.assertLessEqual(self.commands("lock"), 9)
        self.ask("UNLOCK", "k", "other")
        hold = first()
        self.assertEqual(self.waiters("k"), ["second"])
        hold.release()
        second().release()

    def test_a_wait_sends_one_request(self):
        self.ask("LOCK", "k", "other")
        result = self.in_thread(fairlock.lock(self.client(), "k", wait=20).acquire)
        support.wait_until(lambda: self.waiters("k"))
        time.sleep(0.5)
        self.assertEqual(self.commands("lock"), 2)
        self.ask("UNLOCK", "k", "other")
        result().release()

    def test_a_connection_that_is_closed_while_waiting(self):
        self.ask("LOCK", "k", "other")
        client = self.client(client_name="waiter")
        result = self.in_thread(fairlock.lock(client, "k", owner="me", keep=20).acquire)
        support.wait_until(lambda: self.waiters("k") == ["me"])
        (number,) = [entry["id"] for entry in self.outside.client_list()
                     if entry["name"] == "waiter"]
        self.ask("CLIENT", "KILL", "ID", number)
        support.wait_until(lambda: self.commands("lock") == 3)
        self.ask("UNLOCK", "k", "other")
        result().release()


class Restarts(support.Case):

    def make_server(self):
        return KeptServer("--durability", "async")

    def test_a_restart_while_waiting_and_holding(self):
        lost = []
        client = self.client()
        holder = fairlock.lock(client, "k", lease=3, on_lost=lost.append).acquire()
        waiting = [self.in_thread(fairlock.lock(client, "k", owner=owner, keep=20).acquire)
                   for owner in ("second",)]
        support.wait_until(lambda: self.waiters("k") == ["second"])
        for restart in (self.server.stop_and_start_again, self.server.kill_and_start_again):
            restart()
            support.wait_until(lambda: self.waiters("k") == ["second"])
            time.sleep(1.2)
            holder.check()
        self.assertTrue(holder.release())
        hold = waiting[0]()
        self.assertEqual(self.ask("CHECK", "k", hold.token), 1)
        hold.release()
        self.assertEqual(lost, [])

    def test_a_server_that_is_away_for_longer_than_the_lease(self):
        lost = threading.Event()
        hold = fairlock.lock(self.client(), "k", lease=0.5,
                             on_lost=lambda hold: lost.set()).acquire()
        self.server.kill()
        self.assertTrue(lost.wait(5))
        with self.assertRaises(fairlock.LostHold):
            hold.token
        self.server.start_again()
        self.assertFalse(hold.release())

    def test_a_release_waits_for_the_restart(self):
        hold = fairlock.lock(self.client(), "k", lease=60).acquire()
        self.server.kill()
        result = self.in_thread(hold.release)
        time.sleep(0.2)
        self.server.start_again()
        self.assertTrue(result())
        self.assert_nothing_left("k")


class Processes(support.Case):

    def run_child(self, text):
        """Starts a program that uses `client`, and returns it."""
        program = f"import os, sys, time, fairlock, redis\n" \
                  f"client = redis.Redis('127.0.0.1', port={self.server.port})\n"
        child = subprocess.Popen([sys.executable, "-B", "-c", program + textwrap.dedent(text)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=support.environment())
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def test_a_stopped_process_that_lost_its_lease_learns_it_before_it_acts(self):
        child = self.run_child("""
            lost = []
            hold = fairlock.lock(client, "k", lease=0.5, on_lost=lost.append).acquire()
            print(hold.token, flush=True)
            sys.stdin.readline()
            try:
                print(hold.token, flush=True)
            except fairlock.LostHold as error:
                print("lost", flush=True)
            while not lost:
                time.sleep(0.01)
            print("told", flush=True)
            """)
        self.assertTrue(int(child.stdout.readline()))
        child.send_signal(signal.SIGSTOP)
        with fairlock.lock(self.client(), "k", wait=10) as hold:
            child.stdin.write("\n")
            child.stdin.flush()
            child.send_signal(signal.SIGCONT)
            self.assertEqual(child.stdout.readline(), "lost\n")
            self.assertEqual(child.stdout.readline(), "told\n")
            self.assertEqual(self.ask("CHECK", "k", hold.token), 1)

    def test_a_forked_child_neither_renews_nor_releases(self):
        child = self.run_child("""
            with fairlock.lock(client, "k", lease=0.6) as hold:
                number = os.fork()
                if number == 0:
                    try:
                        hold.token
                    except fairlock.LostHold:
                        print("not mine", flush=True)
                    time.sleep(0.8)
                else:
                    print(os.waitpid(number, 0)[1], flush=True)
                    hold.check()
                    print(client.execute_command("LOCKED", "k"), flush=True)
            if number == 0:
                # The block has ended in the child, and may take a lock of its own.
                fairlock.lock(client, "of the child").acquire()
                os._exit(7)
            print(client.execute_command("LOCKED", "k"), flush=True)
            """)
        output, errors = child.communicate(timeout=20)
        self.assertEqual(output.split("\n"), ["not mine", str(7 << 8), "1", "0", ""], errors)
        self.assertEqual(self.ask("LOCKED", "of the child"), 1)

    def test_a_process_that_dies_leaves_its_lease(self):
        child = self.run_child("""
            hold = fairlock.lock(client, "k", lease=0.5).acquire()
            print("held", flush=True)
            time.sleep(60)
            """)
        self.assertEqual(child.stdout.readline(), "held\n")
        child.kill()
        with fairlock.lock(self.client(), "k", wait=10):
            pass

    def test_ctrl_c_while_waiting(self):
        self.ask("LOCK", "k", "other")
        child = self.run_child("""
            try:
                fairlock.lock(client, "k", keep=60, wait=60).acquire()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """)
        support.wait_until(lambda: self.waiters("k"))
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.stdout.readline(), "interrupted\n")
        self.assertEqual(self.waiters("k"), [])


if __name__ == "__main__":
    unittest.main()
