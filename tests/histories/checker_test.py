"""The checker finds planted faults: each history is one that a faulty server could have caused."""

import socket
import time
import unittest

import checker
import clients
from records import Closed, History, Life, Message, Request

MS = 1_000_000
UP = 10  # when the first process was ready


class Tale:
    """A history written by hand, with times in milliseconds."""

    def __init__(self):
        self.history = History(lives=[Life(1, 0, UP * MS)])
        self.life = 1

    def ask(self, client, sent, answered, text, reply=None):
        """Adds a request; if `answered` is None, it was never answered."""
        words = text if isinstance(text, list) else text.split()
        self.history.requests.append(Request(
            client, self.life, sent * MS, words, None if answered is None else answered * MS,
            reply))

    def restart(self, how, at, ready, status=0):
        life = self.history.lives[-1]
        life.how, life.ending, life.ended, life.status = how, at * MS, (at + 5) * MS, status
        self.life += 1
        self.history.lives.append(Life(self.life, (at + 6) * MS, ready * MS))

    def message(self, client, at, channel, **event):
        event = {"event": "granted", "key": "k", "owner": "b", "token": None, **event}
        self.history.messages.append(Message(client, at * MS, channel, event))

    def close(self, client, at, by="close"):
        self.history.closes.append(Closed(client, self.life, at * MS, by))

    def rules(self):
        findings, _ = checker.judge(self.history)
        return sorted({finding.rule for finding in findings})


def info(*holders):
    return ["holders", [["owner", owner, "token", token] for owner, token in holders]]


def queue(*owners):
    return [["owner", owner] for owner in owners]


class Judged(unittest.TestCase):

    def setUp(self):
        self.tale = Tale()

    def assert_clean(self):
        self.assertEqual(self.tale.rules(), [])

    def assert_found(self, *rules):
        found = self.tale.rules()
        for rule in rules:
            self.assertIn(rule, found)

    def held(self, token=100, owner="a", options="PX 60000", key="k", at=20):
        self.tale.ask(1, at, at + 1, f"LOCK {key} {owner} {options}", token)


class Holders(Judged):

    def test_a_release_and_the_next_grant(self):
        self.held()
        self.tale.ask(1, 30, 31, "UNLOCK k a", 1)
        self.tale.ask(2, 40, 41, "LOCK k b PX 60000", 101)
        self.assert_clean()

    def test_a_dropped_release(self):
        self.held()
        self.tale.ask(2, 40, 41, "LOCK k b PX 60000", 101)
        self.assert_found("held together", "granted beside")

    def test_a_short_grant_within_a_hold(self):
        self.held()
        self.tale.ask(2, 40, 45, ["STEP", "EXEC", ["LOCK", "k", "b", "PX", 60_000],
                                  ["UNLOCK", "k", "b"]], [101, 1])
        self.assert_found("granted beside")

    def test_what_was_not_answered_may_have_happened(self):
        self.held()
        self.tale.ask(1, 30, None, "UNLOCK k a")
        self.tale.ask(2, 40, 41, "LOCK k b PX 60000", 101)
        self.assert_clean()

    def test_a_shortened_lease(self):
        self.held(options="PX 100")
        self.tale.ask(2, 125, 126, "LOCK k b PX 60000", 101)
        self.assert_clean()
        self.tale.ask(3, 118, 119, "CHECK k 100", 0)
        self.assert_found("lost hold")

    def test_a_renewal_that_did_not_count(self):
        self.held(options="PX 100")
        self.tale.ask(1, 50, 51, "RENEW k a PX 60000", 1)
        self.tale.ask(2, 200, 201, "LOCK k b PX 60000", 101)
        self.assert_found("held together")

    def test_a_renewal_may_shorten(self):
        self.held()
        self.tale.ask(1, 50, 51, "RENEW k a PX 100", 1)
        self.tale.ask(2, 152, 153, "LOCK k b PX 60000", 101)
        self.assert_clean()

    def test_a_lease_without_end(self):
        self.held(options="PX 100")
        self.tale.ask(1, 130, 131, "CHECK k 100", 1)
        self.assert_found("hold came back")

    def test_limits(self):
        for number in range(2):
            self.held(token=100 + number, owner=f"a{number}", options="PX 60000 LIMIT 2")
        self.assert_clean()
        self.tale.ask(2, 30, 31, "LOCK k b PX 60000 LIMIT 3", 102)
        self.assert_found("held together")

    def test_shared(self):
        for number in range(2):
            self.held(token=100 + number, owner=f"a{number}", options="PX 60000 SHARED")
        self.assert_clean()
        self.tale.ask(2, 30, 31, "LOCK k b PX 60000 LIMIT 9", 102)
        self.assert_found("held together")

    def test_min_hold(self):
        self.held(options="PX 60000 MINHOLD 200ms")
        self.tale.ask(1, 30, 31, "UNLOCK k a", 1)
        self.tale.ask(2, 218, 222, "LOCK k b PX 60000", 102)
        self.assert_clean()
        self.tale.ask(2, 40, 41, "LOCK k c PX 9", 101)
        self.assert_found("held together", "granted beside")

    def test_del_ends_no_native_hold(self):
        self.held()
        self.tale.ask(2, 30, 31, "DEL k", 1)
        self.tale.ask(2, 32, 33, "SET k b NX PX 60000", "OK")
        self.assert_found("held together")

    def test_del_and_release_end_what_set_took(self):
        self.tale.ask(1, 20, 21, "SET k a NX PX 60000", "OK")
        self.tale.ask(2, 30, 31, "DEL k", 1)
        self.tale.ask(2, 32, 33, "SET k b NX PX 60000", "OK")
        self.tale.ask(2, 34, 35, "RELEASE k b", 1)
        self.held(at=40, owner="c")
        self.assert_clean()
        self.tale.ask(2, 50, 51, "GET k", "b")
        self.assert_found("hold came back")

    def test_set_beside_a_holder(self):
        self.tale.ask(1, 20, 21, "SET k a NX PX 60000", "OK")
        self.tale.ask(2, 30, 31, "RELEASE k x", 0)
        self.tale.ask(2, 32, 33, "SET k b NX PX 60000", "OK")
        self.assert_found("held together")

    def test_a_session(self):
        self.held(options="PX 60000 SESSION GRACE 50ms")
        self.tale.close(1, 30, "reset")
        self.tale.ask(2, 85, 86, "LOCK k b PX 60000", 101)
        self.assert_clean()
        self.tale.ask(3, 70, 71, "CHECK k 100", 0)
        self.assert_found("lost hold")

    def test_a_grant_that_its_owner_never_read_is_undone(self):
        self.tale.ask(1, 20, None, "LOCK k a PX 60000")
        self.tale.ask(2, 30, 31, "LOCKINFO k", info(("a", 100)))
        self.tale.close(1, 40, "reset")
        self.tale.ask(2, 50, 51, "LOCKINFO k", info())
        self.assert_clean()
        self.tale.ask(2, 38, 39, "CHECK k 100", 0)
        self.assert_found("lost hold")

    def test_break(self):
        self.held()
        self.tale.ask(2, 30, 31, "BREAK k", 1)
        self.assert_clean()
        self.tale.ask(2, 40, 41, "CHECK k 100", 1)
        self.assert_found("hold came back")

    def test_transfer(self):
        self.held()
        self.tale.ask(1, 30, 31, "TRANSFER k a b", 101)
        self.tale.ask(2, 40, 41, "CHECK k 101", 1)
        self.assert_clean()
        self.tale.ask(2, 42, 43, "CHECK k 100", 1)
        self.assert_found("hold came back")

    def test_what_is_left_of_a_lease_goes_along(self):
        self.held(options="PX 100")
        self.tale.ask(1, 30, 60, "TRANSFER k a b", 101)
        self.tale.ask(2, 151, 152, "CHECK k 101", 1)
        self.assert_clean()
        self.tale.ask(2, 154, 155, "CHECK k 101", 1)
        self.assert_found("hold came back")

    def test_a_transferred_hold_is_held(self):
        self.held()
        self.tale.ask(1, 30, 31, "TRANSFER k a b", 101)
        self.tale.ask(2, 40, 41, "LOCK k c PX 100", 102)
        self.assert_found("held together")


class Tokens(Judged):

    def test_one_for_two(self):
        self.held()
        self.held(key="other", owner="b", at=30)
        self.assert_found("token given twice")

    def test_one_that_falls(self):
        self.held()
        self.held(key="other", owner="b", at=30, token=99)
        self.assert_found("tokens do not rise")

    def test_requests_at_the_same_time_have_no_order(self):
        self.tale.ask(1, 20, 31, "LOCK k a PX 60000", 101)
        self.tale.ask(2, 30, 35, "LOCK j b PX 60000", 100)
        self.assert_clean()

    def test_of_nobody(self):
        self.held()
        self.tale.ask(2, 30, 31, "LOCKINFO j", info(("x", 50)))
        self.assert_found("unasked grant")


class Restarts(Judged):

    def setUp(self):
        super().setUp()
        self.held()

    def test_a_grant_that_is_unknown_after_the_restart(self):
        self.tale.restart("SIGKILL", 100, 200)
        self.tale.ask(2, 210, 211, "CHECK k 100", 1)
        self.assert_clean()
        self.tale.ask(2, 220, 221, "LOCKINFO k", info())
        self.assert_found("lost hold")

    def test_a_token_told_by_a_clean_stop(self):
        self.tale.ask(2, 50, 103, "LOCK k b PX 60000 WAIT 20s", 101)
        self.tale.ask(1, 60, None, "UNLOCK k a")
        self.tale.restart("SIGTERM", 100, 200)
        self.tale.ask(3, 210, 211, "CHECK k 101", 0)
        self.assert_found("lost hold")

    def test_a_message_told_by_a_clean_stop(self):
        self.tale.ask(2, 50, 51, "LOCK k b PX 60000 NOTIFY news", None)
        self.tale.ask(1, 60, None, "UNLOCK k a")
        self.tale.message(2, 104, "news", token=101)
        self.tale.restart("SIGTERM", 100, 200)
        self.tale.ask(3, 210, 211, "LOCK k c PX 60000", 102)
        self.assert_found("held together")

    def test_a_release_undone(self):
        self.tale.ask(1, 60, 61, "UNLOCK k a", 1)
        self.tale.restart("SIGKILL", 100, 200)
        self.tale.ask(2, 210, 211, "LOCKINFO k", info(("a", 100)))
        self.assert_found("hold came back")

    def test_half_an_mlock(self):
        self.tale.ask(2, 50, None, "MLOCK 2 x y b PX 60000")
        self.tale.restart("SIGKILL", 100, 200)
        self.tale.ask(3, 210, 211, "LOCKINFO x", info(("b", 101)))
        self.assert_clean()
        self.tale.ask(3, 212, 213, "LOCKINFO y", info())
        self.assert_found("lost hold")

    def test_a_token_of_before(self):
        self.tale.restart("SIGKILL", 100, 200)
        self.tale.ask(2, 210, 211, "LOCK j b PX 60000", 90)
        self.assert_found("tokens do not rise")

    def test_a_lease_goes_on_for_its_length_only(self):
        self.tale.ask(1, 50, 51, "RENEW k a PX 200", 1)
        self.tale.restart("SIGKILL", 100, 200)
        self.tale.ask(2, 399, 400, "CHECK k 100", 1)
        self.assert_clean()
        self.tale.ask(2, 403, 404, "CHECK k 100", 1)
        self.assert_found("hold came back")

    def test_a_stop_that_fails(self):
        self.tale.restart("SIGTERM", 100, 200, status=3)
        self.assert_found("failed stop")

    def test_a_connection_that_the_server_closes(self):
        self.tale.close(1, 101, "server")
        self.tale.restart("SIGTERM", 100, 200)
        self.assert_clean()
        self.tale.history.closes[0].at = 99 * MS
        self.assert_found("closed by the server")


class Queues(Judged):

    def setUp(self):
        super().setUp()
        self.held()

    def wait(self, client, owner, sent, answered, token=None, options="PX 60000 WAIT 20s"):
        self.tale.ask(client, sent, answered, f"LOCK k {owner} {options}", token)

    def test_in_order(self):
        self.wait(2, "b", 30, 51, 101)
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b"))
        self.wait(3, "c", 42, 61, 102)
        self.tale.ask(1, 50, 51, "UNLOCK k a", 1)
        self.tale.ask(2, 60, 61, "UNLOCK k b", 1)
        self.assert_clean()

    def test_swapped_grants(self):
        self.wait(2, "b", 30, 61, 102)
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b"))
        self.wait(3, "c", 42, 51, 101)
        self.tale.ask(1, 50, 51, "UNLOCK k a", 1)
        self.tale.ask(3, 60, 61, "UNLOCK k c", 1)
        self.assert_found("passed in the queue")

    def test_one_that_queue_shows_behind(self):
        self.wait(2, "b", 30, None)
        self.wait(3, "c", 30, 51, 101)
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b", "c"))
        self.tale.ask(1, 50, 51, "UNLOCK k a", 1)
        self.assert_found("passed in the queue")

    def test_one_that_is_granted_while_queue_is_asked(self):
        self.wait(2, "b", 30, 60, 101, options="PX 10 WAIT 20s")
        self.tale.ask(9, 40, 61, "QUEUE k", queue("b"))
        self.tale.ask(1, 50, 51, "UNLOCK k a", 1)
        self.tale.ask(3, 62, 71, "LOCK k c PX 60000", 102)
        self.tale.ask(9, 80, 81, "QUEUE k", queue())
        self.assert_clean()

    def test_one_that_has_left_is_passed(self):
        self.wait(2, "b", 30, None)
        self.wait(3, "c", 30, 51, 101)
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b", "c"))
        self.tale.close(2, 45, "half")
        self.tale.ask(1, 50, 51, "UNLOCK k a", 1)
        self.assert_clean()

    def test_a_set_that_passes_a_waiter(self):
        self.tale.ask(2, 30, 31, "LOCK k b PX 60000 NOTIFY news", None)
        self.tale.ask(1, 50, 51, "UNLOCK k a", 1)
        self.tale.ask(3, 52, 53, "SET k v NX PX 60000", "OK")
        self.assert_found("passed in the queue")

    def test_a_kept_place_that_is_passed(self):
        self.wait(2, "b", 30, 31, options="PX 60000 KEEP 1s")
        self.tale.restart("SIGKILL", 100, 200)
        self.tale.ask(1, 250, 251, "UNLOCK k a", 1)
        self.tale.ask(3, 252, 253, "LOCK k c PX 60000", 101)
        self.assert_found("passed in the queue")

    def test_a_kept_place_that_is_lost(self):
        self.wait(2, "b", 30, 31, options="PX 60000 KEEP 1s")
        self.tale.restart("SIGKILL", 100, 200)
        self.tale.ask(3, 252, 253, "QUEUE k", queue("b"))
        self.assert_clean()
        self.tale.ask(3, 254, 255, "QUEUE k", queue())
        self.assert_found("lost place")

    def test_a_kept_place_lapses(self):
        self.wait(2, "b", 30, 31, options="PX 60000 KEEP 1s")
        self.tale.ask(3, 1031, 1032, "QUEUE k", queue())
        self.assert_clean()

    def test_a_number_that_a_clean_stop_changed(self):
        self.wait(2, "b", 30, None)
        self.wait(3, "c", 30, None)
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b", "c"))
        self.tale.restart("SIGTERM", 100, 200)
        self.wait(4, "c", 210, None)
        self.wait(5, "b", 220, None)
        self.tale.ask(9, 230, 231, "QUEUE k", queue("b", "c"))
        self.assert_clean()
        self.tale.ask(9, 240, 241, "QUEUE k", queue("c", "b"))
        self.assert_found("changed number")

    def test_a_place_that_was_cancelled_and_asked_for_anew(self):
        self.wait(2, "b", 30, None)
        self.wait(3, "c", 30, None)
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b", "c"))
        self.tale.restart("SIGTERM", 100, 200)
        self.wait(4, "c", 210, None)
        self.tale.ask(9, 215, 216, "CANCEL k b", 1)
        self.wait(5, "b", 220, None)
        self.tale.ask(9, 230, 231, "QUEUE k", queue("c", "b"))
        self.assert_clean()

    def wait_for_two(self, cancelled_by):
        self.tale.ask(2, 30, 55, "MLOCK 2 k other b PX 60000 WAIT 20s",
                      {"error": "CANCELLED CANCEL or UNLOCK gave up this place"})
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b"))
        self.tale.ask(1, 42, 43, "UNLOCK k a", 1)
        self.tale.ask(4, 50, 56, cancelled_by, 1)
        self.tale.ask(3, 51, 54, "LOCK k c PX 60000", 101)

    def test_a_multi_lock_is_cancelled_by_any_of_its_keys(self):
        self.wait_for_two("CANCEL other b")
        self.assert_clean()

    def test_a_multi_lock_is_not_cancelled_by_another_owner(self):
        self.wait_for_two("CANCEL other c")
        self.assert_found("passed in the queue")

    def test_one_that_is_left_waiting(self):
        self.wait(2, "b", 30, None)
        self.tale.ask(9, 40, 41, "QUEUE k", queue("b"))
        self.tale.ask(1, 50, 51, "UNLOCK k a", 1)
        self.tale.ask(9, 60, 61, "LOCKINFO k", info())
        self.assert_found("left waiting")

    def test_a_wait_that_ends_early(self):
        self.wait(2, "b", 30, 230, options="WAIT 200ms")
        self.assert_clean()
        self.wait(2, "c", 30, 229, options="WAIT 200ms")
        self.assert_found("timed out early")

    def test_answers_without_a_cause(self):
        self.wait(2, "b", 30, 40, {"error": "SUPERSEDED by a newer request"})
        self.wait(2, "c", 30, 40, {"error": "CANCELLED the place was given up"})
        self.wait(2, "d", 30, 40, {"error": "ERR what"})
        self.tale.message(2, 50, "news", token=101)
        self.assert_found("superseded by nobody", "cancelled by nobody", "unexpected answer",
                          "unasked message")

    def test_a_loss_told_early(self):
        self.tale.ask(2, 30, 31, "LOCK j b PX 100 NOTIFY news", 101)
        self.tale.message(2, 132, "news", event="lost", key="j", token=101)
        self.assert_clean()
        self.tale.history.messages[0].at = 129 * MS
        self.assert_found("lost hold")


class Links(unittest.TestCase):
    """What the clients of the histories record."""

    def test_a_reply_before_the_end_is_read_also_by_who_is_sending(self):
        loop = clients.Loop(History())
        with socket.create_server(("127.0.0.1", 0)) as listener:
            link = loop.connect(listener.getsockname(), 1)
            accepted, _ = listener.accept()
        answered = link.ask("PING")
        accepted.recv(100)
        accepted.sendall(b"+PONG\r\n")
        accepted.close()
        lost = []
        give_up = time.monotonic() + 10
        while link.is_open and time.monotonic() < give_up:
            lost.append(link.ask("PING"))  # the kernel refuses it once the end is known
            time.sleep(0.01)
        loop.close()
        self.assertEqual(answered.request.reply, "PONG")
        self.assertTrue(lost and all(not each.request.is_answered for each in lost))


if __name__ == "__main__":
    unittest.main()
