"""Three client libraries go through a few fail-overs; and the judge of the long form,
through_fail_overs.py, finds what it should."""

import unittest

import through_fail_overs
import hold_judge


def attempt(op, key, begun, ended, **outcome):
    return {"op": op, "key": key, "begun": begun, "ended": ended, **outcome}


def hold(token, begun, released, key="k"):
    return [attempt("LOCK", key, begun, begun + 1, reply=token),
            attempt("CHECK", key, begun + 2, begun + 3, reply=1),
            attempt("UNLOCK", key, released, released + 1, reply=1)]


class Judge(unittest.TestCase):

    def findings(self, outages=(), **attempts_of):
        return hold_judge.judge(attempts_of, outages)

    def assert_found(self, text, **attempts_of):
        findings = self.findings(**attempts_of)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(text, findings[0])

    def test_holds_that_follow_each_other_are_right(self):
        self.assertEqual(self.findings(a=hold(1, 10, 20) + hold(3, 29, 50), b=hold(2, 19, 29)), [])
        self.assertEqual(self.findings(a=hold(1, 10, 20), b=hold(2, 12, 30, key="other")), [])

    def test_two_holders(self):
        self.assert_found("two holders", a=hold(1, 10, 20), b=hold(2, 12, 30))

    def test_a_token_that_falls(self):
        self.assert_found("fell", a=hold(2, 10, 20), b=hold(1, 30, 40))

    def test_a_token_given_twice(self):
        self.assert_found("one token", a=hold(1, 10, 20), b=hold(1, 30, 40))

    def test_a_holder_that_was_not_answered_at_the_end_still_holds(self):
        self.assert_found("two holders", a=hold(1, 10, 20)[:1], b=hold(2, 30, 40))

    def test_a_lost_lock(self):
        for op in ("CHECK", "UNLOCK", "RENEW"):
            with self.subTest(op):
                self.assert_found(op, a=[attempt(op, "k", 10, 11, reply=0)])
        self.assert_found("LOCK", a=[attempt("LOCK", "a:held", 10, 11, reply=None)])

    def test_requests_for_two_keys_at_once(self):
        both = [attempt("LOCK", "k", 10, 20, error="closed"), attempt("LOCK", "j", 11, 12, reply=1),
                attempt("LOCK", "k", 21, 22, reply=2), attempt("UNLOCK", "j", 13, 25, reply=0)]
        self.assert_found("UNLOCK j", a=both)

    def test_an_unlock_may_have_been_executed_before(self):
        repeated = [attempt("UNLOCK", "k", 10, 11, error="closed"),
                    attempt("UNLOCK", "k", 12, 13, reply=0)]
        self.assertEqual(self.findings(a=repeated), [])
        alone = [attempt("UNLOCK", "k", 10, 20, reply=0)]
        self.assertEqual(self.findings(outages=[(15, 30)], a=alone), [])
        self.assertEqual(len(self.findings(outages=[(21, 30)], a=alone)), 1)


class ThroughFailOvers(unittest.TestCase):

    FAIL_OVERS = 4

    def test_three_clients(self):
        clients = ("redis-py", "ioredis", "fairlock, redis-py")
        arguments = through_fail_overs.parsed(["--fail-overs", str(self.FAIL_OVERS),
                                               "--clients", *clients])
        run = through_fail_overs.FailOvers(arguments)
        run.run()
        run.report()
        self.assertEqual(run.findings, [])
        self.assertEqual(run.missing, {})
        rows = run.rows()
        self.assertEqual([(row["client"], row["mode"]) for row in rows],
                         [(client, mode) for client in clients
                          for mode in ("sentinel", "plain")])
        for row in rows:
            self.assertEqual(row["fail_overs"], self.FAIL_OVERS, row)
            self.assertGreater(row["operations"], 100, row)


if __name__ == "__main__":
    unittest.main()
