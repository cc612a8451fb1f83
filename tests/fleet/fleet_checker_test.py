"""The checker finds planted violations of each rule, and none in histories that are allowed."""

import unittest

import fleet_checker
from tale import Tale


class Holders(Tale):

    def test_one_after_the_other(self):
        self.held()
        self.ask(200, 201, "RENEW k a PX 20000 TOKEN 10", 1)
        self.ask(300, 301, "UNLOCK k a TOKEN 10", 1)
        self.ask(302, 303, "CHECK k 10", 0)
        self.held("b", 11, 400)
        self.assert_clean()

    def test_two_at_once(self):
        self.held()
        self.held("b", 11, 400, client=2)
        self.assert_found("two-holders")

    def test_a_short_grant_within_a_hold(self):
        self.held()
        self.held("b", 11, 400, lease=1, client=2)
        self.assert_found("two-holders")

    def test_a_shared_one_beside_an_exclusive_one(self):
        self.held()
        self.held("b", 11, 400, more="SHARED", client=2)
        self.assert_found("two-holders")

    def test_shared_ones(self):
        self.held(more="SHARED")
        self.held("b", 11, 400, more="SHARED", client=2)
        self.ask(500, 501, "LOCKED k", 2, 3)
        self.assert_clean()

    def test_a_release_without_an_answer_may_have_been_executed(self):
        self.held()
        self.lose(300, 3300, "UNLOCK k a TOKEN 10")
        self.held("b", 11, 400, client=2)
        self.assert_clean()

    def test_a_grant_that_was_told_late_may_have_ended(self):
        self.ask(100, 5000, "LOCK k a PX 2000 WAIT 5s", 10)
        self.held("b", 11, 3000, client=2)
        self.assert_clean()

    def test_a_waiter_that_is_granted_when_the_lease_before_ends(self):
        self.held(lease=2000)
        self.ask(200, 2105, "LOCK k b PX 2000 WAIT 5s", 11, 2)
        self.held("c", 12, 3000, client=3)
        self.assert_found("two-holders")


class Grants(Tale):

    def test_one_that_is_lost(self):
        for text, reply in (("CHECK k 10", 0), ("RENEW k a PX 20000 TOKEN 10", 0),
                            ("LOCKED k a", 0), ("POSITION k a", None), ("UNLOCK k a TOKEN 10", 0),
                            ("LOCK k a PX 20000", None), ("LOCK k a PX 20000", 11)):
            with self.subTest(text):
                self.setUp()
                self.held()
                self.ask(300, 301, text, reply)
                found = fleet_checker.summary(fleet_checker.judge(self.history))
                self.assertIn("lost-grant", found)

    def test_a_release_with_the_token_of_an_earlier_hold(self):
        self.held(lease=2000)
        self.ask(2101, 2102, "LOCK k a PX 20000", 11)
        self.ask(2103, 2104, "UNLOCK k a TOKEN 10", 0)
        self.assert_clean()
        self.ask(2105, 2106, "UNLOCK k a TOKEN 11", 0)
        self.assert_found("lost-grant")

    def test_one_that_ends_with_its_lease(self):
        self.held(lease=2000)
        self.ask(2101, 2102, "CHECK k 10", 0)
        self.assert_clean()

    def test_a_lease_that_ends_early(self):
        self.held(lease=2000)
        self.ask(1000, 1001, "RENEW k a PX 2000 TOKEN 10", 1)
        self.ask(2990, 2991, "CHECK k 10", 0)
        self.assert_found("lease-early")

    def test_a_lease_that_a_fail_over_lengthens(self):
        self.held(lease=2000)
        self.ask(4000, 4001, "CHECK k 10", 1)
        self.assert_clean()

    def test_a_release_that_is_lost(self):
        for text, reply in (("CHECK k 10", 1), ("LOCKED k a", 1), ("POSITION k a", 0),
                            ("RENEW k a PX 20000 TOKEN 10", 1)):
            with self.subTest(text):
                self.setUp()
                self.held()
                self.ask(300, 301, "UNLOCK k a TOKEN 10", 1)
                self.ask(400, 401, text, reply, 2)
                self.assert_found("lost-release")

    def test_a_late_request_may_be_granted_after_the_release(self):
        self.lose(50, 60, "LOCK k a PX 20000")
        self.held()
        self.ask(300, 301, "UNLOCK k a TOKEN 10", 1)
        self.ask(400, 401, "LOCKED k a", 1)
        self.assert_clean()


class Tokens(Tale):

    def test_one_that_falls(self):
        self.held()
        self.ask(300, 301, "UNLOCK k a TOKEN 10", 1)
        self.held("b", 9, 400, client=2)
        self.assert_found("token-order")

    def test_one_that_falls_for_a_waiter(self):
        self.ask(50, 310, "LOCK k b PX 20000 WAIT 5s", 9, 2)
        self.held()
        self.ask(300, 301, "UNLOCK k a TOKEN 10", 1)
        self.assert_found("token-order")

    def test_one_that_falls_for_shared_holds(self):
        self.held(more="SHARED")
        self.held("b", 9, 400, more="SHARED", client=2)
        self.assert_found("token-order")

    def test_one_for_two(self):
        self.held()
        self.ask(300, 301, "UNLOCK k a TOKEN 10", 1)
        self.held("b", 10, 400, client=2)
        self.assert_found("token-order")

    def test_requests_at_the_same_time_have_no_order(self):
        self.ask(100, 200, "LOCK k a PX 20000 SHARED", 11)
        self.ask(150, 160, "LOCK k b PX 20000 SHARED", 10, 2)
        self.assert_clean()


class Lines(Tale):

    def wait(self, owner, sent, answered, reply, client):
        self.ask(sent, answered, f"LOCK k {owner} PX 20000 WAIT 60s", reply, client)

    def line(self):
        """Adds this history: a holds the lock; b waits, and is shown, before c asks; b and c lose
        their connections and ask again, c first; a releases the lock once both are shown as
        waiting."""
        self.held()
        self.look(300, 301, "b")
        self.lose(200, 3000, "LOCK k b PX 20000 WAIT 60s", 2)
        self.lose(400, 3000, "LOCK k c PX 20000 WAIT 60s", 3)
        self.look(500, 501, "b", "c")
        self.look(5000, 5001, "B", "c")
        self.ask(6000, 6001, "UNLOCK k a TOKEN 10", 1)

    def test_in_order(self):
        self.line()
        self.look(5900, 5901, "b", "c")
        self.wait("c", 4500, 6200, 12, 3)
        self.wait("b", 5500, 6002, 11, 2)
        self.ask(6100, 6101, "UNLOCK k b TOKEN 11", 1, 2)
        self.assert_clean()

    def test_granted_in_the_wrong_order(self):
        self.line()
        self.look(5900, 5901, "b", "c")
        self.wait("c", 4500, 6002, 11, 3)
        self.wait("b", 5500, 6200, 12, 2)
        self.ask(6100, 6101, "UNLOCK k c TOKEN 11", 1, 3)
        self.assert_found("line-order")

    def test_passed_by_another(self):
        self.line()
        self.look(5900, 5901, "b", "c")
        self.wait("c", 4500, 6002, 11, 3)
        self.lose(5500, 9000, "LOCK k b PX 20000 WAIT 60s", 2)
        self.assert_found("line-order")

    def test_a_new_order_after_a_fail_over(self):
        self.line()
        self.wait("c", 4500, 6002, 11, 3)
        self.look(5900, 5901, "c", "b")
        self.wait("b", 5500, 6200, 12, 2)
        self.ask(6100, 6101, "UNLOCK k c TOKEN 11", 1, 3)
        self.assert_found("line-order")

    def test_one_that_did_not_ask_again_is_passed(self):
        self.line()
        self.look(5900, 5901, "B", "c")
        self.wait("c", 4500, 6002, 11, 3)
        self.wait("b", 5950, 6200, 12, 2)
        self.ask(6100, 6101, "UNLOCK k c TOKEN 11", 1, 3)
        self.assert_clean()

    def test_a_place_that_is_lost(self):
        self.line()
        self.look(5900, 5901, "c")
        self.wait("c", 4500, 6002, 11, 3)
        self.wait("b", 5950, 6200, 12, 2)
        self.ask(6100, 6101, "UNLOCK k c TOKEN 11", 1, 3)
        self.assert_found("lost-place")

    def test_a_place_ends_with_its_grace(self):
        self.held(lease=600_000)
        self.lose(200, 3000, "LOCK k b PX 20000 WAIT 60s", 2)
        self.look(300, 301, "b")
        self.look(31_000, 31_001)
        self.wait("b", 32_000, 62_000, 11, 2)
        self.ask(61_999, 62_000, "UNLOCK k a TOKEN 10", 1)
        self.assert_clean()


class Reads(Tale):

    def test_locked_that_counts_too_few_or_too_many(self):
        self.held(more="SHARED")
        self.held("b", 11, 110, more="SHARED", client=2)
        for count, rules in ((1, ["false-read"]), (2, []), (3, ["false-read"])):
            with self.subTest(count):
                self.ask(300, 301, "LOCKED k", count, 3)
                self.assert_found(*rules)
                self.history.requests.pop()

    def test_locked_of_an_owner_that_never_asked(self):
        self.held()
        self.ask(300, 301, "LOCKED k x", 1, 3)
        self.assert_found("false-read")

    def test_a_waiter_that_does_not_wait(self):
        self.held()
        self.ask(200, 210, "LOCK k b PX 20000", None, 2)
        self.look(300, 301, "b")
        self.assert_found("false-read")

    def test_a_position_of_a_request_that_has_ended(self):
        self.held()
        self.ask(200, 210, "LOCK k b PX 20000 WAIT 5s", None, 2)
        self.ask(300, 301, "POSITION k b", 1, 2)
        self.assert_found("false-read")

    def test_a_holder_in_the_queue(self):
        self.held()
        self.look(300, 301, "a")
        self.assert_found("false-read")

    def test_a_holder_in_the_queue_that_repeats_its_request(self):
        self.held()
        self.ask(290, 310, "LOCK k a PX 20000", 10)
        self.look(300, 301, "a")
        self.assert_found("false-read")

    def test_an_error(self):
        self.ask(100, 101, "LOCK k a PX 20000", {"error": "ERR no"})
        self.assert_found("unexpected-error")

    def test_a_release_with_an_older_token_ends_nothing(self):
        self.ask(100, 101, "LOCK k a PX 2000", 10)
        self.ask(5000, 5001, "LOCK k a PX 2000", 11)
        self.ask(5100, 5101, "UNLOCK k a TOKEN 10", 0)
        self.ask(5200, 5201, "LOCKED k a", 1)
        self.assert_clean()

    def test_a_request_that_is_in_progress_explains_either_answer(self):
        self.held()
        self.ask(300, 400, "UNLOCK k a TOKEN 10", 1)
        self.ask(350, 360, "LOCKED k", 1, 2)
        self.ask(361, 370, "LOCKED k", 0, 3)
        self.assert_clean()


if __name__ == "__main__":
    unittest.main()
