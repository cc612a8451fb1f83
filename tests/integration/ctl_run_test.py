"""fairlockctl run: a command under a lock, in normal operation and during failures."""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from fairlockctl import (DONE, LOST, NOT_OBTAINED, PROGRAM, REFUSED, UNREACHABLE, WRONG_USE,
                         Fairlockctl)
from kept_server import KeptServer
from own_server import Server, free_port
from proxy import Proxy
from terminal import Terminal

PATIENCE_SECONDS = 30


class WithServer(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.server.connect()
        self.addCleanup(self.own.close)
        self.ctl = Fairlockctl(self.server)
        self.folder = self.server.directory

    def start(self, *words, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   "stdin": subprocess.DEVNULL, **options}
        runner = self.ctl.start("run", *words, **options)
        self.addCleanup(self.end, runner)
        return runner

    @staticmethod
    def end(runner):
        if runner.poll() is None:
            runner.kill()
        runner.communicate(timeout=PATIENCE_SECONDS)

    def run_shell(self, script, *options):
        return self.ctl.run("run", "k", *options, "--", "sh", "-c", script)

    def wait_until(self, is_so, what):
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            self.assertLess(time.monotonic(), give_up, what)
            time.sleep(0.002)

    def close_connections(self):
        """Closes the runners' connections: a runner that holds a lock has a second one, which is
        subscribed to the loss of the lock."""
        for kind in ("normal", "pubsub"):
            self.own.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    def wait_for_holder(self, count=1):
        self.wait_until(lambda: self.own.ask("LOCKED", "k") == count, f"{count} holders")

    def wait_for_line(self, length):
        self.wait_until(lambda: self.own.ask_map("LOCKINFO", "k")[b"waiters"] == length,
                        f"a line of {length}")

    def wait_for_file(self, name):
        path = pathlib.Path(self.folder, name)
        self.wait_until(path.exists, name)
        return path

    def start_sleep(self, seconds, *options):
        """Returns a runner whose command has started, so its lock is confirmed."""
        file = self.folder / "begun"
        runner = self.start("k", *options, "--", "sh", "-c", f"touch {file}; exec sleep {seconds}")
        self.wait_for_file("begun")
        return runner

    def outcome(self, runner):
        _, errors = runner.communicate(timeout=PATIENCE_SECONDS)
        return runner.returncode, errors


class InLine(WithServer):

    def test_fifty_processes_take_turns_in_the_order_of_asking(self):
        count = 50
        self.own.ask("LOCK", "k", "gate")
        file = self.folder / "turns"
        script = f'echo "in $0" >> {file}; sleep 0.01; echo "out $0" >> {file}'
        runners = []
        for number in range(count):
            runners.append(self.start("k", "--wait", "forever", "--", "sh", "-c", script,
                                      str(number)))
            self.wait_for_line(number + 1)
        self.own.ask("UNLOCK", "k", "gate")
        self.assertEqual([self.outcome(runner) for runner in runners], [(DONE, "")] * count)
        wanted = [f"{word} {number}" for number in range(count) for word in ("in", "out")]
        self.assertEqual(file.read_text().splitlines(), wanted)

    def test_the_wait_ends_as_flock_would_have_it(self):
        self.own.ask("LOCK", "k", "other")
        for words, status in ((["-n"], NOT_OBTAINED), (["--wait", "0"], NOT_OBTAINED),
                              (["-w", "50ms"], NOT_OBTAINED), (["--wait", "0.05s"], NOT_OBTAINED),
                              (["-n", "-E", "3"], 3), (["-w", "50ms", "-E", "0"], 0)):
            done = self.run_shell("echo ran", *words)
            self.assertEqual((done.returncode, done.stdout), (status, ""), words)
            self.assertIn("'k' was not obtained", done.stderr)

    def test_a_wait_without_a_unit_is_refused_here_as_everywhere(self):
        for words in (("run", "k", "-w", "300", "--", "true"), ("lock", "k", "me", "-w", "300")):
            done = self.ctl.run(*words)
            self.assertEqual((done.returncode, done.stdout), (WRONG_USE, ""), words)
            self.assertIn("must have a unit, such as 300s or 300ms, got '300'", done.stderr)

    def test_off_a_terminal_it_says_now_and_then_what_it_waits_for(self):
        self.own.ask("LOCK", "k", "other")
        runner = self.start("k", "--report-every", "100ms", "--", "true")
        self.assertRegex(runner.stderr.readline(),
                         r"^fairlockctl: waiting for 'k' for \d+ms, place 1, next; held by "
                         r"'other' for \S+, lease left 2\d\.?\d?s$")
        self.own.ask("UNLOCK", "k", "other")
        self.assertEqual(self.outcome(runner)[0], DONE)
        self.own.ask("LOCK", "k", "third")
        quiet = self.ctl.run("run", "k", "--wait", "300ms", "--report-every", "0", "--", "true")
        self.assertEqual(len(quiet.stderr.splitlines()), 1)

    def test_several_keys_are_held_as_one(self):
        for words in (("a", "b"), ("--key", "a", "--key", "b")):
            script = (f'echo "$FAIRLOCK_KEY|$FAIRLOCK_KEYS"; '
                      f'{PROGRAM} owner $FAIRLOCK_OWNER')
            done = self.ctl.run("run", *words, "--", "sh", "-c", script)
            self.assertEqual(done.stdout.splitlines()[:2], ["a|a", "b"])
            for key in ("a", "b"):
                self.assertRegex(done.stdout, rf"\n{key} +0 +holds ")
            self.assertEqual((self.own.ask("LOCKED", "a"), self.own.ask("LOCKED", "b")), (0, 0))
        self.own.ask("LOCK", "b", "other")
        done = self.ctl.run("run", "a", "b", "-n", "--", "true")
        self.assertEqual(done.returncode, NOT_OBTAINED)
        self.assertIn("'a' and 'b' were not obtained", done.stderr)
        self.assertEqual(self.own.ask("LOCKED", "a"), 0)

    def test_what_it_says_can_be_json(self):
        self.own.ask("LOCK", "k", "other")
        runner = self.start("k", "--owner", "me", "--json", "--report-every", "50ms", "--",
                            "sh", "-c", "exit 3")
        first = json.loads(runner.stderr.readline())
        self.assertEqual((first["event"], first["keys"], first["owner"]),
                         ("waiting", ["k"], "me"))
        self.own.ask("UNLOCK", "k", "other")
        status, errors = self.outcome(runner)
        events = [json.loads(line) for line in errors.splitlines()]
        events = [event for event in events if event["event"] != "waiting"]
        self.assertEqual((status, [event["event"] for event in events]), (3, ["granted", "ended"]))
        self.assertEqual((type(events[0]["token"]), events[1]["status"]), (int, 3))

    def test_a_signal_while_it_waits_ends_it_and_its_place(self):
        self.own.ask("LOCK", "k", "other")
        runner = self.start("k", "--", "true")
        self.wait_for_line(1)
        runner.send_signal(signal.SIGTERM)
        self.assertEqual(self.outcome(runner), (128 + signal.SIGTERM, ""))
        self.assertEqual(self.own.ask_map("LOCKINFO", "k")[b"waiters"], 0)

    def test_a_connection_that_breaks_keeps_the_place(self):
        self.own.ask("LOCK", "k", "other")
        runner = self.start("k", "--", "true")
        self.wait_for_line(1)
        self.close_connections()
        later = self.start("k", "--", "true")
        self.wait_for_line(2)
        places = self.ctl.json("queue", "k")["queue"]
        self.wait_until(lambda: self.ctl.json("queue", "k")["queue"][0]["state"] == "waiting",
                        "the return")
        self.assertEqual([place["owner"] for place in self.ctl.json("queue", "k")["queue"]],
                         [place["owner"] for place in places])
        self.assertIn(f":{runner.pid}:", places[0]["owner"])
        self.own.ask("UNLOCK", "k", "other")
        self.assertEqual((self.outcome(runner), self.outcome(later)), ((DONE, ""), (DONE, "")))

    def test_the_terminal_shows_the_place(self):
        self.own.ask("LOCK", "k", "other")
        with Terminal(str(PROGRAM), "run", "k", "--", "echo", "my turn",
                      environment=self.ctl.environment) as terminal:
            terminal.wait_for("waiting for 'k' for ")
            terminal.wait_for("place 1, next; held by 'other' for ")
            self.own.ask("TRANSFER", "k", "other", "another")
            terminal.wait_for("held by 'another' for ")
            self.own.ask("UNLOCK", "k", "another")
            terminal.wait_for("my turn")

    def test_what_is_asked_arrives(self):
        for _ in range(2):
            self.start("k", "--limit", "2", "--label", "kind", "--", "sleep", "60")
        self.wait_for_holder(2)
        holders = self.ctl.json("show", "k")["holders"]
        self.assertEqual([(holder["label"], holder["limit"]) for holder in holders],
                         [("kind", 2)] * 2)
        for _ in range(2):
            self.start("s", "--shared", "--", "sleep", "60")
        self.wait_until(lambda: self.own.ask("LOCKED", "s") == 2, "two readers")
        self.ctl.run("run", "m", "--min-hold", "1m", "--", "true")
        self.assertEqual(self.ctl.run("run", "m", "-n", "--", "true").returncode, NOT_OBTAINED)

    def test_two_runs_of_one_owner_do_not_share_the_lock(self):
        self.start("k", "--owner", "me", "--", "sleep", "60")
        self.wait_for_holder()
        self.assertEqual(self.ctl.run("run", "k", "--owner", "me", "--", "true").returncode,
                         NOT_OBTAINED)


class TheCommand(WithServer):

    def test_its_status_comes_through(self):
        for script, status in (("exit 0", 0), ("exit 1", 1), ("exit 75", 75),
                               ("kill -INT $$", 130), ("kill -KILL $$", 137),
                               ("kill -TERM $$", 143)):
            done = self.run_shell(script)
            self.assertEqual((done.returncode, done.stderr), (status, ""), script)
            self.assertEqual(self.own.ask("LOCKED", "k"), 0)

    def test_one_that_cannot_run_is_told_as_by_a_shell(self):
        missing = self.ctl.run("run", "k", "--", "no-such-command")
        self.assertEqual((missing.returncode, missing.stderr),
                         (127, "fairlockctl: cannot run 'no-such-command': "
                               "No such file or directory\n"))
        self.assertEqual(self.ctl.run("run", "k", "--", "/etc/passwd").returncode, 126)
        self.assertEqual(self.own.ask("LOCKED", "k"), 0)

    def test_it_knows_its_lock(self):
        done = self.run_shell('echo "$FAIRLOCK_KEY $FAIRLOCK_OWNER $FAIRLOCK_TOKEN"')
        key, owner, token = done.stdout.split()
        self.assertEqual(key, "k")
        self.assertRegex(owner, r"^.+:\d+:[0-9a-f]{12}$")
        self.assertGreater(self.own.ask("LOCK", "k", "next"), int(token))
        done = self.ctl.run("run", "other", "--owner", "me", "--", "printenv", "FAIRLOCK_OWNER")
        self.assertEqual(done.stdout, "me\n")

    def test_it_has_input_and_output(self):
        done = self.ctl.run("run", "k", "--", "cat", typed="a line")
        self.assertEqual((done.returncode, done.stdout), (DONE, "a line"))

    def test_signals_reach_it(self):
        script = (f'trap "echo hup" HUP; trap "echo term; exit 5" TERM; touch {self.folder}/ready;'
                  "while :; do sleep 0.01; done")
        runner = self.start("k", "--", "sh", "-c", script)
        self.wait_for_file("ready")
        runner.send_signal(signal.SIGHUP)
        self.assertEqual(runner.stdout.readline(), "hup\n")
        runner.send_signal(signal.SIGTERM)
        output, _ = runner.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((runner.returncode, output), (5, "term\n"))
        runner = self.start_sleep(60)
        runner.send_signal(signal.SIGTERM)
        self.assertEqual(self.outcome(runner), (143, ""))

    def test_ctrl_c_ends_it_and_not_the_runner(self):
        with Terminal(str(PROGRAM), "run", "k", "--", "sh", "-c",
                      'trap "echo cleaned up; exit 9" INT; echo ready; sleep 60 & wait',
                      environment=self.ctl.environment) as terminal:
            terminal.wait_for("ready")
            terminal.type("\x03")
            terminal.wait_for("cleaned up")
            self.wait_for_holder(0)
            _, status = os.waitpid(terminal.pid, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), 9)
            terminal.pid = os.posix_spawn("/bin/true", ["true"], {})  # a process for it to end

    def test_its_lease_is_renewed_while_it_runs(self):
        done = self.run_shell("sleep 1.2", "--ttl", "300ms")
        self.assertEqual((done.returncode, done.stderr), (DONE, ""))
        self.assertEqual(self.own.ask_map("LOCKINFO", "k")[b"waiters"], 0)

    def test_an_error_of_the_server_is_told(self):
        done = self.run_shell("echo ran", "--ttl", "400d")
        self.assertEqual((done.returncode, done.stdout), (REFUSED, ""))
        self.assertIn("answered: ERR ", done.stderr)

    def test_without_a_server_it_does_not_run(self):
        done = Fairlockctl().run("run", "k", "-p", str(free_port()), "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (UNREACHABLE, ""))
        for words in (["run", "k"], ["run", "k", "-n", "-w", "1s", "--", "true"],
                      ["run", "k", "--grace", "1s", "--", "true"],
                      ["run", "k", "--shared", "--limit", "2", "--", "true"]):
            self.assertEqual(self.ctl.run(*words).returncode, WRONG_USE, words)


class BadTimes(WithServer):

    def kill_runner(self, *options):
        """Kills a runner; returns when that was, and how long it took until the next one had the
        lock."""
        script = f"echo $$ > {self.folder}/pid; exec sleep 60"
        runner = self.start("k", *options, "--", "sh", "-c", script)
        pid_file = self.wait_for_file("pid")
        self.wait_until(lambda: pid_file.read_text().endswith("\n"), "the pid")
        runner.kill()
        begin = time.monotonic()
        self.assertIsInstance(self.own.ask("LOCK", "k", "next", "WAIT", "30s"), int)
        took = time.monotonic() - begin
        pid = pid_file.read_text().strip()
        self.wait_until(lambda: not pathlib.Path("/proc", pid).exists(), "the end of the orphan")
        return took

    def test_a_killed_runner_holds_until_its_lease_ends(self):
        took = self.kill_runner("--ttl", "1s")
        self.assertGreater(took, 0.3)
        self.assertLess(took, 10)

    def test_a_killed_runner_with_a_session_holds_no_longer(self):
        self.assertLess(self.kill_runner("--session", "--ttl", "1h"), 10)

    def test_a_server_that_is_gone_past_the_lease_ends_the_command(self):
        script = (f'trap "touch {self.folder}/told; exit 0" TERM; touch {self.folder}/ready;'
                  "while :; do sleep 0.01; done")
        runner = self.start("k", "--ttl", "1s", "--", "sh", "-c", script)
        self.wait_for_file("ready")
        begin = time.monotonic()
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            status, errors = self.outcome(runner)
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        self.assertEqual(status, LOST)
        self.assertRegex(errors, "losing 'k': .* did not renew the lease, and the hold ends soon; "
                                 "ending the command")
        self.assertLess(time.monotonic() - begin, 10)
        self.assertTrue((self.folder / "told").exists())

    # What keeps the lock while the server is away.
    BOUNDS = {"lease": ("--ttl", "4s", "--kill-after", "1s"),
              "session": ("--session", "--grace", "4s", "--kill-after", "1s")}

    def lose_network(self, options, on_term):
        """Returns a runner whose network is lost, its proxy, and the numbers of two processes: its
        command, and one that ignores SIGTERM."""
        proxy = self.enterContext(Proxy(self.server.port))
        self.ctl.environment["FAIRLOCK_PORT"] = str(proxy.port)
        script = (f"trap '' TERM; sleep 60 & trap '{on_term}' TERM;"
                  f"echo $$ $! > {self.folder}/pids; wait; wait")
        runner = self.start("k", *options, "--timeout", "300ms", "--", "sh", "-c", script)
        pid_file = self.wait_for_file("pids")
        self.wait_until(lambda: pid_file.read_text().endswith("\n"), "the pids")
        proxy.is_silent = True
        self.close_connections()  # the server notices too, so the grace of a session begins
        return runner, proxy, pid_file.read_text().split()

    def test_nothing_of_a_command_is_alive_when_the_next_holder_has_the_lock(self):
        for name, options in self.BOUNDS.items():
            with self.subTest(name):
                runner, _, pids = self.lose_network(options, f"touch {self.folder}/told")
                self.assertIsInstance(self.own.ask("LOCK", "k", "next", "WAIT", "30s"), int)
                alive = [pid for pid in pids if self.is_alive(pid)]
                self.assertEqual(alive, [])
                status, errors = self.outcome(runner)
                self.assertEqual(status, LOST)
                self.assertIn("ending the command", errors)
                self.assertTrue((self.folder / "told").exists())
                for file in ("told", "pids"):
                    (self.folder / file).unlink()
                self.own.ask("BREAK", "k")

    @staticmethod
    def is_alive(pid):
        try:
            status = pathlib.Path("/proc", pid, "stat").read_text().rpartition(")")[2]
        except OSError:
            return False
        return status.split()[0] != "Z"

    def test_a_command_that_ends_in_time_gives_the_lock_back(self):
        runner, proxy, _ = self.lose_network(
            ("--ttl", "10s", "--kill-after", "4500ms"),
            f"touch {self.folder}/told; while test ! -e {self.folder}/back; do sleep 0.05; done;"
            " exit 0")
        self.wait_for_file("told")
        proxy.is_silent = False
        pathlib.Path(self.folder, "back").touch()
        self.assertEqual(self.outcome(runner)[0], LOST)
        events = [event["event"] for event in self.ctl.json("history", "k")["events"]]
        self.assertIn("released", events)

    def test_a_lease_that_is_too_short_for_the_command_to_end_is_refused(self):
        for options, limit in ((("--ttl", "30s", "--kill-after", "16s"), "--ttl"),
                               (("--session", "--grace", "3s", "--kill-after", "2s"), "--grace")):
            done = self.run_shell("echo ran", *options)
            self.assertEqual((done.returncode, done.stdout), (WRONG_USE, ""))
            self.assertIn(f"--kill-after must be at most half of {limit}", done.stderr)
        self.start_sleep(60, "--kill-after", "40s")
        self.assertGreater(self.ctl.json("show", "k")["holders"][0]["ttl_ms"], 60_000)

    def test_a_server_that_is_back_within_the_lease_is_forgiven(self):
        runner = self.start_sleep(1.5, "--ttl", "20s", "--timeout", "200ms")
        self.close_connections()
        self.server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        self.server.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.outcome(runner), (DONE, ""))
        self.assertEqual(self.own.ask("LOCKED", "k"), 0)

    def test_a_server_without_memory_of_the_lock_ends_the_command(self):
        runner = self.start_sleep(60, "--ttl", "20s")
        self.own.ask("BREAK", "k")
        self.close_connections()
        status, errors = self.outcome(runner)
        self.assertEqual(status, LOST)
        self.assertRegex(errors, "lost 'k': (its hold was broken|.* says that this token holds)")

    def test_a_broken_lease_ends_the_command_and_all_that_it_started(self):
        script = f'trap "" TERM; sleep 60 & echo $$ $! > {self.folder}/pids; wait'
        runner = self.start("k", "--ttl", "600ms", "--kill-after", "300ms",
                            "--", "sh", "-c", script)
        pid_file = self.wait_for_file("pids")
        self.wait_until(lambda: pid_file.read_text().endswith("\n"), "the pids")
        begin = time.monotonic()
        self.own.ask("BREAK", "k")
        self.assertEqual(self.outcome(runner)[0], LOST)
        self.assertGreater(time.monotonic() - begin, 0.3)
        for pid in pid_file.read_text().split():
            self.wait_until(lambda pid=pid: not pathlib.Path("/proc", pid).exists(), "its end")

    def test_a_session_is_taken_up_again_within_its_grace(self):
        runner = self.start_sleep(2, "--session", "--grace", "10s")
        token = self.own.ask_map("LOCKINFO", "k")[b"holders"][0][3]
        self.close_connections()
        self.wait_until(lambda: self.ctl.json("show", "k")["holders"][0]["session"] == "open",
                        "the return")
        self.assertEqual(self.own.ask_map("LOCKINFO", "k")[b"holders"][0][3], token)
        self.assertEqual(self.outcome(runner), (DONE, ""))
        self.assertEqual(self.own.ask("LOCKED", "k"), 0)

    def test_a_session_without_grace_ends_with_its_connection(self):
        runner = self.start_sleep(60, "--session")
        self.close_connections()
        status, errors = self.outcome(runner)
        self.assertEqual(status, LOST)
        self.assertIn("the session ended while ", errors)
        # If the returning runner was granted the lock again, it has given it back.
        self.assertIsInstance(self.own.ask("LOCK", "k", "next", "WAIT", "10s"), int)

    def test_a_lock_that_was_lost_while_the_command_ended_well_is_told(self):
        runner = self.start_sleep(1, "--ttl", "60s")
        # The runner is stopped, so it reads nothing until its command has ended.
        runner.send_signal(signal.SIGSTOP)
        self.own.ask("BREAK", "k")
        time.sleep(1.5)
        runner.send_signal(signal.SIGCONT)
        status, errors = self.outcome(runner)
        self.assertEqual(status, LOST)
        self.assertIn("no longer held at the end", errors)


class Restarts(unittest.TestCase):
    """The server stops and returns with its locks, while a command runs."""

    OPTIONS = {"lease": ("--ttl", "30s"), "session": ("--session",)}

    def run_over(self, restart, *options):
        with KeptServer("--durability", "async") as server:
            ctl = Fairlockctl(server)
            begun = server.directory / "begun"
            script = f"echo $FAIRLOCK_TOKEN > {begun}.new; mv {begun}.new {begun}; exec sleep 3"
            runner = ctl.start("run", "k", *options, "--", "sh", "-c", script,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            give_up = time.monotonic() + PATIENCE_SECONDS
            while not begun.exists() and time.monotonic() < give_up:
                time.sleep(0.005)
            restart(server)
            with server.connect() as own:
                self.assertEqual(own.ask("CHECK", "k", begun.read_text().strip()), 1)
                # Other owners are denied, as if nothing had happened.
                self.assertIsNone(own.ask("LOCK", "k", "other"))
                _, errors = runner.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual((runner.returncode, errors), (DONE, ""))
                self.assertIsInstance(own.ask("LOCK", "k", "other"), int)

    def test_a_command_survives_a_restart(self):
        for name, options in self.OPTIONS.items():
            with self.subTest(name):
                self.run_over(KeptServer.stop_and_start_again, *options)

    def test_a_command_survives_a_crash_of_the_server(self):
        for name, options in self.OPTIONS.items():
            with self.subTest(name):
                self.run_over(KeptServer.kill_and_start_again, *options)


if __name__ == "__main__":
    unittest.main()
