"""The runner finds what a library does wrong: drivers with one fault each fail the case for it."""

import concurrent.futures
import pathlib
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))

import case_file  # noqa: E402
import link  # noqa: E402

# {fault: (the case that finds it, the code that replaces a part of the library for Python)}
FAULTS = {
    "renewal never": ("renewal", """
        import fairlock._hold_state as state
        state._RENEW_PART = -100
        """),
    "a late grant is not confirmed": ("late_grant", """
        import fairlock._acquire as acquire
        acquire._LATE_PART = 1e9
        """),
    "a cancelled wait leaves its place": ("cancelled_place", """
        import fairlock._lock as lock
        lock.may_leave_something = lambda error: False
        """),
    "a lost connection ends the wait": ("cut_while_waiting", """
        import fairlock._acquire as acquire
        acquire.is_temporary = lambda error: False
        """),
    "no check of the clock": ("lease_ends", """
        import fairlock._hold_state as state
        state.HoldState.deadline = property(lambda self: 1e18, lambda self, end: None)
        """),
    "a child believes that it holds": ("forked_child", """
        import fairlock._hold_state as state
        state.HoldState.is_of_this_process = True
        """),
    "renewal too often": ("silent_hold", """
        import fairlock._hold_state as state
        state._RENEW_PART = 0.8
        """),
    "a renewal may shorten the lease": ("renew_arrives_late", """
        import fairlock._terms as terms
        renew = terms.Terms.renew
        terms.Terms.renew = lambda *given: renew(*given)[:-1]
        """),
    "the renewal that is answered last counts": ("renew_late_and_overtaken", """
        import fairlock._hold_state as state
        state.max = lambda first, second: second
        """),
    "a refused renewal is forgotten": ("renew_of_a_lost_hold", """
        import fairlock._hold_state as state
        state.HoldState.lose = lambda self, reason: None
        """),
    "a transfer under way is no doubt": ("transfer_late", """
        import fairlock._hold_state as state
        state.HoldState._heir = property(lambda self: None, lambda self, heir: None)
        """),
    "a transfer without a reply is forgotten": ("transfer_unconfirmed", """
        import fairlock._hold_state as state
        def forget(self):
            self._heir = None
        state.HoldState.end_transfer = forget
        """),
    "a transfer is not sent again": ("transfer_cut", """
        import fairlock._hold_state as state
        state._REPEAT_SECONDS = 0
        """),
    "a refused transfer loses the hold": ("transfer_refused", """
        import fairlock._hold_state as state
        state.HoldState._refuse_transfer = lambda self: None
        """),
    "a release ends any hold of its owner": ("unlock_late_and_overtaken", """
        import fairlock._terms as terms
        unlock = terms.Terms.unlock
        terms.Terms.unlock = lambda self, owner, token=None: unlock(self, owner)
        """),
    "a release is not sent again": ("unlock_cut", """
        import fairlock._hold_state as state
        state.is_temporary = lambda error: False
        """),
    "a hold is held until its release is answered": ("unlock_late", """
        import fairlock._hold_state as state
        state.HoldState.is_over = property(lambda self: self.is_released, lambda self, over: None)
        """),
    "waits poll": ("silent_wait", """
        import fairlock._acquire as acquire
        acquire._GRACE_SECONDS = -19.9
        """),
}


class Runner(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def play(self, case, fault="", patience=40):
        """Runs a case with Python's driver, with the fault; returns the status and the output."""
        driver = ROOT / "clients/python/tests/conformance_driver.py"
        program = self.folder / f"{case}.py"
        program.write_text(
            f"import runpy, sys\nsys.path[:0] = ['{driver.parents[1]}/src', '{driver.parent}']\n"
            f"{textwrap.dedent(fault)}\nrunpy.run_path('{driver}', run_name='__main__')\n")
        done = subprocess.run(
            [sys.executable, "-B", str(HERE / "conformance.py"), "--languages", "faulty",
             "--driver", f"faulty={sys.executable} -B {program}", "--cases", case,
             "--patience", str(patience)],
            capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_faults_of_a_library_are_found(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            played = {fault: pool.submit(self.play, case, code, patience=4)
                      for fault, (case, code) in FAULTS.items()}
        for fault, (case, _) in FAULTS.items():
            with self.subTest(fault):
                status, output = played[fault].result()
                self.assertEqual(status, 1, output)
                self.assertIn(f"FAILED {case} on plain", output)

    def test_a_driver_that_ends_is_reported(self):
        status, output = self.play("denied", "sys.exit('no such library')")
        self.assertEqual(status, 1)
        self.assertIn("the driver for faulty has ended: no such library", output)

    def test_without_the_fault_the_case_passes(self):
        status, output = self.play("late_grant")
        self.assertEqual(status, 0, output)


class Link(unittest.TestCase):

    def test_requests_are_read_when_they_are_complete(self):
        reader = link.RequestReader()
        self.assertEqual(reader.read(b"*1\r\n$4\r\nPI"), [])
        self.assertEqual(reader.read(b"NG\r\n*2\r\n$6\r\nLOCKED\r\n$2\r\n\r\n\r\n*1"),
                         [("ping", b"*1\r\n$4\r\nPING\r\n"),
                          ("locked", b"*2\r\n$6\r\nLOCKED\r\n$2\r\n\r\n\r\n")])
        self.assertEqual(reader.read(b"\r\n$4\r\nping\r\n"),
                         [("ping", b"*1\r\n$4\r\nping\r\n")])

    def test_what_is_encrypted_has_no_name(self):
        self.assertEqual(link.RequestReader().read(b"\x16\x03\x01\0\1*"),
                         [(None, b"\x16\x03\x01\0\1*")])

    def test_replies_are_read_when_they_are_complete(self):
        replies = [b"+OK\r\n", b"-ERR no\r\n", b":12\r\n", b"$-1\r\n", b"*-1\r\n", b"_\r\n",
                   b"$0\r\n\r\n", b"$4\r\n\r\n\r\n\r\n", b"*0\r\n",
                   b"*2\r\n$1\r\na\r\n*1\r\n:1\r\n",
                   b"%1\r\n+a\r\n~2\r\n:1\r\n:2\r\n", b">2\r\n+message\r\n=5\r\ntxt:a\r\n",
                   b"|1\r\n+a\r\n:1\r\n:2\r\n"]
        whole = b"".join(replies)
        for size in (1, 2, 3, 7, len(whole)):
            reader, found = link.ReplyReader(), []
            for start in range(0, len(whole), size):
                found += reader.read(whole[start:start + size])
            self.assertEqual(found, replies, size)


    def test_ports_in_replies_are_replaced(self):
        changer = link.PortChanger({24001: 40001, 24002: 40002})
        self.assertEqual(changer.read(b"*3\r\n$9\r\n127.0.0.1\r\n:2400"),
                         b"*3\r\n$9\r\n127.0.0.1\r\n")
        self.assertEqual(changer.read(b"1\r\n:124002\r\n-MOVED 7 127.0.0.1:24002\r\n"),
                         b":40001\r\n:124002\r\n-MOVED 7 127.0.0.1:40002\r\n")


class Faults(unittest.TestCase):
    """A server that replies to each request with its number, and notes when it came."""

    def setUp(self):
        self.listener = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        self.came = []
        threading.Thread(target=self.serve, daemon=True).start()
        self.link = link.Link([self.listener.getsockname()[1]])
        self.addCleanup(self.link.close)

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client):
        reader = link.RequestReader()
        with client:
            while data := client.recv(1000):
                for name, _ in reader.read(data):
                    self.came.append(name)
                    client.sendall(b":%d\r\n" % len(self.came))

    def connect(self):
        client = self.enterContext(socket.create_connection(("127.0.0.1", self.link.ports[0])))
        client.settimeout(10)
        return client

    def send(self, client, name):
        client.sendall(b"*1\r\n$%d\r\n%s\r\n" % (len(name), name))

    def test_a_lost_request(self):
        client = self.connect()
        self.link.spoil("renew", [link.Fault(lost=True)])
        self.send(client, b"CHECK")
        self.assertEqual(client.recv(10), b":1\r\n")
        self.send(client, b"RENEW")
        self.assertEqual(client.recv(10), b"")
        self.assertEqual(self.came, ["check"])

    def test_a_reply_that_is_cut_off_among_others(self):
        client = self.connect()
        self.link.spoil("renew", [link.Fault(cut=True)])
        for name in (b"CHECK", b"LOCK", b"RENEW"):
            self.send(client, name)
        received = b""
        while data := client.recv(10):
            received += data
        self.assertEqual(received, b":1\r\n:2\r\n")
        self.assertEqual(self.came, ["check", "lock", "renew"])

    def test_a_late_reply(self):
        client, fault = self.connect(), link.Fault(answered=0.3)
        self.link.spoil("renew", [fault])
        began = time.monotonic()
        self.send(client, b"RENEW")
        self.assertTrue(fault.is_executed.wait(10))
        self.assertEqual(self.came, ["renew"])
        self.assertEqual(client.recv(10), b":1\r\n")
        self.assertGreaterEqual(time.monotonic() - began, 0.3)

    def test_a_late_request_arrives_although_its_connection_was_closed(self):
        client, fault = self.connect(), link.Fault(arrives=0.5)
        self.link.spoil("renew", [fault])
        self.send(client, b"RENEW")
        self.assertTrue(fault.is_sent.wait(10))
        client.close()
        newer = self.connect()
        self.send(newer, b"RENEW")
        self.assertEqual(newer.recv(10), b":1\r\n")
        self.assertTrue(fault.is_executed.wait(10))
        self.assertEqual(self.came, ["renew", "renew"])

    def test_each_fault_meets_one_request_until_the_link_is_healed(self):
        self.link.spoil("renew", [link.Fault(lost=True) for _ in range(3)])
        for received in (b"", b""):
            client = self.connect()
            self.send(client, b"RENEW")
            self.assertEqual(client.recv(10), received)
        self.link.heal()
        client = self.connect()
        self.send(client, b"RENEW")
        self.assertEqual(client.recv(10), b":1\r\n")


class CaseFile(unittest.TestCase):

    def test_a_case(self):
        (case,) = case_file.parse(
            "# About it.\ncase name\nshows What\nshows it shows.\non plain fleet\n"
            "one slot\n"
            "  w: a acquire h k,l wait=null owner=job:1 -> granted owner=job:1\n  w -> ok\n")
        self.assertEqual((case.name, case.shows, case.environments, case.participants),
                         ("name", "What it shows.", ("plain", "fleet"), ["a"]))
        self.assertTrue(case.one_slot)
        step = case.steps[0]
        self.assertEqual((step.label, step.actor, step.verb, step.words, step.options),
                         ("w", "a", "acquire", ["h", "k,l"], {"wait": None, "owner": "job:1"}))
        self.assertEqual(step.expected, ["granted", "owner=job:1"])

    def test_lines_that_mean_nothing(self):
        for text in ("case x\nshow it\n", "  a acquire h k\n", "case x\n  w: acquire h k\n",
                     "case x\non nowhere\n"):
            with self.subTest(text), self.assertRaises(case_file.Malformed):
                case_file.parse(text)

    def test_expectations(self):
        denied = {"error": "Denied", "reason": "held", "position": 2, "holders": ["a", "b"]}
        for words in ("Denied", "Denied reason=held position=2", "holders=a,b", "position>=2",
                      "position=1..3", "LostHold or Denied"):
            self.assertIsNone(case_file.mismatch(denied, words.split()), words)
        for words in ("granted", "Denied reason=full", "holders=a", "position>=3", "eta>=0",
                      "position=3..4", "LostHold or granted"):
            self.assertIsNotNone(case_file.mismatch(denied, words.split()), words)
        self.assertIsNone(case_file.mismatch({"token": None}, ["none"]))
        self.assertIsNotNone(case_file.mismatch({"ok": False}, ["ok"]))


if __name__ == "__main__":
    unittest.main()
