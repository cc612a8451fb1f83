"""Searching the history and sorting locks over HTTP; also what the API says about options and
access."""

import unittest

import resp
from http_server import TOKEN, WithServer


class Lists(WithServer):

    def events_of(self, query):
        status, answer = self.server.get("/api/v1/history?" + query)
        self.assertEqual(status, 200, answer)
        return [(event["db"], event["key"], event["event"])
                for event in answer["history"]["events"]]

    def test_the_past_is_searched_by_glob_kind_and_over_all_databases(self):
        self.own.ask("LOCK", "order:1", "o")
        self.own.ask("LOCK", "order:1", "p")
        self.own.ask("LOCK", "stock:1", "o")
        self.own.ask("SELECT", 7)
        self.own.ask("LOCK", "order:7", "q")
        self.own.ask("BREAK", "order:7")
        self.assertEqual(self.events_of("match=order:*"),
                         [(0, "order:1", "denied"), (0, "order:1", "granted")])
        self.assertEqual(self.events_of("db=*&event=granted"),
                         [(7, "order:7", "granted"), (0, "stock:1", "granted"),
                          (0, "order:1", "granted")])
        self.assertEqual(self.events_of("db=*&match=*:%5B17%5D&event=broken,denied"),
                         [(7, "order:7", "broken"), (0, "order:1", "denied")])
        self.assertEqual(self.events_of("db=7&owner=q&event=denied"), [])
        now_ms = 1000 * int(self.own.ask("TIME")[0])
        for longer in ("1h", "3600s", str(now_ms - 3_600_000)):
            self.assertEqual(self.events_of("db=7&event=granted&since=" + longer),
                             [(7, "order:7", "granted")])
            self.assertEqual(self.events_of("db=7&until=" + longer), [])

    def test_what_few_events_pass_is_found_far_back(self):
        self.own.ask("LOCK", "needle", "o")
        for _ in range(3):
            self.own.send(b"".join(resp.request(name, f"hay:{n}", "o")
                                   for n in range(9_000) for name in ("LOCK", "UNLOCK")))
            for _ in range(18_000):
                self.own.reply()
        # 54,000 events are more than one answer searches, so the answer says where to continue.
        page = self.server.get("/api/v1/history?match=needle")[1]["history"]
        self.assertEqual(page["events"], [])
        self.assertIsNotNone(page["next_until"])
        page = self.server.get("/api/v1/history?match=needle&before=" +
                               str(page["next_before"]))[1]["history"]
        self.assertEqual([event["key"] for event in page["events"]], ["needle"])
        self.assertIsNone(page["next_before"])

    def test_locks_are_sorted_by_each_column_and_both_ways(self):
        for key, owner, limit in (("b", "zoe", 3), ("a", "max", 1), ("c", "ann", 2)):
            for number in range(limit):
                self.own.ask("LOCK", key, f"{owner}{number}", "LIMIT", limit, "LABEL", "l" + key)
        self.wait_in_line("free", "w")

        def keys(query):
            return [row["key"] for row in self.server.get("/api/v1/locks?" + query)[1]["locks"]]

        self.assertEqual(keys("sort=key&match=?"), ["a", "b", "c"])
        self.assertEqual(keys("sort=key&match=?&reverse=true"), ["c", "b", "a"])
        self.assertEqual(keys("sort=limit&match=?"), ["b", "c", "a"])
        self.assertEqual(keys("sort=holders&match=?&reverse=true"), ["a", "c", "b"])
        self.assertEqual(keys("sort=owner&match=?"), ["c", "a", "b"])
        self.assertEqual(keys("sort=label&count=1&reverse=true&match=?"), ["c"])
        # Ties are ordered by key, so that pages are stable.
        self.assertEqual(keys("sort=waiters&match=?"), ["a", "b", "c"])
        self.assertEqual(keys("sort=waiters&match=?&reverse=true"), ["a", "b", "c"])

    def test_the_options_that_are_called_changeable_are_those_that_change(self):
        options = self.server.get("/api/v1/settings")[1]["options"]
        self.assertGreater(sum(option["changeable"] for option in options), 10)
        self.assertGreater(sum(not option["changeable"] for option in options), 10)
        for option in options:
            with self.subTest(option["name"]):
                status, answer = self.server.post(
                    "/api/v1/settings", {"name": option["name"], "value": option["value"]})
                self.assertEqual(status, 200 if option["changeable"] else 400, answer)
                if status == 400:
                    self.assertIn("can't set immutable config", answer["error"]["message"])

    def test_credentials_are_judged_before_they_are_used(self):
        self.assertEqual(self.server.get("/api/v1/access")[0], 401)
        status, answer = self.server.get("/api/v1/access", token="a-wrong-token-of-the-tests")
        self.assertEqual((status, answer["error"]["code"]), (401, "NOAUTH"))
        status, answer = self.server.get("/api/v1/access", token=TOKEN)
        self.assertEqual((status, answer), (200, {"user": None, "may": [
            "break", "cancel", "limits", "clients", "settings"]}))


if __name__ == "__main__":
    unittest.main()
