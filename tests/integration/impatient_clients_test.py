"""Stock clients with a read time-out of a few seconds wait much longer than that, and keep their
turn.

Each time-out closes the connection. The place stays for `reconnect_grace`, and the repeated request
finds it.
"""

import os
import pathlib
import subprocess
import time
import unittest

import own_go
from own_server import Server

HERE = pathlib.Path(__file__).parent
WAIT_S = 20
# Between two requests a waiter is skipped, so the lock must not be released just then. The clients
# start this far apart, and time out every 3 s or 5 s.
APART_S = 0.4
RELEASE_AFTER_S = 22.0
CLIENTS = {
    "ruby": (["ruby", str(HERE / "impatient_waiter.rb")], WAIT_S // 5 - 1),
    "go": ([os.environ["GO_WAITER"]], WAIT_S // 3 - 1),
}
if not os.environ["GO_WAITER"]:
    del CLIENTS["go"]
    print(f"skipped, go: {own_go.why_not()}")
LINE = 3


class Waiter:
    def __init__(self, command, server, key, owner):
        self.process = subprocess.Popen([*command, str(server.port), key, owner],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.began = time.monotonic()
        self.output = ""

    def finish(self):
        self.output = self.process.communicate(timeout=60)[0]
        assert self.process.returncode == 0, self.output

    def token(self):
        return int(self.output.split("granted ")[1].split()[0])

    def timeouts(self):
        return self.output.count("timeout")


class ImpatientClients(unittest.TestCase):

    def owners_in_line(self, asking, key):
        places = asking.ask("QUEUE", key)
        return [dict(zip(place[::2], place[1::2]))[b"owner"].decode() for place in places]

    def start(self, server, asking, key, command):
        """Returns a queue of waiters."""
        line = []
        for i in range(LINE):
            waiter = Waiter(command, server, key, f"{key}:{i}")
            self.addCleanup(waiter.process.kill)
            line.append(waiter)
            give_up = time.monotonic() + 20
            while len(self.owners_in_line(asking, key)) <= i:
                self.assertLess(time.monotonic(), give_up, "the waiter does not ask")
                time.sleep(0.01)
            time.sleep(APART_S)
        return line

    def test_they_wait_in_a_line_of_three_and_are_served_in_order(self):
        with Server() as server, server.connect() as asking:
            lines = {}
            held = {}
            for key, (command, _) in CLIENTS.items():
                held[key] = asking.ask("LOCK", key, "holder", "PX", 300_000)
                lines[key] = self.start(server, asking, key, command)
            release_at = lines["ruby"][0].began + RELEASE_AFTER_S
            time.sleep(max(0.0, release_at - time.monotonic()))
            for key, line in lines.items():
                owners = [f"{key}:{i}" for i in range(LINE)]
                self.assertEqual(self.owners_in_line(asking, key), owners)
                self.assertEqual(asking.ask("UNLOCK", key, "holder"), 1)
            for key, line in lines.items():
                for waiter in line:
                    waiter.finish()
                timeouts = [waiter.timeouts() for waiter in line]
                tokens = [waiter.token() - held[key] for waiter in line]
                print(f"{key}: {timeouts} time-outs, tokens {tokens} after the holder's")
        for key, line in lines.items():
            timeouts_min = CLIENTS[key][1]
            tokens = [waiter.token() for waiter in line]
            self.assertEqual(tokens, sorted(tokens))
            self.assertTrue(all(waiter.timeouts() >= timeouts_min for waiter in line))


if __name__ == "__main__":
    unittest.main()
