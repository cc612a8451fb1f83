"""If any allocation fails, the server continues or ends at once, and everything that it has
acknowledged still exists after the next start.

The suite fails a few of the allocations that a list of requests causes, one per run; to try all of
them:

    FAIRLOCKD=... FAILING_ALLOCATIONS=.../libfailing_allocations.so \\
    /usr/bin/python3 tests/faults/out_of_memory_test.py --all
"""

import mmap
import os
import signal
import struct
import sys
import unittest

import measured  # noqa: F401 (finds the modules of tests/integration)
import own_server
from kept_server import KeptServer
from resp import ErrorReply, Ended

END_STATUS = 4
GLIBC_ERROR = "Fatal glibc error: failed to register TLS destructor"
EACH_UNTIL = 10
EACH = "--all" in sys.argv
SCRIPT = """
    LOCK free holder PX 600000
    LOCK free holder PX 900000
    RENEW free holder PX 700000
    LOCK shared a SHARED PX 600000 META some-text LABEL nightly
    LOCK shared b SHARED PX 600000
    LOCK room a LIMIT 2 PX 600000
    LOCK room b LIMIT 2 PX 600000
    MLOCK 3 one two three holder PX 600000
    UNLOCK shared a
    LOCK gone holder PX 600000
    UNLOCK gone holder
    SET redis value NX PX 600000
    LIMIT SET room* 3
    HISTORY *
    STATS
    QUEUE free
    LOCKS 0
    INFO
    EVAL return{redis.call('GET','redis'),string.rep('x',1000)} 0
    SUBSCRIBE channel
    UNSUBSCRIBE channel
    MULTI
    LOCK step holder PX 600000
    LOCK step2 holder PX 600000
    EXEC
    TRANSFER free holder heir
"""
REQUESTS = [line.split() for line in SCRIPT.strip().splitlines()]


class FailingServer(KeptServer):
    """A server in which one allocation can be made to fail."""

    def __init__(self, *options):
        super().__init__(*options)
        self.countdown = self.directory / "countdown"
        self.countdown.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": os.environ["FAILING_ALLOCATIONS"],
                            "FAIL_ALLOCATION": str(self.countdown)}

    def fail_at(self, number):
        self._map(lambda mapped: mapped.__setitem__(slice(0, 8), struct.pack("q", number)))

    def is_failed(self):
        """Whether the allocation that was to fail has been reached."""
        return self._map(lambda mapped: struct.unpack("q", mapped[:8])[0]) <= 0

    def _map(self, what):
        with open(self.countdown, "r+b") as file, mmap.mmap(file.fileno(), 8) as mapped:
            return what(mapped)


class OutOfMemory(unittest.TestCase):

    def run_script(self, server):
        """Returns the replies that were received."""
        replies = []
        try:
            with server.connect() as client:
                for words in REQUESTS:
                    replies.append(client.ask(*words))
        except (Ended, OSError):
            pass
        return replies

    def check_what_was_acknowledged(self, server, replies):
        with server.connect_unix() as client:
            held = {}
            for words, reply in zip(REQUESTS, replies):
                if isinstance(reply, ErrorReply):
                    continue
                if words[0] == "LOCK" and isinstance(reply, int):
                    held[words[1], words[2]] = reply
                elif words[0] == "UNLOCK" and reply == 1:
                    held[words[1], words[2]] = None
                elif words[0] == "MLOCK":
                    for key in ("one", "two", "three"):
                        self.assertEqual(client.ask("LOCKED", key), 1, words)
                elif words[0] == "EXEC":
                    held["step", "holder"], held["step2", "holder"] = reply
                elif words[0] == "TRANSFER":
                    del held["free", "holder"]
                    held["free", "heir"] = reply
            # The last request, which got no reply, may have been executed.
            open_request = REQUESTS[len(replies)] if len(replies) < len(REQUESTS) else []
            for (key, owner), token in held.items():
                if key in open_request:
                    continue
                if token is None:
                    if any(other == key and one for (other, _), one in held.items()):
                        continue
                    self.assertEqual(client.ask("LOCKED", key), 0, key)
                else:
                    self.assertEqual(client.ask("CHECK", key, token), 1, (key, owner, token))

    def check_how_it_ended(self, server):
        # The C library itself aborts a process in which a thread cannot register a destructor.
        code = server.end_code()
        if code == -signal.SIGABRT:
            self.assertIn(GLIBC_ERROR, server.output())
            return
        self.assertEqual(code, END_STATUS, server.output())
        self.assertIn("error exiting: the system is out of memory", server.output())

    def fail_one(self, server, number):
        """Returns whether that allocation was reached; afterwards the server is empty again."""
        server.fail_at(number)
        replies = self.run_script(server)
        is_failed = server.is_failed()
        server.fail_at(0)
        if len(replies) < len(REQUESTS):
            self.assertTrue(is_failed, server.output())
            self.check_how_it_ended(server)
        if server.process.poll() is not None:
            server.start_again()
            self.check_what_was_acknowledged(server, replies)
        else:
            self.check_what_was_acknowledged(server, replies)
            server.kill_and_start_again()
            self.check_what_was_acknowledged(server, replies)
        self.clear(server)
        return is_failed

    @staticmethod
    def clear(server):
        with server.connect_unix() as client:
            for key in client.ask("KEYS", "*"):
                client.ask("BREAK", key)
            client.ask("LIMIT", "DEL", "room*")

    @unittest.skipIf(not own_server.IS_MEASURED, "a sanitizer has an allocator of its own")
    def test_whichever_allocation_fails_nothing_acknowledged_is_lost(self):
        for durability in ("async", "sync"):
            with self.subTest(durability), FailingServer("--durability", durability) as server:
                number, step = 1, 1
                while self.fail_one(server, number):
                    if not EACH and number >= EACH_UNTIL:
                        step = number // 2
                    number += step
                print(f"{durability}: the script makes less than {number} allocations")
                self.assertGreater(number, EACH_UNTIL)


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--all"]
    unittest.main()
