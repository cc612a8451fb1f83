"""What a hold believes, whatever the order of replies and whichever of them are missing."""

import itertools
import unittest
import unittest.mock

import redis

import support  # noqa: F401  the path to fairlock

from fairlock import LostHold, _hold_state
from fairlock._acquire import Grant
from fairlock._replies import Message
from fairlock._steps import Answer, Ask, Pause
from fairlock._terms import Terms, now

TOKEN = 7
LATER = 9


def lock_info(owner, token):
    """The reply to LOCKINFO, as redis-py reads it."""
    return [b"key", b"k", b"holders", [[b"owner", owner.encode(), b"token", token]]]


def nobody():
    return [b"key", b"k", b"holders", []]


class Run:
    """A flow, whose requests the test answers."""

    def __init__(self, flow):
        self.flow = flow
        self.result = self.error = None
        self.asked = self._step(lambda: next(flow))

    def _step(self, advance):
        try:
            step = advance()
            while isinstance(step, Pause):
                step = self.flow.send(None)
            assert isinstance(step, Ask)
            return step.command
        except StopIteration as stop:
            self.result = stop.value
        except Exception as error:
            self.error = error
        return None

    def reply(self, reply, sent_at=0.0):
        if isinstance(reply, Exception):
            self.asked = self._step(lambda: self.flow.throw(reply))
        else:
            self.asked = self._step(lambda: self.flow.send(Answer(reply, sent_at)))


class Case(unittest.TestCase):

    def setUp(self):
        self.granted_at = now()
        self.state = _hold_state.HoldState(Terms(("k",), 10), "me", Grant(TOKEN, self.granted_at))

    def is_held(self):
        try:
            self.state.check()
        except LostHold:
            return False
        return True


class Renewals(Case):

    def test_the_one_that_reaches_furthest_counts_in_every_order_of_replies(self):
        leases = (3, 20, 60, 1)
        for order in itertools.permutations(range(len(leases))):
            with self.subTest(order):
                self.setUp()
                runs = [Run(self.state.renew(lease)) for lease in leases]
                expected = self.granted_at + 10
                for number in order:
                    sent_at = self.granted_at + number
                    runs[number].reply(1, sent_at)
                    expected = max(expected, sent_at + leases[number])
                    self.assertEqual(self.state.deadline, expected)
                self.assertTrue(self.is_held())

    def test_one_without_a_reply_changes_nothing(self):
        run = Run(self.state.renew(60))
        run.reply(redis.TimeoutError("late"))
        self.assertIsInstance(run.error, redis.TimeoutError)
        self.assertEqual(self.state.deadline, self.granted_at + 10)
        self.assertEqual(self.state.lease, 10)
        self.assertTrue(self.is_held())

    def test_all_ask_the_server_not_to_shorten_the_lease(self):
        self.assertEqual(Run(self.state.renew(3)).asked,
                         ("RENEW", "k", "me", "PX", 3000, "TOKEN", TOKEN, "GT"))
        many = _hold_state.HoldState(Terms(("k", "j"), 10), "me", Grant(TOKEN, now()))
        self.assertEqual(Run(many.renew(3)).asked,
                         ("MRENEW", 2, "k", "j", "me", "PX", 3000, "TOKEN", TOKEN, "GT"))

    def test_a_refusal_is_final_whichever_reply_comes_later(self):
        older, newer = Run(self.state.renew(60)), Run(self.state.renew(20))
        newer.reply(0)
        self.assertIsInstance(newer.error, LostHold)
        older.reply(1, now())
        self.assertIsInstance(older.error, LostHold)
        self.assertFalse(self.is_held())
        self.assertEqual(self.state.deadline, self.granted_at + 10)

    def test_a_shorter_lease_is_renewed_later_by_its_own_length(self):
        Run(self.state.renew(3)).reply(1, self.granted_at)
        self.assertEqual(self.state.deadline, self.granted_at + 10)
        self.assertEqual(self.state.attention_at(True), self.granted_at + 9)


TIMEOUT = redis.TimeoutError("late")
CUT = redis.ConnectionError("cut")
FAIL_OVER = redis.ResponseError("CLUSTERDOWN no leader")
REFUSED = redis.ResponseError("ERR new-owner: 'heir' holds this key already")
# {the replies to TRANSFER and LOCKINFO, in order: what transfer() returns or raises}
TRANSFERS = {
    (LATER,): LATER,
    (None,): LostHold,
    (REFUSED,): redis.ResponseError,
    (CUT, LATER): LATER,
    (FAIL_OVER, TIMEOUT, LATER): LATER,
    (CUT, None, "heir holds"): LATER,
    (CUT, None, CUT, None, "heir holds"): LATER,
    (CUT, None, "heir held before"): LostHold,
    (CUT, None, "another holds"): LostHold,
    (CUT, None, "nobody holds"): LostHold,
    (CUT, REFUSED): redis.ResponseError,
    (CUT, None, REFUSED): redis.ResponseError,
}
MAPS = {"heir holds": lock_info("heir", LATER), "heir held before": lock_info("heir", TOKEN - 1),
        "another holds": lock_info("another", LATER), "nobody holds": nobody()}


class Transfers(Case):

    def play(self, replies, between=lambda state: None):
        """Answers a transfer. While there is no answer, the hold is not held."""
        run = Run(self.state.transfer("heir", None))
        for before, reply in zip((CUT, *replies), replies):
            # After a repetition that transferred nothing, who holds the lock?
            self.assertEqual(run.asked[0], "LOCKINFO" if before is None else "TRANSFER")
            self.assertFalse(self.is_held())
            between(self.state)
            self.assertFalse(self.is_held())
            run.reply(MAPS.get(reply, reply) if isinstance(reply, str) else reply)
        self.assertIsNone(run.asked)
        return run

    def judge(self, replies, run):
        expected = TRANSFERS[replies]
        if isinstance(expected, int):
            self.assertEqual(run.result, expected)
            self.assertIsNone(self.state.lost)
            self.assertTrue(self.state.is_released)
        else:
            self.assertIsInstance(run.error, expected)
            self.assertFalse(self.state.is_released)
        self.assertEqual(self.is_held(), replies == (REFUSED,))

    def test_only_a_refusal_makes_the_hold_certain_again(self):
        for replies in TRANSFERS:
            with self.subTest(replies):
                self.setUp()
                self.judge(replies, self.play(replies))

    def test_a_renewal_confirms_nothing(self):
        def renew(state):
            flow = state._ask_renewal(20)
            next(flow)
            with self.assertRaises(StopIteration):
                flow.send(Answer(1, now()))

        for replies in TRANSFERS:
            with self.subTest(replies):
                self.setUp()
                self.judge(replies, self.play(replies, renew))

    def test_a_message_about_the_end_counts_unless_the_transfer_was_confirmed(self):
        def report(state):
            state.hear(Message("lost", b"k", b"me", TOKEN, "transferred"))

        for replies, expected in TRANSFERS.items():
            with self.subTest(replies):
                self.setUp()
                self.play(replies, report)
                self.assertFalse(self.is_held())
                self.assertEqual(self.state.lost is None, isinstance(expected, int))
                if self.state.lost:
                    self.assertIn("transferred", self.state.lost)

    def test_one_that_nobody_confirms_loses_the_hold(self):
        with unittest.mock.patch.object(_hold_state, "_REPEAT_SECONDS", 0):
            run = self.play((TIMEOUT,))
        self.assertIs(type(run.error), type(TIMEOUT))
        self.assertEqual(str(run.error), f"k: {TIMEOUT}")
        self.assertIn("not confirmed its transfer to heir", self.state.lost)
        release = Run(self.state.release())
        self.assertEqual(release.asked, ("UNLOCK", "k", "me", "TOKEN", TOKEN))

    def test_one_that_is_interrupted_loses_the_hold(self):
        run = Run(self.state.transfer("heir", None))
        self.state.end_transfer()
        run.flow.close()
        self.assertFalse(self.is_held())
        self.assertIsNotNone(self.state.lost)

    def test_a_second_one_at_once_is_refused(self):
        first, second = Run(self.state.transfer("heir", None)), Run(self.state.transfer("b", None))
        self.assertIsInstance(second.error, LostHold)
        first.reply(LATER)
        self.assertEqual(first.result, LATER)


if __name__ == "__main__":
    unittest.main()
