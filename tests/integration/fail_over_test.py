"""Locks are kept in etcd: the leading machine may die, and the next one continues with its
locks."""

import pathlib
import signal
import threading
import time
import unittest
import urllib.error

import resp
from own_fleet import Fleet
from own_server import note_figure

LEASE_MS = 8_000
LEASE_SECONDS_MAX = 60
# They are closed after 5 s; the stop gives up after 40.
CLOSED_SECONDS_MAX = 20


def answer(call):
    """Returns what the call returns, or the error that it raises."""
    try:
        return call()
    except (OSError, resp.Ended) as error:
        return error


class FailOver(unittest.TestCase):

    def fleet(self, *options, **sizes):
        return self.enterContext(Fleet(options=options, **sizes))

    @staticmethod
    def ask(node, *words):
        with node.connect() as client:
            return client.ask(*words)

    def await_lock(self, fleet, *words, seconds=15):
        """Asks whichever node leads until one of them grants the lock; returns the token."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            leader = fleet.leader()
            if leader is None:
                continue
            with leader.connect() as client:
                token = answer(lambda: client.ask("LOCK", *words))
            if isinstance(token, int):
                return token
        raise AssertionError(f"no lock: {fleet.logs()}")

    def test_a_standby_refuses_and_the_leader_serves(self):
        fleet = self.fleet()
        with fleet.standby().connect() as client:
            self.assertEqual(client.ask("PING"), "PONG")
            refusal = client.ask("LOCK", "key", "owner")
            self.assertIsInstance(refusal, resp.ErrorReply)
            self.assertEqual(refusal.split()[0], "CLUSTERDOWN")
        with fleet.leader().connect() as client:
            self.assertGreater(client.ask("LOCK", "key", "owner"), 0)

    def test_a_client_from_before_the_take_over_gets_only_confirmed_replies(self):
        fleet = self.fleet(nodes=2)
        node = fleet.standby()
        with node.connect() as client:
            # This reply needs no confirmation, because the node has no log yet.
            self.assertEqual(client.ask("PING"), "PONG")
            fleet.leader().kill()
            self.await_lock(fleet, "other", "owner")
            for member in fleet.members:
                member.pause()
            client.send(b"LOCK key owner\r\n")
            client.socket.settimeout(1)
            try:
                with self.assertRaises(TimeoutError):
                    client.reply()
            finally:
                for member in fleet.members:
                    member.go_on()
            client.socket.settimeout(10)
            self.assertIsInstance(client.reply(), int)

    def test_a_killed_leader_is_followed_by_one_with_all_its_locks(self):
        fleet = self.fleet()
        newest = 0
        for killed in range(3):
            leader = fleet.await_leader()
            with leader.connect() as client:
                tokens = {f"key{i}": client.ask("LOCK", f"key{i}", f"owner{killed}", "PX", 600_000)
                          for i in range(20 * killed, 20 * killed + 20)}
                self.assertEqual(client.ask("UNLOCK", f"key{20 * killed}", f"owner{killed}"), 1)
            tokens.pop(f"key{20 * killed}")
            self.assertGreater(min(tokens.values()), newest)
            newest = max(tokens.values())
            began = time.monotonic()
            leader.kill()
            leader.start()
            next_leader = fleet.await_leader()
            note_figure("delays.fail_over_ms", (time.monotonic() - began) * 1000)
            with next_leader.connect() as client:
                for key, token in tokens.items():
                    self.assertEqual(client.ask("CHECK", key, token), 1, key)
                self.assertEqual(client.ask("LOCKED", f"key{20 * killed}"), 0)

    def test_waiters_that_ask_again_keep_their_order(self):
        fleet = self.fleet()
        leader = fleet.await_leader()
        with leader.connect() as holder:
            held = holder.ask("LOCK", "key", "holder", "PX", 600_000)
        waiting = []
        for i in range(5):
            client = self.enterContext(leader.connect())
            client.send(resp.request("LOCK", "key", f"waiter{i}", "WAIT", "60s", "PX", 600_000))
            waiting.append(client)
            with leader.connect() as look:
                while look.ask("POSITION", "key", f"waiter{i}") is None:
                    time.sleep(0.01)
        leader.kill()
        leader = fleet.await_leader()
        # The waiters ask again in the reverse order, and are granted in the order of their places.
        again = {}
        for i in reversed(range(5)):
            again[i] = self.enterContext(leader.connect(30))
            again[i].send(resp.request("LOCK", "key", f"waiter{i}", "WAIT", "60s", "PX", 600_000))
        with leader.connect() as client:
            while any(client.ask("POSITION", "key", f"waiter{i}") is None for i in range(5)):
                time.sleep(0.01)
            time.sleep(0.2)  # the last request is in the queue again
            self.assertEqual(client.ask("UNLOCK", "key", "holder"), 1)
            tokens = [held]
            for i in range(5):
                tokens.append(again[i].reply())
                self.assertEqual(client.ask("UNLOCK", "key", f"waiter{i}"), 1)
        self.assertEqual(tokens, sorted(tokens))

    def test_every_node_stops_although_etcd_is_gone(self):
        fleet = self.fleet(nodes=2)
        leader = fleet.await_leader()
        for member in fleet.members:
            member.kill()
        for node in sorted(fleet.nodes, key=lambda one: one is not leader):
            node.process.terminate()
            self.assertEqual(node.process.wait(timeout=50), 0, fleet.logs())

    def test_a_leader_that_stops_without_etcd_keeps_no_client(self):
        """The stop itself waits for etcd. A client learns of it after seconds, and asks elsewhere,
        whether it waits for a reply or for a lock, or has nothing to wait for."""
        fleet = self.fleet(nodes=2)
        leader = fleet.await_leader()
        idle, asking, waiting = (self.enterContext(leader.connect(30)) for _ in range(3))
        idle.ask("LOCK", "key", "holder", "PX", 600_000)
        waiting.send(resp.request("LOCK", "key", "waiter", "WAIT", "60s"))
        while idle.ask("POSITION", "key", "waiter") is None:
            time.sleep(0.01)
        for member in fleet.members:
            member.pause()
        asking.send(resp.request("LOCK", "other", "owner"))
        time.sleep(0.2)  # it has been executed, and its reply awaits etcd
        leader.process.terminate()
        began = time.monotonic()
        for one in (asking, waiting, idle):
            self.assertIsInstance(answer(one.reply), (resp.Ended, ConnectionError))
        self.assertLess(time.monotonic() - began, CLOSED_SECONDS_MAX, fleet.logs())
        for member in fleet.members:
            member.go_on()
        self.assertEqual(leader.process.wait(timeout=50), 0, fleet.logs())
        self.await_lock(fleet, "third", "owner")

    def test_a_paused_leader_reveals_nothing_after_another_has_taken_over(self):
        fleet = self.fleet()
        old = fleet.await_leader()
        client = self.enterContext(old.connect(30))
        token = client.ask("LOCK", "key", "owner", "PX", 600_000)
        old.pause()
        # The kernel accepts the requests; the process will see them when it is continued.
        client.send(resp.request("LOCK", "other", "owner", "PX", 600_000)
                    + resp.request("CHECK", "key", token) + resp.request("UNLOCK", "key", "owner"))
        leader = fleet.await_leader()
        self.assertIsNot(leader, old)
        old.go_on()
        replies = answer(lambda: [client.reply() for _ in range(3)])
        self.assertIsInstance(replies, (resp.Ended, ConnectionError), replies)
        with leader.connect() as look:
            self.assertEqual(look.ask("CHECK", "key", token), 1)
            self.assertEqual(look.ask("LOCKED", "other"), 0)
        # The old leader restarts as a standby, in the same process.
        end = time.monotonic() + 10
        while time.monotonic() < end:
            refusal = answer(lambda: self.ask(old, "LOCK", "third", "owner"))
            if isinstance(refusal, resp.ErrorReply) and refusal.startswith("CLUSTERDOWN"):
                break
            time.sleep(0.05)
        self.assertTrue(old.is_running)
        self.assertIn("restarting as a standby", old.log.read_text())
        name = pathlib.Path(f"/proc/{old.process.pid}/comm").read_text()
        self.assertEqual(name, "fairlockd\n")

    def test_a_deposed_leader_that_is_told_to_stop_ends_without_an_error(self):
        fleet = self.fleet(nodes=2)
        old = fleet.await_leader()
        old.pause()
        self.assertIsNot(fleet.await_leader(), old)
        old.go_on()
        end = time.monotonic() + 10
        while "restarting as a standby" not in old.log.read_text():
            self.assertLess(time.monotonic(), end, fleet.logs())
        # The signal may also find the program just started again, before it handles signals.
        self.assertIn(old.terminate(), (0, -signal.SIGTERM), fleet.logs())

    def test_without_etcd_clients_are_sent_away_and_no_lease_ends(self):
        fleet = self.fleet(nodes=1, http=True)
        leader = fleet.await_leader()
        client = self.enterContext(leader.connect(30))
        token = client.ask("LOCK", "key", "owner", "PX", 6_000)
        waiter = self.enterContext(leader.connect(30))
        waiter.send(resp.request("LOCK", "key", "waiter", "WAIT", "60s"))
        while client.ask("POSITION", "key", "waiter") is None:
            time.sleep(0.01)
        for member in fleet.members[:2]:
            member.pause()
        time.sleep(0.2)
        client.send(resp.request("CHECK", "key", token))
        time.sleep(2.5)
        with leader.connect() as other:
            refusal = other.ask("LOCK", "key2", "owner2")
            self.assertIsInstance(refusal, resp.ErrorReply)
            self.assertEqual(refusal.split()[0], "CLUSTERDOWN")
            self.assertEqual(other.ask("PING"), "PONG")
            for path in ("/leaderz", "/readyz"):
                with self.assertRaises(urllib.error.HTTPError) as raised:
                    leader.get(path)
                self.assertEqual(raised.exception.code, 503)
            # Nobody waits here for ever, neither for a reply nor for a lock.
            for one in (client, waiter, other):
                self.assertIsInstance(answer(one.reply), (resp.Ended, ConnectionError))
        time.sleep(4)
        for member in fleet.members[:2]:
            member.go_on()
        # More time has passed than the lease lasts, but the lease stood still for most of it.
        leader = fleet.await_leader()
        self.assertEqual(leader.get("/leaderz"), b"leader\n")
        with leader.connect(30) as client:
            self.assertEqual(client.ask("CHECK", "key", token), 1)
            self.assertEqual(client.ask("RENEW", "key", "owner", "PX", 600_000), 1)
            waiter = self.enterContext(leader.connect(30))
            waiter.send(resp.request("LOCK", "key", "waiter", "WAIT", "60s"))
            while client.ask("POSITION", "key", "waiter") != 1:
                time.sleep(0.01)

    def test_the_lease_of_a_new_leader_stands_still_until_etcd_confirms_it(self):
        fleet = self.fleet(nodes=2)
        leader = fleet.await_leader()
        with leader.connect() as client:
            token = client.ask("LOCK", "key", "owner", "PX", 3_000)
        leader.kill()
        next_leader = next(node for node in fleet.nodes if node is not leader)
        end = time.monotonic() + 20
        while "this node leads" not in next_leader.log.read_text():
            self.assertLess(time.monotonic(), end, fleet.logs())
        for member in fleet.members:
            member.pause()
        time.sleep(6)
        for member in fleet.members:
            member.go_on()
        while True:
            with next_leader.connect() as client:
                reply = answer(lambda: client.ask("CHECK", "key", token))
            if not isinstance(reply, (resp.ErrorReply, Exception)):
                break
            self.assertLess(time.monotonic(), end + 20, fleet.logs())
        self.assertEqual(reply, 1)

    def test_a_leader_that_is_stopped_hands_over_at_once(self):
        fleet = self.fleet()
        leader = fleet.await_leader()
        with leader.connect() as client:
            token = client.ask("LOCK", "key", "owner", "PX", 600_000)
        self.assertEqual(leader.terminate(), 0, fleet.logs())
        began = time.monotonic()
        next_leader = fleet.await_leader()
        note_figure("delays.hand_over_ms", (time.monotonic() - began) * 1000)
        with next_leader.connect() as client:
            self.assertEqual(client.ask("CHECK", "key", token), 1)

    def test_a_lease_ends_however_often_the_leader_changes(self):
        """Each leader would start it again, if leaders did not store for how long they have
        served. A lease that is renewed goes on."""
        fleet = self.fleet()
        self.await_lock(fleet, "dead", "owner", "PX", LEASE_MS)
        begun = time.monotonic()
        self.await_lock(fleet, "alive", "owner", "PX", LEASE_MS)
        fail_overs = 0
        while self.renewed(fleet, "dead", None) == 1:
            self.assertLess(time.monotonic(), begun + LEASE_SECONDS_MAX, fleet.logs())
            serving = time.monotonic() + LEASE_MS / 4000
            while time.monotonic() < serving:
                self.assertEqual(self.renewed(fleet, "alive", LEASE_MS), 1, fleet.logs())
                time.sleep(0.2)
            leader = fleet.leader()
            self.assertEqual(self.ask(leader, "CLUSTER", "FAILOVER"), "OK")
            fail_overs += 1
        self.assertGreater(time.monotonic(), begun + LEASE_MS / 1000)
        self.assertGreater(fail_overs, 3)
        self.assertEqual(self.renewed(fleet, "alive", LEASE_MS), 1)

    def renewed(self, fleet, key, lease_ms):
        """Whether the key is held; with a lease, it is renewed."""
        end = time.monotonic() + LEASE_SECONDS_MAX
        while time.monotonic() < end:
            leader = fleet.leader()
            if leader is None:
                continue
            words = ("RENEW", key, "owner", "PX", lease_ms) if lease_ms else ("LOCKED", key)
            reply = answer(lambda: self.ask(leader, *words))  # pylint: disable=cell-var-from-loop
            if isinstance(reply, int):
                return reply
        raise AssertionError(f"nobody leads: {fleet.logs()}")

    def test_a_standby_that_is_stopped_ends_at_once(self):
        fleet = self.fleet()
        self.assertEqual(fleet.standby().terminate(), 0)
        self.assertIsNotNone(fleet.leader())

    def test_two_clients_never_hold_one_lock_while_leaders_come_and_go(self):
        fleet = self.fleet()
        guard = threading.Lock()
        holders, tokens, failures = set(), [], []
        is_over = threading.Event()

        def contend(name):
            while not is_over.is_set():
                leader = fleet.leader()
                if leader is None:
                    continue
                try:
                    with leader.connect(3) as client:
                        while not is_over.is_set():
                            token = client.ask("LOCK", "key", name, "WAIT", "2s", "PX", 60_000)
                            if not isinstance(token, int):
                                break
                            with guard:
                                if holders - {name}:
                                    failures.append(f"{name} holds it beside {holders}")
                                if tokens and token < tokens[-1]:
                                    failures.append(f"token {token} after {tokens[-1]}")
                                holders.add(name)
                                tokens.append(token)
                            with guard:
                                holders.discard(name)
                            client.ask("UNLOCK", "key", name)
                except (OSError, resp.Ended):
                    pass

        threads = [threading.Thread(target=contend, args=(f"c{i}",)) for i in range(6)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            time.sleep(1)
            leader = fleet.await_leader()
            leader.kill()
            leader.start()
            fleet.await_leader()
        time.sleep(1)
        is_over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertGreater(len(tokens), 50)


if __name__ == "__main__":
    unittest.main()
