"""fairlockctl for operators: why, history, limits, clients, the server."""

import json
import pathlib
import subprocess
import tempfile
import time
import unittest

from fairlockctl import DONE, NO, PROGRAM, REFUSED, UNREACHABLE, WRONG_USE, Fairlockctl
from kept_server import KeptServer
from own_server import Server


class WithServer(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.server.connect()
        self.addCleanup(self.own.close)
        self.ctl = Fairlockctl(self.server)

    def wait_in_line(self, key, owner, *options):
        waiter = self.server.connect()
        self.addCleanup(waiter.close)
        before = self.own.ask_map("LOCKINFO", key)[b"waiters"]
        waiter.send(b"LOCK %s %s WAIT 1h %s\r\n"
                    % (key.encode(), owner.encode(), " ".join(options).encode()))
        while self.own.ask_map("LOCKINFO", key)[b"waiters"] == before:
            pass
        return waiter


class Why(WithServer):

    def test_it_names_the_holder_the_place_and_the_past(self):
        token = self.own.ask("LOCK", "k", "holder", "META", "job 7")
        self.wait_in_line("k", "first")
        self.wait_in_line("k", "second")
        text = self.ctl.text("why", "k", "second")
        self.assertRegex(text, rf"^It is held by holder since .* \(\d+ms\), from 127\.0\.0\.1:\d+, "
                               rf"lease left 29\.\ds, token {token}, note 'job 7'\.\n"
                               r"2 waiters are in the queue\.\nsecond has place 2 of 2 and has "
                               r"waited for \d+ms, from ")
        self.assertRegex(text, r"queued +second .* held, holder holder\n")
        self.assertIn("holder holds it.", self.ctl.text("why", "k", "holder"))
        self.assertIn("other neither holds it nor waits", self.ctl.text("why", "k", "other"))
        found = self.ctl.json("why", "k", "second")
        self.assertEqual((found["reason"], found["position"], found["place"]["owner"]),
                         ("held", 2, "second"))
        self.assertEqual(found["lock"]["waiters"], 2)
        self.assertEqual(found["events"][0]["event"], "queued")

    def test_it_tells_a_free_a_cooling_and_a_drained_key_apart(self):
        self.assertIn("free, and nobody is waiting", self.ctl.text("why", "k"))
        self.own.ask("LOCK", "k", "a", "MINHOLD", "1m")
        self.own.ask("UNLOCK", "k", "a")
        self.assertIn("is in cooldown for another 59.", self.ctl.text("why", "k"))
        self.assertEqual(self.ctl.json("why", "k")["reason"], "cooling")
        self.own.ask("LIMIT", "SET", "d*", "0")
        self.assertIn("An operator has drained it", self.ctl.text("why", "d1"))

    def test_a_kept_place_has_its_turn(self):
        self.own.ask("LOCK", "k", "a")
        self.own.ask("LOCK", "k", "b", "KEEP", "40s")
        self.assertRegex(self.ctl.text("why", "k", "b"),
                         r"; it is absent, and its place is kept for another 39\.?\d?s\.\n")
        self.own.ask("UNLOCK", "k", "a")
        self.assertRegex(self.ctl.text("why", "k", "b"), r"; its turn has come: it is absent, and "
                                                         r"a slot is reserved for it for another "
                                                         r"39\.?\d?s\.\n")

    def test_the_turn_is_estimated_from_recent_holds(self):
        for _ in range(3):
            self.own.ask("LOCK", "k", "a", "PX", "20")
            self.own.ask("WAIT", "k", "TIMEOUT", "5s")
        self.own.ask("LOCK", "k", "a")
        self.wait_in_line("k", "b")
        self.assertRegex(self.ctl.text("why", "k", "b"),
                         r"judging by recent holds of \d+ms, its turn comes in about \d+ms\.")


class Owner(WithServer):

    def test_all_that_it_holds_and_waits_for_is_listed(self):
        self.own.ask("LOCK", "held", "me", "PX", "60000")
        self.own.ask("LOCK", "wanted", "other")
        self.wait_in_line("wanted", "first")
        self.wait_in_line("wanted", "me")
        self.own.ask("SELECT", "3")
        self.own.ask("LOCK", "elsewhere", "me", "SESSION")
        text = self.ctl.text("owner", "me")
        self.assertRegex(text, r"\nheld +0 +holds +\S+ +59\.\ds\n")
        self.assertRegex(text, r"\nwanted +0 +place 2 +- +-\n")
        self.assertRegex(text, r"\nelsewhere +3 +holds +\S+ +unlimited\n")
        claims = self.ctl.json("owner", "me", "--db", "0")["claims"]
        self.assertEqual({claim["key"]: claim["position"] for claim in claims},
                         {"held": 0, "wanted": 2})
        self.assertIn("holds nothing and waits for nothing", self.ctl.text("owner", "nobody"))


class ThePast(WithServer):

    def test_history_has_the_newest_at_the_bottom(self):
        self.own.ask("LOCK", "k", "a")
        self.own.ask("LOCK", "k", "b")
        self.own.ask("BREAK", "k", "REASON", "stuck since noon")
        lines = self.ctl.text("history", "k").splitlines()
        self.assertEqual([line.split()[1] for line in lines[1:]], ["granted", "denied", "broken"])
        self.assertRegex(lines[3], "by .*'stuck since noon'$")
        self.assertEqual([event["event"] for event in self.ctl.json("history", "k")["events"]],
                         ["broken", "denied", "granted"])
        of_b = self.ctl.json("history", "*", "--owner", "b")["events"]
        self.assertEqual([event["holder"] for event in of_b], ["a"])
        self.assertIn("No known events of nix", self.ctl.text("history", "nix"))

    def test_history_comes_in_pages(self):
        for number in range(300):
            self.own.ask("LOCK", f"k{number}", "a")
        cut = self.ctl.run("history", "*", "--count", "10")
        self.assertEqual(len(cut.stdout.splitlines()), 1 + 10)
        before = cut.stderr.split("--before ")[1].split()[0]
        older = self.ctl.json("history", "*", "--before", before, "-n", "1000")["events"]
        self.assertEqual([event["key"] for event in older],
                         [f"k{number}" for number in reversed(range(290))])
        keys = [event["key"] for event in self.ctl.json("history", "*", "-n", "1000")["events"]]
        self.assertEqual(keys, [f"k{number}" for number in reversed(range(300))])

    def test_stats_count_by_label(self):
        self.own.ask("LOCK", "k", "a", "LABEL", "jobs")
        self.own.ask("LOCK", "k", "b", "LABEL", "jobs")
        self.own.ask("UNLOCK", "k", "a")
        self.assertRegex(self.ctl.text("stats"), r"\njobs +1 +0 +1 +1 +0 ")
        row = self.ctl.json("stats", "--label", "jobs", "--minutes", "5")["labels"][0]
        self.assertEqual((row["label"], row["acquired"], row["denied"]), ("jobs", 1, 1))
        self.assertRegex(self.ctl.text("stats", "--by-minute"), r"jobs +20\d\d-\d\d-\d\d ")
        self.assertIn("Nothing was counted", self.ctl.text("stats", "--label", "nix"))

    def test_watch_shows_events_as_they_come(self):
        watching = self.ctl.start("watch", "o*", "--count", "3", stdout=subprocess.PIPE)
        as_json = self.ctl.start("watch", "--json", "--count", "1", stdout=subprocess.PIPE)
        while self.own.ask("PUBSUB", "NUMPAT") != 2:
            pass
        self.own.ask("LOCK", "other", "a")
        self.own.ask("LOCK", "unheard", "a")
        self.own.ask("LOCK", "other", "b")
        self.own.ask("UNLOCK", "other", "a")
        text, _ = watching.communicate(timeout=20)
        lines = text.splitlines()
        self.assertEqual([line.split()[1:4] for line in lines],
                         [["granted", "other", "a"], ["denied", "other", "b"],
                          ["released", "other", "a"]])
        self.assertRegex(lines[0], r"^\d\d:\d\d:\d\d\.\d{3}  granted +other  a  token \d+$")
        self.assertEqual(json.loads(as_json.communicate(timeout=20)[0])["event"], "granted")
        self.assertEqual((watching.returncode, as_json.returncode), (DONE, DONE))
        self.assertEqual(self.ctl.text("watch", "--for", "20ms"), "")


class Steering(WithServer):

    def test_an_override_is_set_listed_and_ended(self):
        self.assertEqual(self.ctl.text("limit", "list"), "No override is in force.\n")
        self.ctl.text("limit", "set", "api:*", "20", "--for", "1h", "--reason", "more quota")
        self.assertRegex(self.ctl.text("limit", "list"),
                         r"\napi:\* +0 +20 +59m59s +.* default 127\.0\.0\.1:\d+ +more quota\n")
        row = self.ctl.json("limit", "list")["overrides"][0]
        self.assertEqual((row["pattern"], row["limit"], row["reason"]),
                         ("api:*", 20, "more quota"))
        self.assertEqual(self.ctl.run("resume", "api:*").returncode, NO)
        self.ctl.text("limit", "del", "api:*")
        gone = self.ctl.run("limit", "del", "api:*")
        self.assertEqual(gone.returncode, NO)
        self.assertIn("no override for 'api:*' in database 0", gone.stderr)

    def test_a_drain_lets_nobody_new_in_until_it_ends(self):
        self.own.ask("LOCK", "n1", "a")
        self.assertEqual(self.ctl.text("drain", "n*"),
                         "No new owner gets n*, until `fairlockctl resume n*`. Keys still held: 1, "
                         "waited for: 0.\n")
        self.assertIsNone(self.own.ask("LOCK", "n2", "a"))
        self.ctl.text("resume", "n*")
        self.assertIsInstance(self.own.ask("LOCK", "n2", "a"), int)
        self.assertIn(" for 30m00s. ", self.ctl.text("drain", "n*", "--for", "30m", "--db", "3"))
        self.assertIsInstance(self.own.ask("LOCK", "n3", "a"), int)


class TheServer(WithServer):

    def test_status_begins_with_what_needs_attention(self):
        self.assertTrue(self.ctl.text("status").startswith("verdict       healthy\n"
                                                           "longest wait  nobody waits\n"))
        self.own.ask("LIMIT", "SET", "a*", "0")
        self.own.ask("LIMIT", "SET", "b*", "5")
        self.assertTrue(self.ctl.text("status").startswith(
            "verdict       needs attention\n"
            "              1 drain in force (`fairlockctl limit list`)\nlongest wait "))

    def test_clients_are_listed_and_killed(self):
        self.own.ask("CLIENT", "SETNAME", "holder")
        self.own.ask("LOCK", "k", "a")
        waiter = self.wait_in_line("k", "b")
        text = self.ctl.text("clients")
        self.assertRegex(text, r"\n +\d+ +127\.0\.0\.1:\d+ +holder +default +0 .* - +lockinfo +- +-"
                               r"\n")
        self.assertRegex(text, r" waiting +lock +k +\d+ms\n")
        waiting = self.ctl.json("clients", "--waiting")["clients"]
        self.assertEqual([client["cmd"] for client in waiting], ["lock"])
        self.ctl.text("kill", waiting[0]["id"])
        self.assertTrue(waiter.has_ended())
        self.assertEqual(self.ctl.run("kill", waiting[0]["id"]).returncode, NO)
        self.assertEqual(self.ctl.text("clients", "--waiting"), "No client is waiting.\n")

    def test_options_are_read_and_changed(self):
        self.assertRegex(self.ctl.text("config", "get", "max_cl*"), r"\nmax_clients +\d+\n")
        self.ctl.text("config", "set", "max_clients", "77")
        self.assertEqual(self.ctl.json("config", "get", "max_clients"), {"max_clients": "77"})
        wrong = self.ctl.run("config", "set", "max_clients", "many")
        self.assertEqual(wrong.returncode, REFUSED)
        self.assertIn("must be a number from 1 to 1000000, got 'many'", wrong.stderr)
        self.assertEqual(self.ctl.run("config", "get", "nix").returncode, NO)

    def test_ping_measures(self):
        self.assertRegex(self.ctl.text("ping"), rf"127\.0\.0\.1:{self.server.port} answers in \d+")
        self.assertRegex(self.ctl.text("ping", "-n", "5"), r"answered 5 times in \d+ to \d+ us")
        self.assertEqual(len(self.ctl.json("ping", "-n", "3")["times_us"]), 3)

    def test_a_backup_is_made(self):
        refused = self.ctl.run("backup", "/copies")
        self.assertEqual(refused.returncode, REFUSED)
        self.assertIn("durability is none", refused.stderr)
        with KeptServer("--durability", "async") as server:
            ctl = Fairlockctl(server)
            missing = ctl.run("backup", str(server.directory / "copies"))
            self.assertEqual(missing.returncode, REFUSED)
            self.assertIn(f"the folder {server.directory}/copies does not exist", missing.stderr)
            self.assertEqual(ctl.run("backup", "copies").returncode, REFUSED)
            (server.directory / "copies").mkdir()
            dated = rf"{server.directory}/copies/fairlock-\d{{8}}T\d{{6}}Z"
            self.assertRegex(ctl.text("backup", str(server.directory / "copies")),
                             f"The server has written {dated}; ")
            self.assertNotIn("warning", server.output())

    def test_backups_are_rotated(self):
        with KeptServer("--durability", "async") as server:
            ctl = Fairlockctl(server)
            made = []
            for _ in range(3):
                made.append(pathlib.Path(ctl.json("backup", "--keep", "2")["backup"]))
                time.sleep(1.1)  # the name has a resolution of one second
            # Backups are next to the data folder, and accessible only to its owner.
            self.assertEqual(made[0].parent, server.directory / "backups")
            self.assertEqual(made[0].parent.stat().st_mode & 0o777, 0o700)
            self.assertEqual(sorted(made[0].parent.iterdir()), made[1:])
            self.assertEqual(ctl.run("backup", "--keep", "0").returncode, WRONG_USE)

    def test_a_lock_is_waited_for_through_a_restart(self):
        with KeptServer("--durability", "async") as server:
            ctl = Fairlockctl(server)
            with server.connect() as holder:
                held = holder.ask("LOCK", "k", "holder", "EX", "60")
            waiting = ctl.start("lock", "k", "waiter", "--wait", "30s", "--new",
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2):
                with server.connect() as client:
                    while client.ask_map("LOCKINFO", "k")[b"waiters"] == 0:
                        time.sleep(0.01)
                server.stop_and_start_again()
            ctl.text("unlock", "k", "holder")
            said, complaints = waiting.communicate(timeout=30)
            self.assertEqual((waiting.returncode, complaints), (DONE, ""))
            self.assertGreater(int(said), held)
            # Without --wait, a missing server is reported at once.
            server.stop()
            self.assertEqual(ctl.run("lock", "k", "waiter").returncode, UNREACHABLE)
            self.assertEqual(ctl.run("lock", "k", "waiter", "--wait", "30s").returncode,
                             UNREACHABLE)

    def test_bench_measures_and_leaves_nothing_behind(self):
        found = self.ctl.json("bench", "--for", "100ms", "-c", "4")
        self.assertEqual([load["load"] for load in found["loads"]], ["own_keys", "one_key"])
        for load in found["loads"]:
            self.assertGreater(load["pairs"], 0)
            self.assertTrue(load["is_in_order"])
        self.assertEqual(self.ctl.json("locks")["locks"], [])
        self.assertRegex(self.ctl.text("bench", "--for", "50ms"),
                         r"\d pairs of LOCK and UNLOCK per ")
        self.assertEqual(self.ctl.run("bench", "--for", "0").returncode, WRONG_USE)


class Completion(unittest.TestCase):

    def complete(self, *words, line=""):
        """Returns the completions that bash offers for these words; the last word is still being
        typed."""
        script = Fairlockctl().text("completion", "bash")
        words = " ".join(f"'{word}'" for word in ("fairlockctl", *words))
        script += f'\nCOMP_LINE="{line}"; COMP_POINT={len(line)}; COMP_WORDS=({words})\n'
        script += "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fairlockctl\n"
        script += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20,
                              check=True, env=self.shell_environment())
        return done.stdout.split()

    def test_bash_completes_commands_options_and_choices(self):
        self.assertEqual(self.complete("sta"), ["status", "stats"])
        self.assertEqual(self.complete("limit", ""), ["set", "del", "list", "--help", "-h"])
        self.assertEqual(self.complete("limit", "set", "--f"), ["--for"])
        self.assertEqual(self.complete("locks", "--sort", "wai"), ["wait", "waiters"])
        self.assertEqual(self.complete("show", "limit", "--pl"), ["--places"])
        self.assertEqual(self.complete("--po"), ["--port"])
        self.assertEqual(self.complete("run", "k", "--", "l"), [])

    def test_names_that_the_server_knows_are_offered(self):
        with Server() as server, server.connect() as own:
            own.ask("LOCK", "order:42", "a", "LABEL", "orders")
            own.ask("LOCK", "order:43", "a")
            own.ask("LOCK", "order:4 4", "a")  # needs quotes in a shell
            own.ask("LOCK", "job", "a")
            port = ("-p", str(server.port))
            self.assertEqual(self.complete(*port, "show", "jo"), ["job"])
            self.assertEqual(self.complete(*port, "unlock", "order"), ["order:42", "order:43"])
            # Bash splits a word at its colon, and expects only the rest.
            self.assertEqual(self.complete(*port, "why", "order", ":", "4", line="why order:4"),
                             ["42", "43"])
            self.assertEqual(self.complete(*port, "lock", "k", "--label", "o"), ["orders"])
            self.assertEqual(self.complete(*port, "config", "set", "max_ke"), ["max_keep"])
            self.assertEqual(self.complete(*port, "show", "--pl"), ["--places"])
            with tempfile.TemporaryDirectory() as folder:
                script = (Fairlockctl().text("completion", "fish") + "\ncomplete --do-complete "
                          f"'fairlockctl -p {server.port} show order:'\n")
                done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True,
                                      text=True, timeout=20, check=True, cwd=folder,
                                      env={**self.shell_environment(), "HOME": folder})
                self.assertEqual(sorted(done.stdout.splitlines()), ["order:42", "order:43"])
        # Without a server, nothing more is offered, and there is no error.
        self.assertEqual(self.complete("-p", "1", "show", "or"), [])

    @staticmethod
    def shell_environment():
        environment = dict(Fairlockctl().environment)
        environment["PATH"] = f"{PROGRAM.parent}:{environment['PATH']}"
        return environment

    def test_bash_takes_no_value_for_the_command(self):
        self.assertEqual(self.complete("-p", "6391", "sh"), ["show"])
        self.assertEqual(self.complete("-H", "host", "stat"), ["status", "stats"])
        self.assertEqual(self.complete("--port", "=", "6391", "sho"), ["show"])
        self.assertEqual(self.complete("-H", "::", "1", "--tls", "sho"), ["show"])
        self.assertEqual(self.complete("-p", "1", "limit", "--db", "3", "se"), ["set"])
        self.assertEqual(self.complete("--host", "sta"), [])
        self.assertEqual(self.complete("locks", "--sort", "=", "wai"), ["wait", "waiters"])

    def test_fish_takes_no_value_for_the_command(self):
        for line, wanted in (("-p 6391 sh", ["show"]), ("-H host stat", ["stats", "status"]),
                             ("--port=6391 sho", ["show"]), ("sho", ["show"]),
                             ("-p 1 limit --db 3 se", ["set"]), ("show limit se", []),
                             ("-d 1 limit set --fo", ["--for"]), ("locks --sort wai",
                                                                  ["wait", "waiters"])):
            script = (Fairlockctl().text("completion", "fish")
                      + f"\ncomplete --do-complete 'fairlockctl {line}'\n")
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True,
                                      text=True, timeout=20, check=True, cwd=folder,
                                      env={**Fairlockctl().environment, "HOME": folder})
            found = sorted(word.split("\t")[0] for word in done.stdout.splitlines())
            self.assertEqual(found, wanted, line)

    def test_scripts_for_zsh_and_fish_are_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            for shell in ("zsh", "fish"):
                script = pathlib.Path(folder, shell)
                script.write_text(Fairlockctl().text("completion", shell))
                checked = subprocess.run([shell, "-n", script], capture_output=True, text=True,
                                         timeout=20, check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_another_shell_is_refused(self):
        self.assertEqual(Fairlockctl().run("completion", "csh").returncode, WRONG_USE)


if __name__ == "__main__":
    unittest.main()
