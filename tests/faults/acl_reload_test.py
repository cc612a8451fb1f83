"""ACL LOAD while 2,000 requests of five users wait in 20 queues, judged by the clients' replies."""

import pathlib
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import resp  # noqa: E402
from longest_ping import LongestPing  # noqa: E402
from own_server import Server  # noqa: E402

QUEUES = 20
WAITERS_PER_QUEUE = 100
USERS = ["stays", "goes", "loses-keys", "is-off", "stays-too"]
# How long a waiter must receive nothing: longer than any reply takes, yet short enough for a test.
SILENCE_SECONDS = 0.2
COMMON = ["user default off", "user admin on nopass ~* +@all"]
RULES = "~queue:* resetchannels +@lock +@connection"


def rules(**changed):
    return COMMON + [f"user {name} " + changed.get(name.replace("-", "_"), f"on nopass {RULES}")
                     for name in USERS if changed.get(name.replace("-", "_")) != ""]


class AclReload(unittest.TestCase):

    def setUp(self):
        self.server = None

    def as_user(self, name):
        client = self.enterContext(self.server.connect())
        self.assertEqual(client.ask("AUTH", name, "any"), "OK")
        return client

    def wait_in(self, admin, key):
        """Returns (owner, user, connection) of each place, in order."""
        places = [(f"{key}-{number}", USERS[number % len(USERS)]) for number in
                  range(WAITERS_PER_QUEUE)]
        waiters = []
        for owner, user in places:
            client = self.as_user(user)
            client.send(resp.request("LOCK", key, owner, "EX", "600", "WAIT", "FOREVER"))
            waiters.append((owner, user, client))
        give_up = time.monotonic() + 20
        while len(self.owners(admin, key)) < len(places):
            self.assertLess(time.monotonic(), give_up)
        order = {owner: place for place, owner in enumerate(self.owners(admin, key))}
        return sorted(waiters, key=lambda waiter: order[waiter[0]])

    def owners(self, admin, key):
        rows = admin.ask("QUEUE", key, "COUNT", 1000)
        return [dict(zip(row[::2], row[1::2]))[b"owner"].decode() for row in rows]

    def check_told(self, queue):
        """Each waiter gets the one reply that its user's new rules demand; the others get
        nothing."""
        for owner, user, client in queue:
            if user in ("goes", "is-off"):
                self.assertEqual(client.rest(), b"", owner)
            if user == "loses-keys":
                self.assertRegex(client.reply(), "^NOPERM User loses-keys has no permissions")
                self.assertEqual(client.ask("PING"), "PONG")

    def check_silence(self, queue):
        time.sleep(SILENCE_SECONDS)
        for owner, _, client in queue:
            client.socket.setblocking(False)
            with self.assertRaises(BlockingIOError, msg=owner):
                client.socket.recv(1)
            client.socket.settimeout(client.TIMEOUT_SECONDS)

    def check_order(self, admin, key, last_token, queue):
        """The remaining waiters get the lock one after the other, in order."""
        admin.ask("UNLOCK", key, "holder")
        for owner, _, client in queue:
            token = client.reply()
            self.assertGreater(token, last_token, owner)
            self.assertEqual(admin.ask("UNLOCK", key, owner), 1)
            last_token = token

    def test_each_waiter_is_told_once_what_its_user_may(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "users.acl"
        path.write_text("\n".join(rules()) + "\n")
        self.server = self.enterContext(Server("--acl-file", str(path)))
        admin = self.as_user("admin")
        keys = [f"queue:{number}" for number in range(QUEUES)]
        tokens = {key: admin.ask("LOCK", key, "holder", "EX", "600") for key in keys}
        of_gone_user = self.as_user("goes").ask("LOCK", "queue:held", "gone", "EX", "600")
        queues = {key: self.wait_in(admin, key) for key in keys}
        path.write_text("\n".join(rules(
            goes="", is_off=f"off nopass {RULES}",
            loses_keys="on nopass ~other:* resetchannels +@lock +@connection")) + "\n")
        with LongestPing(self.server, user="admin") as others:
            begin = time.monotonic()
            self.assertEqual(admin.ask("ACL", "LOAD"), "OK")
            for queue in queues.values():
                self.check_told(queue)
            seconds = time.monotonic() - begin
        self.check_silence([waiter for queue in queues.values() for waiter in queue
                            if waiter[1].startswith("stays")])
        for key in keys:
            stay = [waiter for waiter in queues[key] if waiter[1].startswith("stays")]
            self.assertEqual(self.owners(admin, key), [owner for owner, _, _ in stay])
            self.check_order(admin, key, tokens[key], stay)
        self.assertEqual(admin.ask("CHECK", "queue:held", of_gone_user), 1)
        print(f"{QUEUES * WAITERS_PER_QUEUE} waiters of {len(USERS)} users: all told after "
              f"{seconds * 1000:.0f} ms; longest PING of another connection beside it "
              f"{others.milliseconds:.1f} ms", flush=True)
        self.assertLess(others.milliseconds, 1000)


if __name__ == "__main__":
    unittest.main()
