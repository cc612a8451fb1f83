"""No acknowledged lock is missing after the next start, even if the data folder disappeared, or its
file system filled up, became read-only or lost power."""

import shutil
import threading
import time
import unittest

from crash_cycles import Cycles
from file_systems import Ext4, Tmpfs, run
from kept_server import KeptServer
from resp import Ended, request

# The server checks once a second; the rest allows for a machine that is busy with other tests.
NOTICED_SECONDS_MAX = 8


def remove_all(server):
    shutil.rmtree(server.data)


def remove_what_is_in_it(server):
    for path in server.data.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def rename(server):
    server.data.rename(server.directory / "elsewhere")


def put_another_folder_in_its_place(server):
    other = server.directory / "other"
    shutil.copytree(server.data, other)
    rename(server)
    other.rename(server.data)


def let_the_link_lead_elsewhere(server):
    target = server.directory / "other"
    target.mkdir()
    link = server.directory / "link"
    link.symlink_to(target)
    link.replace(server.data)


def replace_the_id(server):
    other = server.data / "id"
    shutil.copy(server.data / "fairlock.id", other)
    other.replace(server.data / "fairlock.id")


def remove_the_database(server):
    shutil.rmtree(server.data / "db")


def remove_the_logs(server):
    for log in (server.data / "db").glob("*.log"):
        log.unlink()


def remove_current(server):
    (server.data / "db" / "CURRENT").unlink()


def remove_the_lock(server):
    (server.data / "fairlock.lock").unlink()


# The kinds of harm, and what the log says about each.
HARMS = {
    # The server may look while files are gone, but not yet the folder.
    remove_all: " was removed or renamed while the server was running",
    remove_what_is_in_it: "{data}/fairlock.id was removed or renamed while the server was running",
    rename: "{data} was removed or renamed while the server was running",
    put_another_folder_in_its_place: "{data} is not the one that the server opened",
    let_the_link_lead_elsewhere: "{data} is not the one that the server opened",
    replace_the_id: "{data}/fairlock.id is not the one that the server opened",
    remove_the_database: "{data}/db was removed or renamed while the server was running",
    remove_the_logs: ".log was removed while the server was running",
    remove_current: "/db/CURRENT was removed while the server was running",
    remove_the_lock: "{data}/fairlock.lock was removed or renamed while the server was running",
}

# What a sync reports on an ext4 that was aborted depends on how far the kernel has come.
READ_ONLY = "(Read-only file system|Input/output error)"


class Filler(threading.Thread):
    """Takes locks with long METAs, one pipeline at a time, until the server ends or refuses one."""

    META = "m" * 4096
    PIPELINE = 16

    def __init__(self, server):
        super().__init__()
        self.client = server.connect()
        self.held = {}
        self.start()

    def run(self):
        with self.client:
            try:
                for first in range(0, 100_000, self.PIPELINE):
                    keys = [f"filling {first + i}" for i in range(self.PIPELINE)]
                    self.client.send(b"".join(
                        request("LOCK", key, "o", "EX", 36_000, "META", self.META) for key in keys))
                    for key in keys:
                        token = self.client.reply()
                        if not isinstance(token, int):
                            return
                        self.held[key] = token
            except (OSError, Ended):
                pass


class Asker(threading.Thread):
    """Takes locks until the server ends."""

    def __init__(self, server):
        super().__init__()
        self.client = server.connect()
        self.answered_at = 0
        self.start()

    def run(self):
        with self.client:
            try:
                for number in range(10_000_000):
                    if not isinstance(self.client.ask("LOCK", f"k{number}", "o"), int):
                        return
                    self.answered_at = time.monotonic()
                    time.sleep(0.01)
            except (OSError, Ended):
                pass


class LostFolder(unittest.TestCase):

    def start(self, durability, harm):
        server = KeptServer("--durability", durability)
        if harm is let_the_link_lead_elsewhere:
            (server.directory / "real").mkdir()
            server.data.symlink_to(server.directory / "real")
        return self.enterContext(server)

    def check_end(self, server, reason):
        self.assertEqual(server.end_code(NOTICED_SECONDS_MAX), 3, server.output())
        self.assertIn("error storage has failed: ", server.output())
        self.assertRegex(server.output().splitlines()[-1], "error ended: .*/")
        self.assertIn(reason.format(data=server.data), server.output())

    def check(self, durability):
        servers = {harm: self.start(durability, harm) for harm in HARMS}
        askers = {harm: Asker(server) for harm, server in servers.items()}
        began = {}
        for harm, server in servers.items():
            began[harm] = time.monotonic()
            harm(server)
        for harm, reason in HARMS.items():
            with self.subTest(harm.__name__):
                self.check_end(servers[harm], reason)
                askers[harm].join()
                self.assertLess(askers[harm].answered_at - began[harm], NOTICED_SECONDS_MAX)

    def test_in_mode_async_the_server_ends_and_says_why(self):
        self.check("async")

    def test_in_mode_sync_the_server_ends_and_says_why(self):
        self.check("sync")

    def test_a_server_that_nobody_asks_notices_it_too(self):
        server = self.start("sync", remove_all)
        remove_all(server)
        self.check_end(server, HARMS[remove_all])

    def test_a_stop_notices_it_and_says_why(self):
        for durability in ("async", "sync"):
            with self.subTest(durability):
                server = self.start(durability, remove_all)
                with server.connect() as client:
                    self.assertIsInstance(client.ask("LOCK", "k", "o"), int)
                remove_all(server)
                self.assertEqual(server.stop(), 3, server.output())
                self.assertRegex(server.output().splitlines()[-1], "error ended: .* was removed")

    def test_another_file_system_over_it_is_noticed(self):
        server = self.start("async", remove_all)
        Tmpfs(self, server.data, "1m")
        self.check_end(server, "{data} is not the one that the server opened")

    def test_a_backup_is_no_harm_also_if_its_disk_is_full(self):
        for durability in ("async", "sync"):
            with self.subTest(durability):
                server = self.start(durability, remove_all)
                full = Tmpfs(self, server.directory / "full", "8m")
                full.fill_but(100_000)
                with server.connect() as client:
                    for number in range(500):
                        client.ask("LOCK", f"long {number}", "o", "META", Filler.META)
                    self.assertEqual(client.ask("BACKUP", str(server.directory / "copy")), "OK")
                    self.assertIn("No space left", client.ask("BACKUP", f"{full.folder}/copy"))
                    # Gives the server time to check its folder.
                    time.sleep(1.5)
                    self.assertIsInstance(client.ask("LOCK", "k", "o"), int, server.output())
                self.assertEqual(server.stop(), 0, server.output())

    def test_what_a_server_does_itself_is_no_harm(self):
        server = self.start("async", remove_all)
        with server.connect() as client:
            # Meanwhile, RocksDB switches its logs.
            for number in range(6_000):
                client.send(request("LOCK", number, "o", "META", Filler.META))
            for number in range(6_000):
                self.assertIsInstance(client.reply(), int)
            time.sleep(2.2)
            self.assertEqual(client.ask("PING"), "PONG")
        self.assertEqual(server.stop(), 0, server.output())


class BrokenFileSystem(unittest.TestCase):
    """Clients work while the disk breaks. The server ends as documented, and nothing that the
    clients were told is missing at the next start."""

    def end_by(self, server, harm, reason):
        """Records what the clients were told, until the harm has made the server end."""
        self.enterContext(server)
        cycles = Cycles(server, seed=5)
        timer = threading.Timer(0.3, harm)
        timer.start()
        cycles.load_to_the_end(60)
        timer.join()
        self.assertEqual(server.end_code(), 3, server.output())
        self.assertRegex(server.output(), f"error storage has failed: .*{reason}")
        self.assertRegex(server.output().splitlines()[-1], f"error ended: .*{reason}")
        return cycles

    def compare(self, server, cycles):
        began = time.monotonic()
        server.start_again()
        cycles.compare(began)

    def fill(self, durability):
        server = KeptServer("--durability", durability)
        tmpfs = Tmpfs(self, server.data, "64m")
        fillers = []

        def fill():
            tmpfs.fill_but(300_000)
            fillers.append(Filler(server))

        cycles = self.end_by(server, fill, "No space left on device")
        fillers[0].join()
        tmpfs.ballast.unlink()
        self.compare(server, cycles)
        with server.connect() as client:
            for key, token in fillers[0].held.items():
                self.assertEqual(client.ask("CHECK", key, token), 1, key)

    def test_a_full_tmpfs_in_mode_async(self):
        self.fill("async")

    def test_a_full_tmpfs_in_mode_sync(self):
        self.fill("sync")

    def test_an_ext4_that_becomes_read_only_in_mode_sync(self):
        server = KeptServer("--durability", "sync")
        ext4 = Ext4(self, server.data)
        cycles = self.end_by(server, ext4.become_read_only, READ_ONLY)
        ext4.mount_again()
        self.compare(server, cycles)

    def test_an_ext4_that_becomes_read_only_in_mode_async(self):
        server = KeptServer("--durability", "async")
        ext4 = Ext4(self, server.data)
        cycles = self.end_by(server, ext4.become_read_only, READ_ONLY)
        # Unsynced data is still in the system's cache, so the copy includes it.
        server.data = server.directory / "copy"
        shutil.copytree(ext4.folder, server.data, ignore=shutil.ignore_patterns("lost+found"))
        self.compare(server, cycles)

    def test_an_ext4_that_loses_its_power_in_mode_sync(self):
        server = KeptServer("--durability", "sync")
        ext4 = Ext4(self, server.data)
        cycles = self.end_by(server, ext4.lose_power, "Input/output error")
        ext4.mount_again()
        self.compare(server, cycles)

    def test_an_idle_server_on_a_read_only_disk_says_why_it_cannot_stop_cleanly(self):
        for durability in ("async", "sync"):
            with self.subTest(durability):
                server = KeptServer("--durability", durability)
                ext4 = Ext4(self, server.data)
                self.enterContext(server)
                with server.connect() as client:
                    self.assertIsInstance(client.ask("LOCK", "k", "o"), int)
                time.sleep(0.2)
                ext4.become_read_only()
                self.assertEqual(server.stop(), 3, server.output())
                self.assertRegex(server.output().splitlines()[-1],
                                 "error ended: .*Read-only file system")

    def test_a_tmpfs_in_use_cannot_be_made_read_only_and_a_read_only_one_is_not_started_on(self):
        server = KeptServer()
        tmpfs = Tmpfs(self, server.data, "64m")
        self.enterContext(server)
        # The system refuses to remount it read-only while a file is open for writing.
        self.assertFalse(run("mount", "-o", "remount,ro", tmpfs.folder))
        with server.connect() as client:
            self.assertIsInstance(client.ask("LOCK", "k", "o"), int)
        self.assertEqual(server.stop(), 0)
        self.assertTrue(run("mount", "-o", "remount,ro", tmpfs.folder))
        server.start_process()
        self.assertEqual(server.end_code(), 1)
        self.assertIn("Read-only file system", server.output().splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
