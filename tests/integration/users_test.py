"""Users and permissions on a running server, with redis-cli, redis-py and fairlockctl."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import redis

from http_server import HttpServer, TOKEN
from own_server import PROGRAM, Server, free_port, hash_of
from resp import request

CTL = pathlib.Path(os.environ["FAIRLOCKCTL"]).resolve()
REDIS_CLI = "redis-cli"
WRONGPASS = "WRONGPASS invalid username-password pair or user is disabled."


def wait_for_log(server, text, count=1):
    """Waits for the text to appear; a separate thread writes the log."""
    give_up = time.monotonic() + 20
    while server.output().count(text) < count:
        assert time.monotonic() < give_up, server.output()
        time.sleep(0.01)


def run_to_its_end(*options):
    ended = subprocess.run([PROGRAM, "--port", str(free_port()), "--http-port", "0",
                            "--durability", "none", *options], capture_output=True, text=True,
                           timeout=20, check=False)
    return ended.returncode, ended.stderr


class WithUsers(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "users.acl"
        self.slow = hash_of("open sesame")
        self.write("user root on >root ~* +@all",
                   f"user web on {self.slow} ~web:* owner:web-* +@lock +@connection")
        self.server = None

    def write(self, *lines):
        self.file.write_text("\n".join(lines) + "\n")

    def start(self, *options):
        self.server = self.enterContext(Server("--acl-file", str(self.file), *options))
        return self.server

    def as_user(self, user, password):
        client = self.enterContext(self.server.connect())
        self.assertEqual(client.ask("AUTH", user, password), "OK")
        return client

    def redis_py(self, **options):
        client = redis.Redis("127.0.0.1", port=self.server.port, **options)
        self.addCleanup(client.connection_pool.disconnect)
        return client


class LoggingIn(WithUsers):

    def test_redis_py(self):
        self.start()
        web = self.redis_py(username="web", password="open sesame")
        self.assertIsInstance(web.execute_command("LOCK", "web:1", "web-1"), int)
        with self.assertRaises(redis.exceptions.NoPermissionError):
            web.execute_command("LOCK", "other", "web-1")
        with self.assertRaisesRegex(redis.exceptions.RedisError, "WRONGPASS"):
            self.redis_py(username="web", password="wrong").ping()
        with self.assertRaises(redis.exceptions.AuthenticationError):
            self.redis_py().ping()
        root = self.redis_py(username="root", password="root", decode_responses=True)
        self.assertEqual(root.acl_whoami(), "root")
        self.assertEqual(root.acl_users(), ["root", "web"])
        self.assertIn("lock", root.acl_cat())
        self.assertEqual(root.acl_getuser("web")["flags"], ["on"])
        self.assertEqual(len(root.acl_list()), 2)

    def test_redis_cli(self):
        self.start()
        def say(*words):
            ended = subprocess.run([REDIS_CLI, "-p", str(self.server.port), *words],
                                   capture_output=True, text=True, timeout=20, check=False)
            return ended.stdout.strip()
        web = ["--no-auth-warning", "--user", "web", "-a", "open sesame"]
        self.assertEqual(say(*web, "LOCKED", "web:1"), "0")
        self.assertEqual(say(*web, "-3", "ACL", "WHOAMI").split()[0], "NOPERM")
        self.assertEqual(say("PING"), "NOAUTH Authentication required.")
        environment = dict(os.environ, REDISCLI_AUTH="root")
        ended = subprocess.run([REDIS_CLI, "-p", str(self.server.port), "--user", "root", "PING"],
                               capture_output=True, text=True, timeout=20, check=False,
                               env=environment)
        self.assertEqual(ended.stdout, "PONG\n")

    def test_requirepass(self):
        for password in ("plain words", hash_of("plain words")):
            with Server("--requirepass", password) as server:
                with server.connect() as client:
                    self.assertEqual(client.ask("AUTH", "wrong"), WRONGPASS)
                    self.assertEqual(client.ask("AUTH", "plain words"), "OK")
                    self.assertEqual(client.ask("ACL", "WHOAMI"), b"default")
                    self.assertEqual(client.ask("CONFIG", "SET", "requirepass", "other"), "OK")
                    self.assertEqual(client.ask("PING"), "PONG")
                with server.connect() as client:
                    self.assertEqual(client.ask("AUTH", "plain words"), WRONGPASS)
                    self.assertEqual(client.ask("AUTH", "other"), "OK")
                    self.assertEqual(client.ask("CONFIG", "SET", "requirepass", ""), "OK")
                with server.connect() as client:
                    self.assertEqual(client.ask("PING"), "PONG")
                wait_for_log(server, "requirepass has changed")
                self.assertNotIn("other", server.output())

    def test_fairlockctl(self):
        self.start()
        password = self.folder / "password"
        def run(*words):
            return subprocess.run(
                [CTL, "--port", str(self.server.port), "--password-file", password, *words],
                capture_output=True, text=True, timeout=20, check=False)
        password.write_text("open sesame\n")
        self.assertEqual(run("--user", "web", "ping").returncode, 0)
        taken = run("--user", "web", "lock", "web:1", "web-1")
        self.assertEqual(taken.returncode, 0, taken.stderr)
        denied = run("--user", "web", "lock", "other", "web-1")
        self.assertEqual(denied.returncode, 77)
        self.assertIn("NOPERM", denied.stderr)
        password.write_text("wrong\n")
        wrong = run("--user", "web", "ping")
        self.assertEqual(wrong.returncode, 77)
        self.assertIn("WRONGPASS", wrong.stderr)
        ended = subprocess.run([CTL, "--port", str(self.server.port), "ping"],
                               capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(ended.returncode, 77)

    def test_a_storm_of_log_ins_stops_nobody(self):
        """Other clients are served while passwords are compared, and a known password is
        recognised."""
        self.start("--max-failed-log-ins", "0")
        root = self.as_user("root", "root")
        stop = threading.Event()

        def storm():
            with self.server.connect() as client:
                while not stop.is_set():
                    client.ask("AUTH", "web", "wrong")

        threads = [threading.Thread(target=storm) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            delays = []
            start = time.monotonic()
            while time.monotonic() < start + 2 or len(delays) < 20:
                begin = time.monotonic()
                root.ask("PING")
                delays.append(time.monotonic() - begin)
                time.sleep(0.002)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        seconds = time.monotonic() - start
        failed = int(redis_info(root, "acl_access_denied_auth"))
        self.assertGreater(failed, 3)
        delays.sort()
        # If the loop compared passwords itself, a PING would wait for some of them.
        self.assertLess(delays[len(delays) // 2], seconds / failed)

    def test_all_who_log_in_at_once_with_one_password_are_let_in(self):
        """There are more log-ins than may fail, and more than are compared at a time."""
        with Server("--requirepass", self.slow) as server:
            clients = [self.enterContext(server.connect()) for _ in range(100)]
            for client in clients:
                client.send(request("AUTH", "open sesame"))
            self.assertEqual([client.reply() for client in clients], ["OK"] * len(clients))
            for client in clients:
                client.close()

    def test_failures_are_limited_by_address(self):
        self.start("--max-failed-log-ins", "3")
        with self.server.connect() as client:
            for _ in range(3):
                self.assertEqual(client.ask("AUTH", "root", "wrong"), WRONGPASS)
            self.assertRegex(client.ask("AUTH", "root", "root"),
                             r"^ERR too many log-ins from this address have failed")
        # A unix socket counts as a separate address.
        with self.server.connect_unix() as client:
            self.assertEqual(client.ask("AUTH", "root", "root"), "OK")
        wait_for_log(self.server, "log-in failed: user 'root'", 3)

    def test_a_connection_that_goes_while_its_password_is_compared(self):
        self.start("--max-failed-log-ins", "0")
        for _ in range(20):
            with self.server.connect() as client:
                client.send(b"AUTH web wrong\r\n")
        root = self.as_user("root", "root")
        self.assertEqual(root.ask("PING"), "PONG")


def redis_info(client, field):
    for line in client.ask("INFO").decode().splitlines():
        if line.startswith(field + ":"):
            return line.partition(":")[2]
    raise AssertionError(field)


class Changing(WithUsers):

    def reload(self):
        begin = self.server.output().count("SIGHUP")
        self.server.process.send_signal(signal.SIGHUP)
        give_up = time.monotonic() + 20
        while self.server.output().count("SIGHUP") == begin:
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.005)

    def test_a_waiter_that_may_no_longer_lock(self):
        self.start()
        root = self.as_user("root", "root")
        web = self.as_user("web", "open sesame")
        root.ask("LOCK", "web:1", "root-1")
        web.send(b"LOCK web:1 web-1 WAIT 60s\r\n")
        while root.ask("QUEUE", "web:1") == []:
            time.sleep(0.005)
        self.write("user root on >root ~* +@all", "user web on >x ~other:* +@lock +@connection")
        self.reload()
        self.assertEqual(web.reply(),
                         "NOPERM User web has no permissions to access the 'web:1' key")
        self.assertEqual(web.ask("PING"), "PONG")
        self.assertEqual(root.ask("QUEUE", "web:1"), [])

    def test_a_user_that_is_gone(self):
        self.start()
        web = self.as_user("web", "open sesame")
        self.write("user root on >root ~* +@all")
        self.reload()
        self.assertTrue(web.has_ended())

    def test_a_wrong_file_changes_nothing(self):
        self.start()
        root = self.as_user("root", "root")
        self.write("user root on >root ~* +@all", "user web on +@nosuch")
        self.assertRegex(root.ask("ACL", "LOAD"),
                         r"^ERR acl_file: .*users.acl line 2: user web: '\+@nosuch': unknown")
        self.reload()
        wait_for_log(self.server, "SIGHUP: nothing was changed: acl_file")
        self.assertEqual(self.as_user("web", "open sesame").ask("PING"), "PONG")
        self.file.unlink()
        self.assertIn("cannot be read", root.ask("ACL", "LOAD"))
        self.assertEqual(root.ask("ACL", "USERS"), [b"root", b"web"])


class OpenDoor(WithUsers):

    def test_who_lets_everybody_in_does_not_start(self):
        for options in (["--bind", "0.0.0.0"], ["--bind", "127.0.0.1,::"], ["--bind", "*"]):
            status, error = run_to_its_end(*options)
            self.assertEqual(status, 1)
            self.assertIn("give --requirepass or --acl-file", error)
            self.assertIn("--allow-open-bind yes", error)
        self.write("user guest on nopass +ping")
        status, error = run_to_its_end("--bind", "0.0.0.0", "--acl-file", str(self.file))
        self.assertEqual(status, 1)
        self.assertIn("no password is needed", error)
        status, error = run_to_its_end("--bind", "0.0.0.0", "--check-config")
        self.assertEqual(status, 2)

    def test_with_a_password_or_by_will_it_does(self):
        for options in (["--requirepass", "x"], ["--acl-file", str(self.file)],
                        ["--allow-open-bind", "yes"]):
            with Server("--bind", "::", *options) as server:
                with server.connect() as client:
                    answer = client.ask("PING")
                    self.assertEqual(answer == "PONG", options[0] == "--allow-open-bind")

    def test_the_last_password_stays(self):
        with Server("--bind", "::", "--requirepass", "x") as server:
            with server.connect() as client:
                client.ask("AUTH", "x")
                answer = client.ask("CONFIG", "SET", "requirepass", "")
                self.assertIn("no password is needed", answer)
                self.assertEqual(client.ask("CONFIG", "GET", "requirepass"), [b"requirepass", b"x"])
            with server.connect() as client:
                self.assertEqual(client.ask("PING"), "NOAUTH Authentication required.")

    def test_a_wrong_file_is_named(self):
        self.write("", "users web on")
        for options in ([], ["--check-config"]):
            status, error = run_to_its_end("--acl-file", str(self.file), *options)
            self.assertEqual(status, 2 if options else 1)
            self.assertIn("users.acl line 2: a line must be `user NAME RULE...`", error)
        status, error = run_to_its_end("--acl-file", str(self.folder / "nosuch"))
        self.assertEqual(status, 1)
        self.assertIn("No such file", error)

    def test_the_example_is_right(self):
        example = pathlib.Path(__file__).parents[2] / "conf" / "users.acl"
        status, error = run_to_its_end("--acl-file", str(example), "--check-config")
        self.assertEqual((status, error), (0, ""))

    def test_http_goes_on_by_its_token(self):
        server = self.enterContext(HttpServer("--acl-file", str(self.file)))
        with server.connect() as client:
            client.ask("AUTH", "root", "root")
            client.ask("LOCK", "k", "me")
            client.ask("AUTH", "root", "wrong")
            client.ask("AUTH", "web", "open sesame")
            client.ask("GET", "k")
        metrics = server.ask("GET", "/metrics")[2].decode()
        self.assertIn("fairlock_failed_log_ins_total 1\n", metrics)
        self.assertIn("fairlock_denied_requests_total 1\n", metrics)
        self.assertEqual(server.get("/api/v1/locks/0/k")[0], 401)
        self.assertEqual(server.get("/api/v1/locks/0/k", token=TOKEN)[0], 200)


class Example(WithUsers):
    """conf/users.acl with each user's name as the password."""

    def setUp(self):
        super().setUp()
        example = pathlib.Path(__file__).parents[2] / "conf" / "users.acl"
        self.file.write_text(re.sub(r"(?m)^user (\S+) off", r"user \1 on >\1", example.read_text()))
        self.start()

    def test_legacy_locks_as_redis_py_does(self):
        client = self.redis_py(username="legacy", password="legacy")
        lock = client.lock("legacy:1", timeout=30)
        self.assertTrue(lock.acquire(blocking=False))
        self.assertFalse(client.lock("legacy:1", timeout=30).acquire(blocking=False))
        self.assertTrue(lock.owned())
        self.assertTrue(lock.extend(10))
        self.assertTrue(lock.reacquire())
        lock.release()
        self.assertFalse(lock.locked())
        for words in (("SET", "legacy:1", "me"), ("SET", "other", "me", "NX"), ("FLUSHALL",)):
            with self.subTest(words), self.assertRaises(redis.exceptions.NoPermissionError):
                client.execute_command(*words)

    def test_legacy_with_set_locks_as_redlock_does(self):
        """A legacy script that supports several resources, called with only one."""
        take = ("if redis.call('exists', KEYS[1]) == 1 then return 0 end "
                "redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1")
        legacy = self.as_user("legacy", "legacy")
        self.assertIn("'set' command", legacy.ask("EVAL", take, 1, "legacy:1", "me", 9000))
        self.file.write_text(self.file.read_text().replace("+set|nx", "+set|nx +set"))
        self.assertEqual(self.as_user("admin", "admin").ask("ACL", "LOAD"), "OK")
        self.assertEqual(legacy.ask("EVAL", take, 1, "legacy:1", "me", 9000), 1)

    def test_only_the_operator_ends_sessions(self):
        waiter = self.as_user("admin", "admin")
        number = waiter.ask("CLIENT", "ID")
        admin = self.as_user("admin", "admin")
        admin.ask("LOCK", "order:1", "admin-1")
        waiter.send(request("LOCK", "order:1", "admin-2", "WAIT", "60s"))
        for user in ("web", "legacy", "viewer", "probe"):
            client = self.as_user(user, user)
            for words in (("KILL", "ID", number), ("KILL", "TYPE", "normal"), ("UNBLOCK", number)):
                with self.subTest(user=user, words=words):
                    self.assertRegex(client.ask("CLIENT", *words), "^NOPERM ")
        self.assertEqual(admin.ask("CLIENT", "UNBLOCK", number), 1)
        self.assertIsNone(waiter.reply())


class HashPassword(unittest.TestCase):

    def test_each_hash_has_its_own_salt(self):
        self.assertNotEqual(hash_of("x"), hash_of("x"))
        self.assertTrue(hash_of("x").startswith("$y$"))

    def test_no_password_has_no_hash(self):
        for words in ("", "\n", "x" * 600 + "\n"):
            ended = subprocess.run([PROGRAM, "--hash-password"], input=words, text=True,
                                   capture_output=True, timeout=20, check=False)
            self.assertEqual((ended.returncode, ended.stdout), (1, ""))
            self.assertIn("must be a line with a password", ended.stderr)


if __name__ == "__main__":
    unittest.main()
