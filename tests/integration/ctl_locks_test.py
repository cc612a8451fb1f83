"""fairlockctl inspects, takes and breaks locks on a real server."""

import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from fairlockctl import (DONE, Fairlockctl, NO, NOT_ALLOWED, NOT_OBTAINED, NOT_WRITTEN, PROGRAM,
                         REFUSED, UNREACHABLE, WRONG_USE)
from own_redis import Redis
from own_server import free_port, Server
import resp
from terminal import Terminal


class WithServer(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())
        self.ctl = Fairlockctl(self.server)

    def wait_in_line(self, key, owner, *options):
        """Returns a connection whose request waits for the key."""
        connection = self.enterContext(self.server.connect())
        connection.send(resp.request("LOCK", key, owner, "WAIT", "100s", *options))
        while self.own.ask("POSITION", key, owner) is None:
            pass
        return connection


class Locking(WithServer):

    def test_a_lock_is_taken_renewed_and_released(self):
        token = int(self.ctl.text("lock", "k", "me", "--ttl", "1m", "--meta", "note"))
        self.assertEqual(self.own.ask("CHECK", "k", token), 1)
        self.assertEqual(self.ctl.text("renew", "k", "me", "--ttl", "2h"), "")
        holder = self.ctl.json("show", "k")["holders"][0]
        self.assertEqual(holder["meta"], "note")
        self.assertGreater(holder["ttl_ms"], 7_000_000)
        self.assertEqual(self.ctl.text("unlock", "k", "me", "--token", str(token)), "")
        again = self.ctl.run("unlock", "k", "me")
        self.assertEqual((again.returncode, again.stdout), (NO, ""))
        self.assertEqual(again.stderr, "fairlockctl: 'me' does not hold 'k'\n")

    def test_an_owner_that_already_held_it_is_told(self):
        for keys in (["k"], ["a", "b"]):
            first = self.ctl.run("lock", *keys, "me")
            self.assertEqual((first.returncode, first.stderr), (DONE, ""))
            again = self.ctl.run("lock", *keys, "me")
            self.assertEqual((again.returncode, again.stdout), (DONE, first.stdout))
            names = " and ".join(f"'{key}'" for key in keys)
            self.assertIn(f"'me' already held {names}: another process", again.stderr)
            self.assertEqual(self.ctl.json("lock", *keys, "me")["status"], "already")
            self.assertEqual(self.ctl.run("lock", *keys, "me", "--new").returncode, NOT_OBTAINED)

    def test_the_owner_in_the_docs_is_unique(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "FAIRLOCKCTL.md").read_text()
        block = next(text for text in re.findall("^```sh\n(.*?)^```$", page, re.M | re.S)
                     if "lock nightly" in text and "--wait" in text)
        # Two containers with one host name, in which the shell is process 1.
        script = ("hostname() { echo worker; }\nfairlockctl() { command $FAIRLOCKCTL \"$@\"; }\n" +
                  block.replace("$$", "1").replace("--wait 5m", "--wait 0") + "echo $token\n")
        environment = {**self.ctl.environment, "FAIRLOCKCTL": str(PROGRAM)}
        codes = [subprocess.run(["sh", "-c", script], env=environment, capture_output=True,
                                timeout=60, check=False).returncode for _ in range(2)]
        self.assertEqual(codes, [DONE, NOT_OBTAINED])

    def test_a_denial_says_who_holds(self):
        self.ctl.text("lock", "k", "first")
        denied = self.ctl.run("lock", "k", "second")
        self.assertEqual((denied.returncode, denied.stdout), (NOT_OBTAINED, ""))
        self.assertRegex(denied.stderr,
                         "^fairlockctl: 'k' was not obtained: held; 'first' has held it for "
                         r"\d+ms, lease left 29\.\ds; 0 waiting; ")
        late = self.ctl.run("lock", "k", "second", "--wait", "50ms", "--json")
        self.assertEqual(late.returncode, NOT_OBTAINED)
        answer = json.loads(late.stdout)
        self.assertEqual((answer["status"], answer["token"]), ("timeout", None))
        late = self.ctl.run("lock", "k", "second", "--wait", "50ms")
        self.assertRegex(late.stderr, "'k' was not obtained in time; 'first' has held it for ")

    def test_a_wait_ends_with_the_hand_over(self):
        self.own.ask("LOCK", "k", "first")
        waiting = self.ctl.start("lock", "k", "second", "--wait", "forever", stdout=-1)
        while self.own.ask("POSITION", "k", "second") != 1:
            pass
        watching = self.ctl.start("wait", "k", stdout=-1)
        while b"watchers:1" not in self.own.ask("INFO", "locks"):
            pass
        self.own.ask("UNLOCK", "k", "first")
        self.assertEqual(int(waiting.communicate(timeout=20)[0]),
                         self.own.ask_map("LOCKINFO", "k")[b"holders"][0][3])
        self.assertEqual(watching.wait(20), DONE)
        watching.stdout.close()

    def test_waiting_for_the_end_of_holds_has_a_time_limit(self):
        self.assertEqual(self.ctl.run("wait", "k").returncode, DONE)
        self.own.ask("LOCK", "k", "first")
        self.assertEqual(self.ctl.run("wait", "k", "--timeout", "50ms").returncode, NOT_OBTAINED)

    def test_the_owner_comes_from_the_environment_too(self):
        ctl = Fairlockctl(self.server, FAIRLOCK_OWNER="me")
        ctl.text("lock", "k")
        self.assertEqual(self.own.ask("LOCKED", "k", "me"), 1)
        ctl.text("unlock", "k", "--owner", "me")
        ctl.text("lock", "k", "you")  # the last argument has precedence over the environment
        self.assertEqual(self.own.ask("LOCKED", "k", "you"), 1)
        either = ctl.run("lock", "a", "b", "c")
        self.assertEqual(either.returncode, WRONG_USE)
        self.assertIn("FAIRLOCK_OWNER is set, so 'c' could be a key or the owner", either.stderr)

    def test_several_keys_are_one_lock(self):
        token = self.ctl.json("lock", "a", "b", "c", "--owner", "me")["token"]
        self.assertEqual([self.own.ask("CHECK", key, token) for key in "abc"], [1, 1, 1])
        self.assertEqual(self.ctl.text("renew", "a", "b", "c", "me", "--ttl", "2h"), "")
        denied = self.ctl.run("lock", "--key", "x", "--key", "b", "you")
        self.assertEqual((denied.returncode, denied.stdout), (NOT_OBTAINED, ""))
        self.assertIn("'x' and 'b' were not obtained: 'b' is held; 'me' has held 'b'",
                      denied.stderr)
        self.assertEqual(self.own.ask("LOCKED", "x"), 0)
        released = self.ctl.json("unlock", "a", "b", "c", "me")
        self.assertEqual(released, {"keys": ["a", "b", "c"], "owner": "me", "released": 3})
        again = self.ctl.run("unlock", "a", "b", "me")
        self.assertEqual((again.returncode, again.stderr),
                         (NO, "fairlockctl: 'me' does not hold 'a' and 'b'\n"))
        for words, missing in ((("lock",), "KEY is required"),
                               (("lock", "k"), "OWNER is required")):
            wrong = self.ctl.run(*words)
            self.assertEqual(wrong.returncode, WRONG_USE)
            self.assertIn(missing, wrong.stderr)

    def test_modes_and_labels_arrive(self):
        self.ctl.text("lock", "k", "a", "--limit", "2", "--label", "kind", "--min-hold", "1m")
        shown = self.ctl.json("show", "k")
        self.assertEqual(shown["mode"], "semaphore")
        self.assertEqual(shown["holders"][0]["label"], "kind")
        self.ctl.text("lock", "s", "a", "--shared")
        self.assertEqual(self.ctl.json("show", "s")["mode"], "shared")
        self.assertEqual(self.ctl.run("lock", "s", "a", "--shared", "--new").returncode,
                         NOT_OBTAINED)

    def test_a_place_is_cancelled(self):
        self.own.ask("LOCK", "k", "first")
        waiter = self.wait_in_line("k", "second")
        self.ctl.text("cancel", "k", "second")
        self.assertRegex(waiter.reply(), "^CANCELLED")
        self.assertEqual(self.ctl.run("cancel", "k", "second").returncode, NO)

    def test_the_error_of_the_server_is_shown(self):
        wrong = self.ctl.run("lock", "k", "me", "--ttl", "400d")
        self.assertEqual(wrong.returncode, REFUSED)
        self.assertRegex(wrong.stderr, r"answered: ERR .*PX")


    def test_a_mistake_is_told_before_the_server_is_asked(self):
        for words, text in (
                (("lock", "k", "me", "--replace"), "--replace needs --max-waiters"),
                (("lock", "k", "me", "--ttl", "0"),
                 "--ttl must be a duration such as 500ms, 30s, 1h30m or 2d, and at least 1ms, "
                 "got '0'"),
                (("renew", "k", "me", "--ttl", "0s"), "--ttl must be "),
                (("run", "k", "--ttl", "0.4ms", "--", "true"), "and at least 1ms, got '0.4ms'"),
                (("limit", "set", "a", "5", "--for", "0"),
                 "whole seconds such as 30s, 1h30m or 2d, got '0'"),
                (("limit", "set", "a", "5", "--for", "1ms"), "whole seconds"),
                (("drain", "a", "--for", "1.5s"), "whole seconds")):
            wrong = self.ctl.run(*words)
            self.assertEqual((wrong.returncode, wrong.stdout), (WRONG_USE, ""), words)
            self.assertIn(text, wrong.stderr)
        self.assertEqual(self.own.ask("LOCKED", "k"), 0)

    def test_output_that_gets_lost_is_told(self):
        for words in (("lock", "k", "me"), ("locks",), ("status", "--json"), ("--help",),
                      ("completion", "bash")):
            with open("/dev/full", "w", encoding="ascii") as full:
                lost = self.ctl.start(*words, stdout=full, stderr=subprocess.PIPE)
                _, errors = lost.communicate(timeout=20)
            self.assertEqual(lost.returncode, NOT_WRITTEN, words)
            self.assertIn("fairlockctl: cannot write to standard output", errors)
        # If standard output is closed, its descriptor is not reused for the connection.
        script = f"exec {PROGRAM} lock k2 me >&-"
        closed = subprocess.run(["sh", "-c", script], env=self.ctl.environment, check=False,
                                stderr=subprocess.DEVNULL, timeout=20)
        self.assertEqual(closed.returncode, NOT_WRITTEN)
        self.assertEqual(self.own.ask("LOCKED", "k2", "me"), 1)


class Looking(WithServer):

    def test_locks_of_all_databases_are_listed(self):
        self.own.ask("LOCK", "a", "x", "LABEL", "jobs")
        self.own.ask("SELECT", "3")
        self.own.ask("LOCK", "b", "y")
        found = self.ctl.json("locks")
        self.assertEqual((found["shown"], found["found"]), (2, 2))
        rows = {(row["key"], row["db"]): row for row in found["locks"]}
        self.assertEqual(rows["a", 0]["label"], "jobs")
        self.assertEqual(rows["b", 3]["first_owner"], "y")
        self.assertEqual([row["key"] for row in self.ctl.json("locks", "--db", "3")["locks"]],
                         ["b"])
        self.assertEqual([row["key"] for row in self.ctl.json("locks", "[a-a]")["locks"]], ["a"])
        self.assertIn("No matching lock is held", self.ctl.text("locks", "nothing*"))

    def test_many_locks_come_page_by_page(self):
        self.own.send(b"".join(resp.request("LOCK", f"k{number}", "o") for number in range(5000)))
        for _ in range(5000):
            self.own.reply()
        keys = {row["key"] for row in self.ctl.json("locks")["locks"]}
        self.assertEqual(keys, {f"k{number}" for number in range(5000)})
        self.assertEqual(self.ctl.json("locks", "--count", "7")["shown"], 7)
        lines = self.ctl.text("locks").splitlines()
        self.assertEqual(len(lines), 5001)

    def test_the_longest_wait_comes_first(self):
        for key, waiters in (("one", 1), ("three", 3), ("two", 2)):
            self.own.ask("LOCK", key, "o")
            for number in range(waiters):
                self.wait_in_line(key, f"w{number}")
            time.sleep(0.1)  # the rows are read at different times
        self.own.ask("LOCK", "none", "o")
        by_waiters = self.ctl.json("locks", "--sort", "waiters", "--count", "2")
        self.assertEqual([row["key"] for row in by_waiters["locks"]], ["three", "two"])
        self.assertEqual((by_waiters["shown"], by_waiters["found"]), (2, 4))
        by_wait = self.ctl.json("locks", "--sort", "wait")
        self.assertEqual(by_wait["locks"][0]["key"], "one")
        self.assertEqual(by_wait["locks"][3]["key"], "none")
        waited = self.ctl.json("locks", "--waiting", "0")
        self.assertEqual({row["key"] for row in waited["locks"]}, {"one", "two", "three"})
        self.assertEqual(self.ctl.json("locks", "--waiting", "10m")["locks"], [])
        self.assertEqual(self.ctl.json("locks", "--held", "10m")["locks"], [])
        self.assertEqual(self.ctl.json("locks", "--held", "1ms")["found"], 4)

    def test_show_has_holders_and_line(self):
        self.own.ask("CLIENT", "SETNAME", "worker")
        token = self.own.ask("LOCK", "k", "holder", "PX", "60000", "META", '{"job":1}')
        self.wait_in_line("k", "w1", "META", "first")
        self.wait_in_line("k", "w2")
        text = self.ctl.text("show", "k")
        self.assertRegex(text, r"^k, database 0: exclusive, held by 1, 2 waiting\n")
        self.assertRegex(text, rf'\nholder +{token} +exclusive .* \(worker\) +{{"job":1}}\n')
        self.assertRegex(text, r"\n +1 +w1 +exclusive .* waiting .* first\n +2 +w2 ")
        shown = self.ctl.json("show", "k")
        self.assertEqual([place["owner"] for place in shown["queue"]], ["w1", "w2"])
        self.assertEqual([place["position"] for place in shown["queue"]], [1, 2])
        self.assertEqual([place["owner"] for place in self.ctl.json("queue", "k")["queue"]],
                         ["w1", "w2"])
        self.assertIn("... and 1 more", self.ctl.text("queue", "k", "--places", "1"))
        self.assertIn("free", self.ctl.text("show", "unknown"))
        self.assertEqual(self.ctl.text("queue", "unknown"), "Nobody waits for unknown.\n")

    def test_bytes_of_clients_are_escaped(self):
        self.own.ask("LOCK", b"k\x1b[2J\xff", b"o\n\x07", "META", "\u202eevil")
        text = self.ctl.text("locks") + self.ctl.text("show", os.fsdecode(b"k\x1b[2J\xff"))
        self.assertIn(r"k\x1b[2J\xff", text)
        self.assertIn(r"o\n\x07", text)
        self.assertIn(r"\u{202e}evil", text)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f\u202e]")
        row = self.ctl.json("locks")["locks"][0]
        self.assertEqual(row["key"], "k\x1b[2J\ufffd")
        self.assertEqual(row["key_base64"], "axtbMkr/")

    def test_status_tells_load_and_contention(self):
        self.own.ask("LOCK", "busy", "o")
        self.wait_in_line("busy", "w")
        text = self.ctl.text("status")
        self.assertRegex(text, r"^verdict +healthy\n"
                               r"longest wait +busy, database 0: w for \d+ms, since \d{4}-")
        self.assertRegex(text, r"locks +1 with 1 holders and 1 waiters\n")
        self.assertRegex(text, r"\nbusy +0 +1 ")
        status = self.ctl.json("status")
        self.assertEqual(status["info"]["waiters"], "1")
        self.assertEqual(status["contended"][0]["key"], "busy")
        self.assertGreater(status["ping_us"], 0)
        self.assertEqual(status["verdict"]["concerns"], [])
        self.assertEqual(status["verdict"]["longest_wait"]["owner"], "w")


class Breaking(WithServer):

    def test_a_dry_run_names_what_would_happen(self):
        self.own.ask("LOCK", "order:1", "a")
        self.own.ask("LOCK", "order:2", "b")
        self.wait_in_line("order:1", "w")
        text = self.ctl.text("break", "order:*", "--dry-run")
        self.assertRegex(text, r"order:1\n  held by a for \d+ms, lease left 29\.\ds, from 127")
        self.assertIn("1 waiter: w, the first in the queue, gets it\norder:2\n", text)
        self.assertIn("nobody waits: it becomes free", text)
        self.assertEqual(self.own.ask("LOCKED", "order:1", "a"), 1)

    def test_without_a_terminal_nothing_is_broken_unasked(self):
        self.own.ask("LOCK", "k", "a")
        refused = self.ctl.run("break", "k")
        self.assertEqual(refused.returncode, WRONG_USE)
        self.assertIn("confirmation needs a terminal; --yes skips it", refused.stderr)
        self.assertEqual(self.own.ask("LOCKED", "k"), 1)
        self.assertEqual(self.ctl.text("break", "k", "--yes"), "1 hold ended by force.\n")
        self.assertEqual(self.own.ask("LOCKED", "k"), 0)
        self.assertEqual(self.ctl.run("break", "k", "--yes").returncode, NO)

    def test_only_the_owners_hold_is_broken(self):
        for owner in ("a", "b"):
            self.own.ask("LOCK", "k", owner, "LIMIT", "2")
        self.assertEqual(self.ctl.text("break", "k*", "--owner", "b", "--yes"),
                         "1 hold ended by force.\n")
        self.assertEqual(self.own.ask("LOCKED", "k", "a"), 1)

    def test_a_reservation_ends_with_its_place(self):
        self.own.ask("LOCK", "k", "o1")
        self.own.ask("LOCK", "k", "o2", "KEEP", "40s")
        self.own.ask("UNLOCK", "k", "o1")
        self.assertIn("k\n  reserved for an absent owner, which also loses its place\n"
                      "  nobody else waits: it becomes free\n",
                      self.ctl.text("break", "k", "--dry-run"))
        self.assertEqual(self.ctl.run("break", "k", "--owner", "o2", "--yes").returncode, NO)
        self.wait_in_line("k", "o3")
        self.assertIn("  1 other waiter: o3, the first in the queue, gets it\n",
                      self.ctl.text("break", "k", "--dry-run"))
        self.assertEqual(self.ctl.text("break", "k", "--yes"), "1 reservation ended by force.\n")
        self.assertEqual(self.own.ask("LOCKED", "k", "o3"), 1)

    def test_a_cooling_ends(self):
        for key in ("c1", "c2"):
            self.own.ask("LOCK", key, "a", "MINHOLD", "1m")
            self.own.ask("UNLOCK", key, "a")
        self.own.ask("LOCK", "c3", "a")
        self.assertEqual(self.ctl.text("break", "c*", "--yes"),
                         "1 hold and 2 cooldowns ended by force.\n")
        self.assertIsInstance(self.own.ask("LOCK", "c1", "b"), int)

    def test_with_a_grace_the_holder_is_told_first(self):
        self.own.ask("LOCK", "k", "a", "PX", "60000")
        self.own.ask("LOCK", "k", "w", "KEEP", "40s")
        text = self.ctl.text("break", "k", "--grace", "20s", "--dry-run")
        self.assertIn("for at most 20s.\nNothing was done", text)
        found = self.ctl.json("break", "k", "--grace", "20s", "--dry-run")
        self.assertEqual(found["grace_ms"], 20000)
        self.assertEqual(self.own.ask("RENEW", "k", "a", "PX", "60000"), 1)
        self.assertEqual(self.ctl.text("break", "k", "--grace", "20s", "--yes", "--reason", "stop"),
                         "1 hold leaves within 20s.\n")
        self.assertEqual(self.own.ask("LOCKED", "k", "a"), 1)
        self.assertRegex(self.ctl.text("show", "k"), r"1\d\.\ds, leaving")
        self.assertRegex(self.ctl.text("why", "k"), r"leaving within 1\d\.\ds")
        self.assertRegex(self.ctl.text("history", "k"), r"leaving .*'stop', within 20s")
        self.assertEqual(self.ctl.json("break", "k", "--grace", "10s", "--yes")["leaving"], 1)
        self.own.ask("UNLOCK", "k", "a")
        self.assertEqual(self.ctl.run("break", "k", "--grace", "10s", "--yes").returncode, NO)
        self.assertEqual(self.own.ask("POSITION", "k", "w"), 1)

    def test_a_name_with_a_star_can_be_meant_exactly(self):
        self.own.ask("LOCK", "k*", "a")
        self.own.ask("LOCK", "kk", "a")
        self.ctl.text("break", "k*", "--exact", "--yes")
        self.assertEqual(self.own.ask("LOCKED", "kk"), 1)
        self.assertEqual(self.own.ask("LOCKED", "k*"), 0)


class OnATerminal(WithServer):

    def start(self, *words, **variables):
        ctl = Fairlockctl(self.server, **variables)
        return self.enterContext(Terminal(str(PROGRAM), *words, environment=ctl.environment))

    def test_a_question_comes_before_the_break(self):
        self.own.ask("LOCK", "k", "a")
        terminal = self.start("break", "k")
        self.assertIn("held by a", terminal.wait_for("End 1 hold on 1 key by force? [y/N] "))
        terminal.type("n\r")
        terminal.wait_for("Nothing was done.")
        self.assertEqual(self.own.ask("LOCKED", "k"), 1)
        terminal = self.start("break", "k")
        terminal.wait_for("[y/N] ")
        terminal.type("y\r")
        terminal.wait_for("1 hold ended by force.")
        self.assertEqual(self.own.ask("LOCKED", "k"), 0)

    def test_what_changed_hands_during_the_question_is_left_alone(self):
        self.own.ask("LOCK", "k", "a")
        terminal = self.start("break", "k")
        terminal.wait_for("[y/N] ")
        self.own.ask("UNLOCK", "k", "a")
        self.own.ask("LOCK", "k", "b")
        terminal.type("y\r")
        terminal.wait_for("'k' changed hands in the meantime and was left alone")
        self.assertEqual(self.own.ask("LOCKED", "k", "b"), 1)

    def test_what_was_reserved_during_the_question_is_left_alone(self):
        self.own.ask("LOCK", "k", "a", "LIMIT", "2")
        self.own.ask("LOCK", "k", "b", "LIMIT", "2")
        self.own.ask("LOCK", "k", "c", "LIMIT", "2", "KEEP", "40s")
        terminal = self.start("break", "k")
        terminal.wait_for("End 2 holds on 1 key by force? [y/N] ")
        self.own.ask("UNLOCK", "k", "a")
        self.own.ask("LOCK", "k", "a", "LIMIT", "2", "KEEP", "40s")
        terminal.type("y\r")
        terminal.wait_for("'k' changed hands in the meantime and was left alone")
        self.assertEqual(self.own.ask("LOCKED", "k", "b"), 1)

    def test_a_table_fits_the_terminal(self):
        self.own.ask("LOCK", "key:" + "k" * 300, "owner" * 100, "META", "m" * 300)
        terminal = self.start("locks")
        text = terminal.wait_for("owner")
        text = terminal.wait_for("\n")
        widths = [len(line) for line in text.replace("\r", "").split("\n")]
        self.assertLessEqual(max(widths), 240)
        self.assertIn("…", text)

    def test_colours_are_for_terminals_that_want_them(self):
        self.own.ask("LOCK", "k", "a")
        self.assertNotIn("\x1b", self.ctl.text("locks"))
        for variables, has_colours in (({}, True), ({"NO_COLOR": "1"}, False),
                                       ({"TERM": "dumb"}, False)):
            terminal = self.start("locks", **variables)
            terminal.wait_for("FIRST HOLDER")
            self.assertEqual(b"\x1b[1m" in terminal.drawn, has_colours, variables)


class WhichServer(unittest.TestCase):

    def test_an_error_says_what_to_try_next(self):
        port = free_port()
        failed = Fairlockctl().run("--port", str(port), "status")
        self.assertEqual((failed.returncode, failed.stdout), (UNREACHABLE, ""))
        self.assertEqual(failed.stderr,
                         f"fairlockctl: cannot connect to 127.0.0.1:{port}: Connection refused; is "
                         "fairlockd running? `systemctl status fairlockd`, or give --host/--port\n")
        failed = Fairlockctl().run("--socket", "/no/such/socket", "locks")
        self.assertEqual(failed.returncode, UNREACHABLE)
        self.assertIn("unix:/no/such/socket: No such file or directory", failed.stderr)

    def test_flags_go_before_the_environment_and_that_before_the_file(self):
        with Server() as server:
            folder = server.directory / "config" / "fairlock"
            folder.mkdir(parents=True)
            settings = folder / "ctl.yaml"
            settings.write_text(f"port: {server.port}\n")
            wrong = str(free_port())
            ctl = Fairlockctl(XDG_CONFIG_HOME=str(folder.parent))
            self.assertIn("fairlockd", ctl.text("status"))
            ctl = Fairlockctl(XDG_CONFIG_HOME=str(folder.parent), FAIRLOCK_PORT=wrong)
            self.assertEqual(ctl.run("status").returncode, UNREACHABLE)
            self.assertIn("fairlockd", ctl.text("status", "--port", str(server.port)))
            self.assertIn("fairlockd", ctl.text("status", "--socket", str(server.unix_socket)))
            settings.write_text(f"socket: {server.unix_socket}\n")
            self.assertEqual(ctl.run("status").returncode, UNREACHABLE)
            settings.write_text("prot: 1\n")
            broken = ctl.run("status")
            self.assertEqual(broken.returncode, WRONG_USE)
            self.assertIn("ctl.yaml:1: 'prot' is not a setting; the settings are host, ",
                          broken.stderr)

    def test_a_name_is_looked_up(self):
        with Server() as server:
            ctl = Fairlockctl(server, FAIRLOCK_HOST="localhost")
            self.assertIn(f"localhost:{server.port}", ctl.text("status"))
        failed = Fairlockctl().run("--host", "no.such.name.invalid", "status")
        self.assertEqual(failed.returncode, UNREACHABLE)
        self.assertIn("cannot connect to no.such.name.invalid:3247", failed.stderr)

    def test_a_wrong_command_line_is_explained(self):
        for words, text in ((("lcks",), "did you mean `locks`?"), (("show",), "KEY is required"),
                            (("locks", "--held", "soon"), "a duration such as")):
            failed = Fairlockctl().run(*words)
            self.assertEqual((failed.returncode, failed.stdout), (WRONG_USE, ""))
            self.assertIn(text, failed.stderr)

    def test_a_login_that_fails_is_told(self):
        with Server() as server:
            ctl = Fairlockctl(server, FAIRLOCK_USER="nobody")
            password = server.directory / "password"
            password.write_text("secret\n")
            failed = ctl.run("--password-file", str(password), "status")
            self.assertEqual(failed.returncode, NOT_ALLOWED)
            self.assertIn("answered: WRONGPASS", failed.stderr)

    def test_a_user_without_a_password_is_no_other_user(self):
        with Server() as server:
            failed = Fairlockctl(server).run("--user", "bob", "ping")
            self.assertEqual((failed.returncode, failed.stdout), (NOT_ALLOWED, ""))
            self.assertIn("answered: WRONGPASS", failed.stderr)
            Fairlockctl(server).text("--user", "default", "ping")

    def test_what_is_no_fairlock_is_told_so(self):
        with Redis() as redis:
            for command in ("status", "locks"):
                failed = Fairlockctl().run("--port", str(redis.port), command)
                self.assertEqual((failed.returncode, failed.stdout), (REFUSED, ""))
                self.assertIn("it is not a fairlock server, or it is older", failed.stderr)


if __name__ == "__main__":
    unittest.main()
