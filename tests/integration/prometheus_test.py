"""Debian's Prometheus reads the metrics and evaluates the rules."""

import json
import re
import time
import unittest

import resp
from http_server import HttpServer
from own_fleet import Fleet
from own_prometheus import Prometheus, ROOT, RULES, eventually, promtool, values_of

PAGE_BYTES_MAX = 64 * 1024


class WithServer(unittest.TestCase):

    options = ()

    def setUp(self):
        self.server = self.enterContext(HttpServer(*self.options))
        self.own = self.enterContext(self.server.connect())

    echoes = 0

    def newest_page(self):
        """Returns a page made after this call: on a busy machine, an older one may be reused."""
        self.own.ask("ECHO", "x")
        self.echoes += 1
        give_up = time.monotonic() + 20
        while time.monotonic() < give_up:
            status, _, body = self.server.ask("GET", "/metrics")
            self.assertEqual(status, 200)
            if f'_total{{command="echo"}} {self.echoes}\n'.encode() in body:
                return body
            time.sleep(0.01)
        return self.fail("the page stays old")

    def page(self):
        body = self.newest_page()
        checked = promtool("check", "metrics", input=body)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))
        self.assertLess(len(body), PAGE_BYTES_MAX)
        return values_of(body)

    def send_all(self, requests):
        self.own.send(b"".join(resp.request(*request) for request in requests))
        for _ in requests:
            self.own.reply()


class Figures(WithServer):

    def test_waits_and_holds_are_counted_by_label(self):
        self.own.ask("LOCK", "k", "me", "LABEL", "shop")
        with self.server.connect() as waiter:
            waiter.send(resp.request("LOCK", "k", "you", "WAIT", "20s", "LABEL", "shop"))
            while self.own.ask("POSITION", "k", "you") is None:
                time.sleep(0.001)
            time.sleep(0.12)
            page = self.page()
            self.assertGreaterEqual(page['fairlock_oldest_wait_seconds{label="shop"}'], 0.12)
            self.assertGreaterEqual(page['fairlock_oldest_hold_seconds{label="shop"}'], 0.12)
            self.assertEqual(page['fairlock_label_waiters{label="shop"}'], 1)
            self.own.ask("UNLOCK", "k", "me")
            waiter.reply()
        page = self.page()
        for name in ("wait", "hold"):
            name = f"fairlock_{name}_seconds"
            self.assertEqual(page[f'{name}_count{{label="shop"}}'], 1)
            self.assertGreaterEqual(page[f'{name}_sum{{label="shop"}}'], 0.12)
            self.assertEqual(page[f'{name}_bucket{{label="shop",le="0.1"}}'], 0)
            self.assertEqual(page[f'{name}_bucket{{label="shop",le="1"}}'], 1)
        self.assertEqual(page['fairlock_events_total{label="shop",event="acquired"}'], 2)
        self.assertEqual(page['fairlock_events_total{label="shop",event="released"}'], 1)
        self.assertEqual(page['fairlock_oldest_wait_seconds{label="shop"}'], 0)

    def test_locks_without_end_errors_and_overrides_are_told(self):
        self.own.ask("LOCK", "k", "me", "SESSION", "LABEL", "shop")
        self.own.ask("LIMIT", "SET", "drained:*", "0")
        self.own.ask("LIMIT", "SET", "short:*", "0", "EX", 100)
        self.own.ask("LOCK", "k", "o", "NONSENSE")
        self.own.ask("NONSENSE")
        time.sleep(0.02)
        page = self.page()
        self.assertEqual(page['fairlock_endless_locks{label="shop"}'], 1)
        self.assertEqual(page['fairlock_endless_locks{label=""}'], 0)
        self.assertEqual(page["fairlock_limit_overrides"], 2)
        self.assertGreater(page["fairlock_limit_override_oldest_seconds"], 0.01)
        self.assertEqual(page['fairlock_command_failures_total{command="lock"}'], 1)
        self.assertEqual(page['fairlock_error_replies_total{error="ERR"}'], 2)
        self.assertEqual(page['fairlock_error_replies_total{error="DEADLOCK"}'], 0)

    def test_a_deadlock_is_counted(self):
        with self.server.connect() as other:
            self.own.ask("LOCK", "a", "me")
            other.ask("LOCK", "b", "you")
            other.send(resp.request("LOCK", "a", "you", "WAIT", "20s"))
            while self.own.ask("POSITION", "a", "you") is None:
                time.sleep(0.001)
            self.assertTrue(self.own.ask("LOCK", "b", "me", "WAIT", "20s").startswith("DEADLOCK"))
            self.assertEqual(self.page()['fairlock_error_replies_total{error="DEADLOCK"}'], 1)

    def test_turns_and_what_is_due_are_timed(self):
        for number in range(50):
            self.own.ask("LOCK", f"k{number}", "o", "PX", 20)
        time.sleep(0.1)
        page = self.page()
        self.assertGreaterEqual(page["fairlock_turn_seconds_count"], 50)
        self.assertGreater(page["fairlock_turn_seconds_sum"], 0)
        self.assertGreater(page["fairlock_expiry_lag_seconds_count"], 0)
        self.assertEqual(page["fairlock_expirations_total"], 50)

    def test_the_disk_is_timed(self):
        with HttpServer("--durability", "sync", "--data-dir", "data") as server:
            while server.ask("GET", "/readyz")[0] == 503:
                time.sleep(0.01)
            with server.connect() as own:
                for number in range(20):
                    own.ask("LOCK", f"k{number}", "o")
            page = values_of(server.ask("GET", "/metrics")[2])
            for what in ("commit", "sync"):
                self.assertGreaterEqual(page[f"fairlock_journal_{what}_seconds_count"], 10)
            self.assertGreater(page["fairlock_journal_sync_seconds_sum"], 0)
            self.assertGreater(page["fairlock_storage_free_bytes"], 0)
            self.assertEqual(page["fairlock_journal_lag_seconds"], 0)


class Bounds(WithServer):

    options = ("--stats-labels", "1000")

    def test_the_page_is_small_whatever_is_asked(self):
        labels = [f"label-{number:04}-".ljust(64, "x") for number in range(1200)]
        names = [name.decode() for name in self.own.ask("COMMAND", "LIST")]
        skipped = {"echo", "shutdown", "quit", "monitor", "subscribe", "psubscribe", "reset",
                   "debug"}
        for name in names:
            if name.split("|")[0] not in skipped:
                self.own.ask(*name.split("|"))
        for length in (64, 5):
            self.send_all([("LOCK", f"secret-{label[:length]}{number}", f"secret-{number}", "LABEL",
                            label[:length] if length == 64 else f"s{number}")
                           for number, label in enumerate(labels)])
            page = self.page()
        of_labels = {name for name in page if name.startswith("fairlock_oldest_wait_seconds")}
        self.assertGreater(len(of_labels), 8)
        self.assertIn('fairlock_oldest_wait_seconds{label="other"}', of_labels)
        self.assertGreater(page['fairlock_events_total{label="other",event="acquired"}'], 1000)
        self.assertEqual(sum(count for name, count in page.items() if
                             name.startswith("fairlock_label_holders")), 2400)
        self.assertFalse([name for name in page if "secret" in name or "127.0.0.1" in name])

    def test_many_scrapes_share_one_walk(self):
        self.send_all([("LOCK", f"k{number}", "o") for number in range(20_000)])
        pages = [self.page()["fairlock_holders"] for _ in range(5)]
        self.assertEqual(pages, [20_000] * 5)


def board_panels():
    board = json.loads((ROOT / "deploy/grafana/fairlock.json").read_text())
    # The panels of a collapsed row are inside it.
    return board, [panel for outer in board["panels"] for panel in outer.get("panels", [outer])]


def names_of(page):
    return {line.split()[2] for line in page.decode().splitlines() if line.startswith("# TYPE")}


class Rules(unittest.TestCase):

    def test_promtool_accepts_the_rules_and_their_tests_pass(self):
        self.assertEqual(promtool("check", "rules", RULES).returncode, 0)
        tested = promtool("test", "rules", RULES.with_suffix(".test.yaml"), cwd=RULES.parent)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_each_alert_is_tested_and_has_its_section(self):
        rules = RULES.read_text()
        alerts = re.findall(r"- alert: (\w+)", rules)
        self.assertGreater(len(alerts), 6)
        tests = RULES.with_suffix(".test.yaml").read_text()
        sections = re.findall(r"^#+ (.*)$", (ROOT / "docs/OPERATIONS.md").read_text(), re.M)
        anchors = {section.lower().replace(" ", "-") for section in sections}
        links = re.findall(r"runbook_url: docs/OPERATIONS.md#(\S+)", rules)
        self.assertEqual(links, [alert.lower() for alert in alerts])
        for alert in alerts:
            self.assertIn(alert.lower(), anchors)
            self.assertEqual(tests.count(f'ALERTS{{alertname="{alert}"'), 2)

    def test_a_figure_in_a_rule_or_on_the_board_is_one_that_there_is(self):
        with HttpServer() as server, server.connect() as own:
            own.ask("LOCK", "k", "o", "LABEL", "l")
            own.ask("LOCK", "k")
            there = names_of(server.ask("GET", "/metrics")[2])
        with Fleet(nodes=1, members=1, http=True) as fleet:
            in_fleet = names_of(fleet.nodes[0].get("/metrics"))
        # Nothing of a fleet is shown on a single server.
        self.assertLess(there, in_fleet)
        of_fleets = {name for name in in_fleet if re.match("fairlock_(fleet|etcd)_", name)}
        self.assertEqual(in_fleet - there, of_fleets)
        _, panels = board_panels()
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        expressions = [target["expr"] for panel in panels for target in panel["targets"]]
        for text in [RULES.read_text(), *expressions]:
            for name in re.findall(r"\bfairlock_\w+", text):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertTrue({name, base} & in_fleet, name)


    def test_each_panel_shows_the_chosen_servers_and_partitions(self):
        board, panels = board_panels()
        variables = {one["name"]: one for one in board["templating"]["list"]}
        for name in ("instance", "partition"):
            self.assertTrue(variables[name]["multi"] and variables[name]["includeAll"], name)
        # A single server has no such label, which .* matches and the list of all values does not.
        self.assertEqual(variables["partition"]["allValue"], ".*")
        for panel in panels:
            for target in panel["targets"]:
                chosen = target["expr"].count('instance=~"$instance",partition=~"$partition"')
                self.assertGreater(chosen, 0, target["expr"])
                self.assertEqual(chosen, target["expr"].count("$instance"), target["expr"])
                self.assertEqual(chosen, target["expr"].count("$partition"), target["expr"])


class RealPrometheus(WithServer):

    def test_it_scrapes_the_server_and_evaluates_the_rules(self):
        self.own.ask("LOCK", "k", "o", "LABEL", "shop")
        self.own.ask("CONFIG", "SET", "max_clients", "1")
        prometheus = self.enterContext(Prometheus(self.server.http_port))
        held = eventually(
            lambda: prometheus.value_of('fairlock_label_holders{label="shop"}'))
        self.assertEqual(held, 1)
        # As the board asks on a single server, whose series have no partition.
        self.assertEqual(prometheus.value_of('sum(fairlock_holders{partition=~".*"})'), 1)
        eventually(lambda: prometheus.rules() and all(
            rule["health"] == "ok" for rule in prometheus.rules()))
        self.assertEqual(len(prometheus.rules()), RULES.read_text().count("- alert:"))
        # There are more connections than allowed, so this alert is about to fire.
        eventually(lambda: "FairlockConnectionsNearlyFull" in prometheus.alerts())


if __name__ == "__main__":
    unittest.main()
