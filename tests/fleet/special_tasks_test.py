"""The checker finds planted violations of the rules of SESSION, MLOCK, TRANSFER, turns and values,
and none in histories that are allowed."""

import unittest

import fleet_checker
from fleet_holds import MS
from records import Request
from tale import Tale


class Sessions(Tale):
    """Client 1 has a hold that ends with its connection, and proves until 1000 that it exists."""

    def setUp(self):
        super().setUp()
        self.held(more="SESSION")
        self.ask(1000, 1001, "CHECK k 10", 1)

    def test_one_that_is_lost_while_its_connection_exists(self):
        self.ask(500, 501, "CHECK k 10", 0, client=2)
        self.assert_found("lost-grant")

    def test_one_that_its_own_connection_finds_lost(self):
        for text, reply in (("CHECK k 10", 0), ("UNLOCK k a TOKEN 10", 0)):
            with self.subTest(text):
                self.setUp()
                self.ask(1500, 1501, text, reply)
                self.assertIn("lease-early",
                              fleet_checker.summary(fleet_checker.judge(self.history)))

    def test_another_holder_while_its_connection_exists(self):
        self.held("b", 11, 400, client=2)
        self.assert_found("two-holders")

    def test_its_connection_may_end_at_any_time_after(self):
        self.ask(1100, 1101, "CHECK k 10", 0, client=2)
        self.held("b", 11, 1200, client=2)
        self.ask(1300, 1301, "CHECK k 10", 0, client=1, connection=2)
        self.assert_clean()

    def test_a_late_request_may_bind_it_to_a_connection_that_has_ended(self):
        self.lose(50, 60, "LOCK k a PX 20000 SESSION")
        self.ask(500, 501, "CHECK k 10", 0, client=2)
        self.assert_clean()


class Several(Tale):

    def lock(self, token=10, client=1):
        self.ask(100, 101, "MLOCK 2 k l a PX 20000", token, client)

    def check(self, sent, *replies, client=1):
        self.history.requests.append(Request(
            client, 1, sent * MS, ["STEP", "EXEC", ["CHECK", "k", 10], ["CHECK", "l", 10]],
            (sent + 1) * MS, list(replies)))

    def test_taken_renewed_and_released(self):
        self.lock()
        self.check(200, 1, 1)
        self.ask(300, 301, "MRENEW 2 l k a PX 20000 TOKEN 10", 1)
        self.ask(400, 401, "MUNLOCK 2 l k a TOKEN 10", 2)
        self.check(500, 0, 0)
        self.held("b", 11, 600, client=2)
        self.assert_clean()

    def test_half_of_it_is_seen(self):
        self.lose(100, 3100, "MLOCK 2 k l a PX 20000")
        self.check(3200, 1, 0)
        self.assert_found("half-mlock")

    def test_half_of_it_is_released(self):
        self.ask(400, 401, "MUNLOCK 2 k l a TOKEN 10", 1)
        self.assert_found("half-mlock")

    def test_another_holder_of_one_key(self):
        self.lock()
        self.ask(400, 401, "LOCK l b PX 20000", 11, 2)
        self.assert_found("two-holders")

    def test_one_that_is_lost(self):
        self.lock()
        self.check(200, 0, 0)
        self.assert_found("lost-grant")

    def test_a_renewal_that_is_refused(self):
        self.lock()
        self.ask(300, 301, "MRENEW 2 k l a PX 20000 TOKEN 10", 0)
        self.assert_found("lost-grant")

    def test_one_that_is_seen_after_its_release(self):
        self.lock()
        self.ask(300, 301, "MUNLOCK 2 k l a TOKEN 10", 2)
        self.check(400, 1, 1)
        self.assert_found("lost-release")

    def test_a_release_that_finds_nothing(self):
        self.lock()
        self.ask(300, 301, "MUNLOCK 2 k l a TOKEN 10", 0)
        self.assert_found("lost-grant")

    def test_an_error_within_a_step(self):
        self.check(400, 1, {"error": "ERR no"})
        self.assert_found("unexpected-error")


class Transfers(Tale):

    def transfer(self, sent, answered, reply, client=1):
        self.ask(sent, answered, "TRANSFER k a b PX 20000 TOKEN 10", reply, client)

    def test_the_next_owner_holds_the_lock(self):
        self.held()
        self.transfer(200, 201, 11)
        self.ask(300, 301, "CHECK k 10", 0)
        self.ask(302, 303, "CHECK k 11", 1)
        self.ask(304, 305, "LOCKED k b", 1)
        self.ask(400, 401, "UNLOCK k b TOKEN 11", 1)
        self.held("c", 12, 500, client=2)
        self.assert_clean()

    def test_the_owner_before_is_still_seen(self):
        self.held()
        self.transfer(200, 201, 11)
        self.ask(300, 301, "CHECK k 10", 1)
        self.assert_found("lost-release")

    def test_the_next_owner_is_not_seen(self):
        self.held()
        self.transfer(200, 201, 11)
        self.ask(300, 301, "LOCKED k b", 0)
        self.assert_found("lost-grant")

    def test_another_holder_after_it(self):
        self.held()
        self.transfer(200, 201, 11)
        self.held("c", 12, 500, client=2)
        self.assert_found("two-holders")

    def test_a_token_that_does_not_rise(self):
        self.held()
        self.transfer(200, 201, 9)
        self.assert_found("token-order")

    def test_one_that_finds_no_hold(self):
        self.held()
        self.transfer(200, 201, None)
        self.assert_found("lost-grant")

    def test_one_without_an_answer_may_be_executed_late(self):
        self.held()
        self.lose(200, 3200, "TRANSFER k a b PX 20000 TOKEN 10")
        self.ask(3300, 3301, "CHECK k 10", 1)
        self.ask(3400, 3401, "LOCKED k b", 1)
        self.ask(3402, 3403, "CHECK k 10", 0)
        self.assert_clean()


class Turns(Tale):
    """Owner b waits, which is shown before c asks; nobody loses a connection."""

    def wait(self, tokens, lost=False):
        self.held(lease=600_000)
        self.ask(300, 301, "POSITION k b", 1)
        for owner, sent, token, client in (("b", 200, tokens[0], 2), ("c", 302, tokens[1], 3)):
            if lost:
                self.lose(sent - 100, sent - 50, f"LOCK k {owner} PX 20000 WAIT 60s", client)
            first = token == min(tokens)
            self.ask(sent, 501 if first else 601, f"LOCK k {owner} PX 20000 WAIT 60s", token,
                     client)
            self.ask(599 if first else 610, 600 if first else 611, f"UNLOCK k {owner}", 1, client)
        self.ask(500, 501, "UNLOCK k a TOKEN 10", 1)

    def test_in_order(self):
        self.wait((11, 12))
        self.assert_clean()

    def test_granted_in_the_wrong_order(self):
        self.wait((12, 11))
        self.assert_found("fifo-order")

    def test_one_that_asked_again_may_have_been_passed(self):
        self.wait((12, 11), lost=True)
        self.assert_clean()


class Values(Tale):
    """Written with SET, HSET, INCR and HINCRBY; all kinds have the same rules."""

    def test_in_order(self):
        self.ask(10, 11, "GET r", None)
        self.ask(100, 101, "SET r one", "OK")
        self.ask(200, 300, "SET r two", "OK", 2)
        self.ask(210, 220, "GET r", "one")
        self.ask(230, 240, "GET r", "two")
        self.ask(10, 11, "HSET h field 1", 1)
        self.ask(12, 13, "HGET h field", 1)
        self.assert_clean()

    def test_a_write_that_is_lost(self):
        for more in ("r", "h field"):
            with self.subTest(more):
                self.setUp()
                write, read = ("SET", "GET") if more == "r" else ("HSET", "HGET")
                self.ask(100, 101, f"{write} {more} one", "OK")
                self.ask(200, 201, f"{write} {more} two", "OK")
                self.ask(300, 301, f"{read} {more}", "one")
                self.assert_found("stale-value")

    def test_the_first_write_is_lost(self):
        self.ask(100, 101, "SET r one", "OK")
        self.ask(300, 301, "GET r", None)
        self.assert_found("stale-value")

    def test_a_value_that_comes_back(self):
        self.ask(100, 500, "SET r one", "OK")
        self.ask(100, 500, "SET r two", "OK", 2)
        for at, value in ((200, "one"), (210, "two"), (220, "one")):
            self.ask(at, at + 1, "GET r", value, 3)
        self.assert_found("stale-value")

    def test_a_value_that_nobody_wrote(self):
        self.ask(300, 301, "GET r", "one")
        self.ask(302, 303, "SET r one", "OK")
        self.assert_found("unknown-value")

    def test_a_write_without_an_answer_may_be_executed_late_or_never(self):
        self.lose(10, 20, "SET r never")
        self.lose(30, 40, "SET r late")
        self.ask(100, 101, "SET r one", "OK")
        self.ask(200, 201, "GET r", "one")
        self.ask(300, 301, "GET r", "late")
        self.assert_clean()
        self.ask(400, 401, "GET r", "one")
        self.assert_found("stale-value")

    def test_increments(self):
        self.ask(100, 200, "INCR n", 2)
        self.ask(100, 200, "INCR n", 1, 2)
        self.ask(150, 160, "GET n", "1", 3)
        self.lose(170, 180, "INCR n", 2)
        self.ask(210, 211, "GET n", "2", 3)
        self.ask(220, 221, "INCR n", 4)
        self.ask(10, 11, "HINCRBY h field 1", 1)
        self.ask(12, 13, "HGET h field", "1")
        self.assert_clean()

    def test_an_increment_that_is_lost(self):
        for text, reply in (("GET n", "0"), ("GET n", None), ("INCR n", 1), ("INCR n", 0)):
            with self.subTest((text, reply)):
                self.setUp()
                self.ask(100, 101, "INCR n", 1)
                self.ask(200, 201, text, reply)
                self.assert_found("stale-value")

    def test_an_increment_that_is_made_twice(self):
        self.ask(100, 101, "HINCRBY h field 1", 1)
        self.ask(200, 201, "HGET h field", "2")
        self.assert_found("unknown-value")

    def test_two_increments_with_one_result(self):
        self.ask(100, 200, "INCR n", 1)
        self.ask(100, 200, "INCR n", 1, 2)
        self.assert_found("stale-value")


if __name__ == "__main__":
    unittest.main()
