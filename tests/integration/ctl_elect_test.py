"""fairlockctl elect: one of several candidates leads, tells its hook and its HTTP port, and another
one follows; observe says who leads."""

import json
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from fairlockctl import DONE, Fairlockctl, REFUSED, UNREACHABLE, WRONG_USE
from own_server import Server
import resp

TTL_SECONDS = 2
PATIENCE_SECONDS = 30
HOOK = """echo "$FAIRLOCK_EVENT $FAIRLOCK_OWNER $FAIRLOCK_TOKEN" >> "$FAIRLOCK_KEY.events" """


class Candidate:
    """A process of `elect`, which answers HTTP requests. Used in a with statement."""

    def __init__(self, ctl, folder, owner, *words, hook=HOOK):
        self.owner = owner
        self.process = ctl.start(
            "elect", "job", "--owner", owner, "--ttl", f"{TTL_SECONDS}s", "--listen",
            "127.0.0.1:0", "--json", *words, *(["--", "sh", "-c", hook] if hook else []),
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        listening = json.loads(self.process.stderr.readline())
        self.url = listening["message"].split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.communicate()

    def get(self, path):
        """Returns the status and the body of the answer."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def view(self):
        status, body = self.get("/")
        assert status == 200, body
        return json.loads(body)

    def end(self):
        """Asks it to resign; returns its messages."""
        self.process.terminate()
        errors = self.process.communicate(timeout=PATIENCE_SECONDS)[1]
        assert self.process.returncode == DONE, (self.process.returncode, errors)
        return [json.loads(line) for line in errors.splitlines()]


class Elect(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.ctl = Fairlockctl(self.server)
        self.own = self.enterContext(self.server.connect())
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def candidate(self, owner, *words, **options):
        return self.enterContext(Candidate(self.ctl, self.folder, owner, *words, **options))

    def await_true(self, is_met, seconds=PATIENCE_SECONDS):
        end = time.monotonic() + seconds
        while not is_met():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def events(self):
        file = self.folder / "job.events"
        return [line.split()[:2] for line in file.read_text().splitlines()] if file.exists() else []

    def lead(self, owner, *words, **options):
        """Starts a candidate, which becomes the leader."""
        one = self.candidate(owner, *words, **options)
        self.await_true(lambda: one.view()["is_leader"])
        return one

    def test_one_leads_and_the_others_know_it(self):
        first = self.lead("one")
        second = self.candidate("two")
        self.await_true(lambda: second.view()["name"] == "one")
        token = self.own.ask_map("LOCKINFO", "job")[b"holders"][0]
        token = dict(zip(token[::2], token[1::2]))[b"token"]
        self.assertEqual(first.view(), {"key": "job", "owner": "one", "is_leader": True,
                                        "name": "one", "token": token, "age_ms": 0})
        view = second.view()
        self.assertEqual((view["is_leader"], view["token"]), (False, token))
        self.assertLess(view["age_ms"], PATIENCE_SECONDS * 1000)
        self.assertEqual(first.get("/leaderz"), (200, "leader\n"))
        self.assertEqual(second.get("/leaderz"), (503, "not the leader\n"))
        self.assertEqual(second.get("/healthz"), (200, "ok\n"))
        self.assertEqual(second.get("/other")[0], 404)
        self.await_true(lambda: self.events() == [["gained", "one"]])

    def test_who_resigns_is_followed_at_once(self):
        first = self.lead("one")
        second = self.candidate("two")
        self.await_true(lambda: self.own.ask("POSITION", "job", "two") == 1)
        said = first.end()
        self.assertEqual([one["event"] for one in said], ["gained", "lost"])
        self.await_true(lambda: second.view()["is_leader"], TTL_SECONDS)
        self.await_true(lambda: len(self.events()) == 3)
        self.assertEqual(self.events(), [["gained", "one"], ["lost", "one"], ["gained", "two"]])
        second.end()
        self.assertEqual(self.own.ask("LOCKED", "job"), 0)

    def test_who_dies_is_followed_when_the_lease_ends(self):
        first = self.lead("one")
        second = self.candidate("two")
        self.await_true(lambda: self.own.ask("POSITION", "job", "two") == 1)
        first.process.kill()
        self.await_true(lambda: second.view()["is_leader"])

    def test_who_was_paused_does_not_lead_any_more(self):
        first = self.lead("one")
        second = self.candidate("two")
        self.await_true(lambda: self.own.ask("POSITION", "job", "two") == 1)
        first.process.send_signal(signal.SIGSTOP)
        self.await_true(lambda: second.view()["is_leader"])
        first.process.send_signal(signal.SIGCONT)
        self.assertEqual(first.get("/leaderz"), (503, "not the leader\n"))
        self.await_true(lambda: first.view()["name"] == "two")
        # It takes part again.
        self.await_true(lambda: self.own.ask("POSITION", "job", "one") == 1)

    def test_an_operator_can_depose_the_leader(self):
        first = self.lead("one")
        self.assertEqual(self.own.ask("BREAK", "job"), 1)
        self.await_true(lambda: ["lost", "one"] in self.events())
        self.await_true(lambda: first.view()["is_leader"])  # nobody else stood for election
        self.await_true(lambda: len(self.events()) == 3)

    def test_a_hook_that_goes_on_is_ended_before_the_lease(self):
        hook = HOOK + """; trap '' TERM; sleep 1000 & wait; sleep 1000"""
        self.lead("one", "--kill-after", "400ms", hook=hook)
        second = self.candidate("two", hook="")
        self.await_true(lambda: ["gained", "one"] in self.events())
        begun = time.monotonic()
        self.own.ask("BREAK", "job", "GRACE", "2s")
        self.await_true(lambda: second.view()["is_leader"])
        self.assertLess(time.monotonic() - begun, PATIENCE_SECONDS)
        self.await_true(lambda: ["lost", "one"] in self.events())

    def test_a_server_that_is_away_is_waited_for(self):
        first = self.lead("one")
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            self.await_true(lambda: first.get("/leaderz")[0] == 503)
            self.await_true(lambda: first.get("/healthz")[0] == 503)
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        self.await_true(lambda: first.get("/healthz")[0] == 200)
        self.await_true(lambda: first.get("/leaderz")[0] == 200)
        self.await_true(lambda: len(self.events()) == 3)
        self.assertEqual([event for event, _ in self.events()], ["gained", "lost", "gained"])

    def test_what_the_server_refuses_ends_it(self):
        self.own.ask("HSET", "job", "field", "value")
        refused = self.ctl.run("elect", "job")
        self.assertEqual(refused.returncode, REFUSED)
        self.assertIn("WRONGTYPE", refused.stderr)

    def test_wrong_words_are_refused(self):
        for words, text in ((["--listen", "here"], "--listen must be HOST:PORT"),
                            (["--listen", "localhost:1"], "with a numeric host"),
                            (["--kill-after", "1s"], "--kill-after needs a hook"),
                            (["--ttl", "2s", "--kill-after", "1500ms", "--", "true"],
                             "at most half of --ttl")):
            refused = self.ctl.run("elect", "job", *words)
            self.assertEqual(refused.returncode, WRONG_USE, refused.stderr)
            self.assertIn(text, refused.stderr)

    def test_many_visitors_do_not_disturb_it(self):
        one = self.lead("one", hook="")
        host, port = one.url.rpartition("/")[2].split(":")
        idle = [self.enterContext(resp.Connection.to((host, int(port)))) for _ in range(40)]
        self.assertEqual(one.get("/leaderz")[0], 200)
        idle[-1].send(b"x" * 100_000)
        self.assertEqual(one.get("/leaderz")[0], 200)
        with resp.Connection.to((host, int(port))) as odd:
            odd.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            self.assertIn(b"405", odd.socket.recv(1000))

    def test_observe_prints_each_change(self):
        watching = self.ctl.start("observe", "job", "--json", "-n", "4", stdout=subprocess.PIPE)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.stdout.close)
        names = [json.loads(watching.stdout.readline())["name"]]
        self.own.ask("LOCK", "job", "one", "PX", 60_000)
        names.append(json.loads(watching.stdout.readline())["name"])
        self.own.ask("TRANSFER", "job", "one", "two")
        names.append(json.loads(watching.stdout.readline())["name"])
        self.assertEqual(names, [None, "one", "two"])
        self.own.ask("UNLOCK", "job", "two")
        self.assertIsNone(json.loads(watching.stdout.readline())["name"])
        self.assertEqual(watching.wait(PATIENCE_SECONDS), DONE)
        text = self.ctl.text("observe", "job", "-n", "1")
        self.assertRegex(text, r"  nobody leads job\n$")

    def test_observe_says_that_there_is_no_server(self):
        ended = Fairlockctl(FAIRLOCK_PORT="1").run("observe", "job")
        self.assertEqual(ended.returncode, UNREACHABLE)


if __name__ == "__main__":
    unittest.main()
