"""Acknowledged locks outlive the process, and are restored unchanged."""

import json
import os
import shutil
import time
import unittest

from kept_server import KeptServer
from resp import request

STARTS_MAX = 10


class KeptLocks(unittest.TestCase):

    def start(self, *options):
        server = self.enterContext(KeptServer(*options))
        return server

    def client(self, server):
        return self.enterContext(server.connect())

    def holder(self, client, key):
        """Returns the only holder of the key, as a map."""
        holders = client.ask_map("LOCKINFO", key)[b"holders"]
        self.assertEqual(len(holders), 1, f"{key}: {holders}")
        return dict(zip(holders[0][::2], holders[0][1::2]))

    def test_a_killed_server_comes_back_with_all_that_was_acknowledged(self):
        for durability in ("async", "sync"):
            with self.subTest(durability=durability):
                server = self.start("--durability", durability)
                client = self.client(server)
                tokens = {
                    "plain": client.ask("LOCK", "plain", "a", "PX", 60_000),
                    "meta": client.ask("LOCK", "meta", "b", "EX", 100, "META", "{}", "LABEL", "x"),
                    "gone": client.ask("LOCK", "gone", "c"),
                }
                shared = [client.ask("LOCK", "shared", owner, "SHARED") for owner in "de"]
                client.ask("UNLOCK", "gone", "c")
                client.ask("RENEW", "plain", "a", "PX", 500_000)
                server.kill_and_start_again()
                client = self.client(server)
                plain = self.holder(client, "plain")
                self.assertEqual((plain[b"owner"], plain[b"token"]), (b"a", tokens["plain"]))
                self.assertGreater(plain[b"ttl_ms"], 490_000)
                meta = self.holder(client, "meta")
                self.assertEqual((meta[b"meta"], meta[b"label"]), (b"{}", b"x"))
                self.assertEqual(client.ask("LOCKED", "gone"), 0)
                self.assertEqual(client.ask("LOCKED", "shared"), 2)
                self.assertEqual(client.ask("LOCK", "plain", "a", "PX", 1), tokens["plain"])
                newest = client.ask("LOCK", "new", "f")
                self.assertGreater(newest, max(*tokens.values(), *shared))

    def test_what_was_taken_the_redis_way_comes_back_as_such(self):
        server = self.start("--durability", "async")
        client = self.client(server)
        client.ask("SET", "endless", "a")
        client.ask("SET", "leased", "b", "NX", "PX", 60_000)
        client.ask("SET", "taken over", "c")
        client.ask("SET", "taken over", "d", "EX", 100)
        client.ask("SET", "repeated", "e")
        client.ask("LOCK", "repeated", "e")
        client.ask("LOCK", "native", "f", "PX", 60_000)
        client.ask("INCR", "counter")
        client.ask("INCR", "counter")
        server.kill_and_start_again()
        client = self.client(server)
        self.assertEqual(client.ask("MGET", "endless", "leased", "taken over", "counter"),
                         [b"a", b"b", b"d", b"2"])
        self.assertEqual(client.ask("MGET", "repeated", "native"), [b"", b""])
        self.assertEqual(client.ask("TTL", "endless"), -1)
        self.assertGreater(client.ask("PTTL", "leased"), 50_000)
        self.assertEqual(client.ask("DEL", "endless", "leased", "repeated", "native"), 2)

    def test_a_notice_to_leave_comes_back(self):
        for is_clean in (False, True):
            with self.subTest(is_clean=is_clean):
                server = self.start("--durability", "sync")
                client = self.client(server)
                client.ask("LOCK", "plain", "a", "PX", 600_000)
                client.ask("LOCK", "shared", "a", "PX", 600_000, "SHARED")
                client.ask("SET", "value", "a")
                for key in ("plain", "shared", "value"):
                    self.assertEqual(client.ask("BREAK", key, "GRACE", "60s"), 1)
                if is_clean:
                    server.stop_and_start_again()
                else:
                    server.kill_and_start_again()
                client = self.client(server)
                for key in ("plain", "shared", "value"):
                    holder = self.holder(client, key)
                    self.assertEqual(holder[b"leaving"], 1, key)
                    self.assertLessEqual(holder[b"ttl_ms"], 60_000)
                    self.assertEqual(client.ask("RENEW", key, "a", "PX", 600_000), 0)

    def test_without_durability_only_tokens_are_kept(self):
        server = self.start("--durability", "async")
        token = self.client(server).ask("LOCK", "key", "owner")
        server.stop()
        server.start_again("--durability", "none")
        client = self.client(server)
        self.assertEqual(client.ask("LOCKED", "key"), 0)
        second = client.ask("LOCK", "other", "owner")
        self.assertGreater(second, token)
        server.stop()
        # Locks of the run without durability are lost; older ones must not come back either.
        server.start_again("--durability", "async")
        client = self.client(server)
        self.assertEqual(client.ask("LOCKED", "key"), 0)
        self.assertGreater(client.ask("LOCK", "other", "owner"), second)

    def test_places_with_notify_come_back_absent_and_go_on_with_a_subscriber(self):
        for is_clean in (False, True):
            with self.subTest(is_clean=is_clean):
                server = self.start("--durability", "sync")
                client, ear = self.client(server), self.client(server)
                ear.ask("SUBSCRIBE", "news")
                client.ask("LOCK", "key", "holder", "EX", 100)
                client.ask("LOCK", "held", "hopeful", "EX", 100, "NOTIFY", "news")
                client.ask("LOCK", "key", "hopeful", "KEEP", "50s", "NOTIFY", "news")
                if is_clean:
                    server.stop_and_start_again()
                else:
                    server.kill_and_start_again()
                client, ear = self.client(server), self.client(server)
                self.assertEqual(client.ask("POSITION", "key", "hopeful"), 1)
                self.assertEqual(client.ask("UNLOCK", "key", "holder"), 1)
                self.assertEqual(client.ask("LOCKED", "key"), 0)
                self.assertEqual(client.ask("LOCK", "key", "other"), None)
                ear.ask("SUBSCRIBE", "news")
                granted = json.loads(ear.reply()[2])
                self.assertEqual((granted["event"], granted["owner"]), ("granted", "hopeful"))
                self.assertEqual(client.ask("CHECK", "key", granted["token"]), 1)
                self.assertEqual(client.ask("BREAK", "held"), 1)
                lost = json.loads(ear.reply()[2])
                self.assertEqual((lost["event"], lost["key"]), ("lost", "held"))

    def test_a_client_may_subscribe_before_the_places_are_restored(self):
        server = self.start("--durability", "sync")
        client, ear = self.client(server), self.client(server)
        ear.ask("SUBSCRIBE", "news")
        client.ask("LOCK", "key", "holder", "EX", 100, "NOTIFY", "news")
        client.ask("LOCK", "key", "hopeful", "KEEP", "50s", "NOTIFY", "news")
        is_loading = False
        for _ in range(STARTS_MAX):
            server.kill()
            server.start_process()
            ear = self.connect_early(server)
            ear.ask("SUBSCRIBE", "news")
            with server.connect_unix() as other:
                is_loading = other.ask("PING") != "PONG"
            server.await_ready()
            if is_loading:
                break
        self.assertTrue(is_loading, f"the server loaded too quickly, {STARTS_MAX} times")
        client = self.client(server)
        client.ask("LOCK", "key", "hopeful", "WAIT", "50s", "KEEP", "50s", "NOTIFY", "news")
        self.assertEqual(client.ask("POSITION", "key", "hopeful"), 1)
        self.assertEqual(client.ask("UNLOCK", "key", "holder"), 1)
        granted = json.loads(ear.reply()[2])
        self.assertEqual((granted["event"], granted["owner"]), ("granted", "hopeful"))

    def connect_early(self, server):
        """Connects as soon as the server listens."""
        give_up = time.monotonic() + 20
        while True:
            try:
                return self.enterContext(server.connect_unix())
            except OSError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.001)

    def test_kept_places_come_back_in_order_and_others_do_not(self):
        server = self.start()
        client = self.client(server)
        client.ask("LOCK", "key", "holder", "EX", 100)
        for owner in ("first", "second", "third"):
            client.ask("LOCK", "key", owner, "KEEP", "50s")
        waiter = self.client(server)
        waiter.send(request("LOCK", "key", "without keep", "WAIT", "FOREVER"))
        client.settle()
        client.ask("LOCK", "key", "fourth", "KEEP", "50s")
        client.ask("CANCEL", "key", "second")
        server.kill_and_start_again()
        client = self.client(server)
        places = [dict(zip(place[::2], place[1::2])) for place in client.ask("QUEUE", "key")]
        self.assertEqual([place[b"owner"] for place in places], [b"first", b"third", b"fourth"])
        client.ask("UNLOCK", "key", "holder")
        self.assertIsNone(client.ask("LOCK", "key", "third"))
        self.assertIsNotNone(client.ask("LOCK", "key", "first"))
        # A place that has become a hold must not come back as a place.
        server.kill_and_start_again()
        client = self.client(server)
        self.assertEqual(client.ask("POSITION", "key", "first"), 0)
        self.assertEqual(client.ask("POSITION", "key", "third"), 1)

    def test_a_clean_stop_keeps_the_time_that_is_left_and_those_who_wait(self):
        server = self.start()
        client = self.client(server)
        client.ask("LOCK", "key", "holder", "EX", 100)
        waiter = self.client(server)
        waiter.send(request("LOCK", "key", "waiter", "WAIT", "FOREVER"))
        client.settle()
        client.ask("LOCK", "key", "kept", "KEEP", "50s")
        time.sleep(1.2)
        server.stop_and_start_again()
        client = self.client(server)
        self.assertLess(self.holder(client, "key")[b"ttl_ms"], 99_000)
        again = self.client(server)
        again.send(request("LOCK", "key", "waiter", "WAIT", "FOREVER"))
        second = self.client(server)
        second.send(request("LOCK", "key", "kept", "WAIT", "FOREVER"))
        client.settle()
        self.assertEqual(client.ask("POSITION", "key", "waiter"), 1)
        self.assertEqual(client.ask("POSITION", "key", "kept"), 2)
        client.ask("UNLOCK", "key", "holder")
        self.assertGreater(again.reply(), 0)
        # A lease that has been renewed since then starts again in full after a crash, although its
        # remaining time had been written.
        client.ask("LOCK", "long", "a", "EX", 50)
        time.sleep(1.2)
        server.stop_and_start_again()
        self.client(server).ask("RENEW", "long", "a")
        server.kill_and_start_again()
        self.assertGreater(self.holder(self.client(server), "long")[b"ttl_ms"], 49_000)

    def test_cooling_rooms_sessions_limits_and_several_keys_come_back(self):
        server = self.start("--restart-grace", "1s")
        client = self.client(server)
        client.ask("LOCK", "cool", "a", "MINHOLD", "60s")
        client.ask("UNLOCK", "cool", "a")
        session = self.client(server)
        token = session.ask("LOCK", "session", "b", "SESSION")
        session.ask("LOCK", "left", "b", "SESSION")
        client.ask("LIMIT", "SET", "drained*", 0, "REASON", "moving")
        client.ask("LIMIT", "SET", "gone*", 3)
        client.ask("LIMIT", "DEL", "gone*")
        both = client.ask("MLOCK", 2, "m1", "m2", "c", "EX", 100)
        client.ask("MLOCK", 2, "m1", "m3", "d", "KEEP", "50s")
        server.kill_and_start_again()
        client = self.client(server)
        self.assertIsNone(client.ask("LOCK", "cool", "b"))
        self.assertGreater(client.ask_map("LOCKINFO", "cool")[b"cooling_ms"], 50_000)
        self.assertEqual(client.ask("LOCK", "session", "b", "SESSION"), token)
        self.assertEqual(client.ask("LOCKED", "left", "b"), 1)
        self.assertIsNone(client.ask("LOCK", "drained:1", "x"))
        self.assertEqual(len(client.ask("LIMIT", "LIST")), 1)
        self.assertEqual(client.ask("MLOCK", 2, "m2", "m1", "c"), both)
        self.assertEqual(client.ask("MUNLOCK", 2, "m1", "m2", "c"), 2)
        self.assertIsNone(client.ask("LOCK", "m3", "somebody else"))
        self.assertGreater(client.ask("MLOCK", 2, "m1", "m3", "d"), both)
        time.sleep(1.3)
        self.assertEqual(client.ask("LOCKED", "left", "b"), 0)
        self.assertEqual(client.ask("LOCKED", "session", "b"), 1)

    def test_what_is_pipelined_with_a_change_stays_in_order(self):
        server = self.start("--durability", "sync")
        client = self.client(server)
        for _ in range(20):
            client.send(b"PING\r\nLOCK k o\r\nPING\r\nUNLOCK k o\r\nLOCKED k\r\n")
            answers = [client.reply() for _ in range(5)]
            self.assertEqual((answers[0], answers[2], answers[3], answers[4]),
                             ("PONG", "PONG", 1, 0))

    def test_a_folder_serves_one_process(self):
        server = self.start()
        ended = server.run("--port", "0", "--unix-socket", str(server.directory / "other"))
        self.assertEqual(ended.returncode, 1)
        # Lines of the log come before the error, not within it.
        self.assertRegex(ended.stderr, r"(?m)^fairlockd: .* is in use by another process, "
                                       f"{server.process.pid}\\n\\Z")

    def test_a_folder_that_was_emptied_is_refused_unless_it_is_meant(self):
        server = self.start()
        server.stop()
        shutil.rmtree(server.data)
        server.data.mkdir()
        ended = server.run("--port", "0", "--unix-socket", str(server.directory / "other"))
        self.assertEqual(ended.returncode, 1)
        self.assertIn("is its file system mounted?", ended.stderr)
        server.start_again("--init")

    def test_a_backup_is_restored_with_higher_tokens(self):
        server = self.start()
        client = self.client(server)
        token = client.ask("LOCK", "key", "owner", "EX", 100)
        backup = server.directory / "backup"
        self.assertIn("absolute path", client.ask("BACKUP", "relative"))
        self.assertEqual(client.ask("BACKUP", str(backup)), "OK")
        self.assertIn("already exists", client.ask("BACKUP", str(backup)))
        self.assertIn("inside the data folder", client.ask("BACKUP", str(server.data / "backup")))
        later = client.ask("LOCK", "later", "owner", "EX", 100)
        in_use = server.run("--data-dir", str(server.directory / "new"), "--restore",
                            str(server.data))
        self.assertEqual(in_use.returncode, 1, in_use.stdout)
        server.kill()
        shutil.rmtree(server.data)
        log = max(backup.rglob("*.log"), key=lambda path: path.stat().st_size)
        whole = log.read_bytes()
        log.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
        damaged = server.run("--restore", str(backup))
        self.assertEqual(damaged.returncode, 1, damaged.stdout)
        self.assertIn("is damaged", damaged.stderr)
        log.write_bytes(whole)
        deep = server.directory / "new" / "deep"
        elsewhere = server.run("--data-dir", f"{deep}/data/", "--restore", str(backup))
        self.assertEqual(elsewhere.returncode, 0, elsewhere.stderr)
        self.assertTrue((deep / "data" / "fairlock.id").exists())
        self.assertEqual([path.name for path in deep.iterdir()], ["data"])
        restored = server.run("--restore", str(backup))
        self.assertEqual(restored.returncode, 0, restored.stderr)
        server.start_again()
        client = self.client(server)
        self.assertEqual(self.holder(client, "key")[b"token"], token)
        self.assertEqual(client.ask("LOCKED", "later"), 0)
        self.assertGreater(client.ask("LOCK", "new", "owner"), later + 2**20)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_what_root_restores_belongs_to_the_owner_of_the_folder_around_it(self):
        server = self.start()
        backup = server.directory / "backup"
        with server.connect() as client:
            self.assertEqual(client.ask("BACKUP", str(backup)), "OK")
        home = server.directory / "home"
        home.mkdir()
        os.chown(home, 12_345, 23_456)
        restored = server.run("--data-dir", str(home / "data"), "--restore", str(backup))
        self.assertEqual(restored.returncode, 0, restored.stderr)
        files = [home / "data", *(home / "data").rglob("*")]
        self.assertEqual({(path.stat().st_uid, path.stat().st_gid) for path in files},
                         {(12_345, 23_456)})

    def test_a_socket_and_a_log_may_be_in_a_new_data_folder(self):
        for exists in (False, True):
            with self.subTest(exists=exists):
                server = KeptServer()
                server.unix_socket = server.data / "socket"
                if exists:
                    server.data.mkdir()
                    server.options += ("--log-file", str(server.data / "log"))
                self.enterContext(server)
                with server.connect_unix() as client:
                    token = client.ask("LOCK", "k", "o")
                server.stop_and_start_again()
                with server.connect_unix() as client:
                    self.assertEqual(client.ask("CHECK", "k", token), 1)

    def test_after_a_start_that_may_have_lost_leases_grants_can_be_delayed(self):
        server = self.start("--durability", "none", "--start-delay", "1500ms")
        client = self.client(server)
        denied = client.ask_map("LOCK", "key", "owner", "EXPLAIN")
        self.assertEqual((denied[b"status"], denied[b"reason"]), (b"denied", b"starting"))
        self.assertGreater(client.ask("LOCK", "key", "owner", "WAIT", "20s"), 0)
        server.stop()
        # Another start within the delay does not end the delay.
        for end in (server.kill, server.stop, server.kill):
            server.start_again("--durability", "sync", "--start-delay", "60s")
            denied = self.client(server).ask_map("LOCK", "key", "owner", "EXPLAIN")
            self.assertEqual((denied[b"status"], denied[b"reason"]), (b"denied", b"starting"))
            end()
        # Killing the process loses nothing in this mode, so there is no delay.
        server.start_again("--durability", "sync")
        self.client(server).ask("LOCK", "key", "owner", "WAIT", "20s")
        server.kill()
        server.start_again("--durability", "sync")
        self.assertGreater(self.client(server).ask("LOCK", "other", "owner"), 0)

    def test_the_folder_can_be_examined_and_info_tells_how_it_goes(self):
        server = self.start("--durability", "sync")
        client = self.client(server)
        client.ask("LOCK", "key", "owner", "EX", 100)
        lines = client.ask("INFO", "persistence").decode().splitlines()
        self.assertIn("durability:sync", lines)
        self.assertIn("storage_failed:0", lines)
        self.assertEqual(client.ask("WAITAOF", 1, 0, 0), [0, 0])
        self.assertEqual(server.run("--check-data").returncode, 1)
        server.kill()
        report = server.run("--check-data")
        self.assertEqual(report.returncode, 0, report.stdout + report.stderr)
        self.assertIn("holds 1,", report.stdout)


if __name__ == "__main__":
    unittest.main()
