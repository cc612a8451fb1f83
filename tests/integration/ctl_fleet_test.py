"""fairlockctl with a list of servers: it finds the node that leads, and continues with the next."""

import pathlib
import socket
import subprocess
import threading
import time
import unittest

import own_server
import resp
from fairlockctl import DONE, LOST, UNREACHABLE, WRONG_USE, Fairlockctl
from own_fleet import Fleet
from own_server import Server

PATIENCE_SECONDS = 30


class OneOfSeveral(unittest.TestCase):
    """Several servers that do not form a fleet."""

    def setUp(self):
        self.server = self.enterContext(Server())
        self.dead = f"127.0.0.1:{own_server.free_port()}"
        self.alive = f"127.0.0.1:{self.server.port}"

    def ctl(self, hosts, **variables):
        return Fairlockctl(FAIRLOCK_HOST=hosts, **variables)

    def test_the_next_server_is_used_when_one_refuses(self):
        for hosts in (f"{self.dead},{self.alive}", f"{self.alive},{self.dead}",
                      f"no.such.name.invalid,{self.dead}, {self.alive}"):
            self.assertIn(self.alive, self.ctl(hosts).text("status"), hosts)

    def test_the_port_of_the_settings_is_that_of_a_server_without_one(self):
        ctl = self.ctl("127.0.0.2,127.0.0.1", FAIRLOCK_PORT=str(self.server.port))
        self.assertIn(self.alive, ctl.text("ping"))

    def test_the_settings_file_may_list_servers(self):
        path = pathlib.Path(self.server.directory) / "ctl.yaml"
        path.write_text(f"host: {self.dead},{self.alive}\n")
        self.assertIn(self.alive, Fairlockctl().text("--config", str(path), "ping"))

    def test_a_server_that_does_not_answer_is_left_within_its_share_of_the_timeout(self):
        silent = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        hosts = f"127.0.0.1:{silent.getsockname()[1]},{self.alive}"
        began = time.monotonic()
        text = self.ctl(hosts, FAIRLOCK_TIMEOUT="2s").text("ping")
        self.assertIn(self.alive, text)
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assertLess(time.monotonic() - began, PATIENCE_SECONDS)

    def test_without_a_server_all_are_named(self):
        done = self.ctl(f"{self.dead},127.0.0.1:1").run("status")
        self.assertEqual(done.returncode, UNREACHABLE)
        self.assertIn(f"{self.dead}: Connection refused; 127.0.0.1:1: Connection refused",
                      done.stderr)

    def test_a_wrong_list_is_refused(self):
        for hosts in ("a,,b", "a:port", "a:0", ",".join(["a"] * 33)):
            done = self.ctl(hosts).run("status")
            self.assertEqual(done.returncode, WRONG_USE, hosts)
            self.assertIn("FAIRLOCK_HOST must be a name or an address", done.stderr)

    def test_a_server_that_breaks_off_is_asked_again_only_if_that_changes_nothing(self):
        received = []
        listener = self.enterContext(socket.create_server(("127.0.0.1", 0)))

        def serve():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    answer_log_in(client)
                    received.append(client.recv(4096))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        hosts = f"127.0.0.1:{listener.getsockname()[1]},{self.alive}"
        # The same server is tried first in every round. UNLOCK is sent to it only once, because it
        # may have been executed; a request that only reads is sent again until the timeout.
        done = self.ctl(hosts, FAIRLOCK_TIMEOUT="1s").run("unlock", "k", "o")
        self.assertEqual(done.returncode, UNREACHABLE, done.stderr)
        self.assertEqual(len(received), 1)
        done = self.ctl(hosts, FAIRLOCK_TIMEOUT="1s").run("show", "k")
        self.assertEqual(done.returncode, UNREACHABLE, done.stderr)
        self.assertGreater(len(received), 2)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def answer_log_in(client):
    """Answers HELLO, and the request that only a server that serves locks executes."""
    request = b""
    while b"EXISTS" not in request:
        request += client.recv(4096)
    client.sendall(b"%1\r\n$5\r\nproto\r\n:3\r\n:0\r\n")


class OfAFleet(unittest.TestCase):

    def setUp(self):
        self.fleet = self.enterContext(Fleet())
        self.hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.fleet.nodes)
        self.ctl = Fairlockctl(FAIRLOCK_HOST=self.hosts, FAIRLOCK_TIMEOUT="10s")

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def start(self, *words):
        process = self.ctl.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def fail_over(self):
        leader = self.fleet.await_leader()
        leader.kill()
        leader.start()
        return self.fleet.await_leader()

    def ask(self, *words):
        with self.fleet.await_leader().connect() as client:
            return client.ask(*words)

    def await_lock(self, key, value):
        end = time.monotonic() + PATIENCE_SECONDS
        while self.ask("LOCKED", key) != value:
            self.assertLess(time.monotonic(), end, self.fleet.logs())
            time.sleep(0.05)

    def test_the_leader_is_found_wherever_it_is_in_the_list(self):
        leader = self.fleet.await_leader()
        for first in range(3):
            ports = [node.port for node in self.fleet.nodes[first:] + self.fleet.nodes[:first]]
            ctl = Fairlockctl(FAIRLOCK_HOST=",".join(f"127.0.0.1:{port}" for port in ports))
            self.assertIn(f"127.0.0.1:{leader.port}", ctl.text("status"))
        token = int(self.ctl.text("lock", "k", "o", "--ttl", "10m"))
        self.assertEqual(self.ctl.json("lock", "k", "o", "--ttl", "10m")["token"], token)
        self.ctl.text("unlock", "k", "o")

    def test_one_command_spans_a_fail_over(self):
        leader = self.fleet.await_leader()
        token = int(self.ctl.text("lock", "k", "o", "--ttl", "10m"))
        leader.kill()
        # Nobody leads yet.
        self.assertEqual(self.ctl.json("lock", "k", "o", "--ttl", "10m")["token"], token)
        self.assertIn("held by 1", self.ctl.text("show", "k"))

    def test_a_single_standby_says_how_to_find_the_leader(self):
        ctl = Fairlockctl(FAIRLOCK_PORT=str(self.fleet.standby().port))
        done = ctl.run("show", "k")
        self.assertEqual(done.returncode, UNREACHABLE)
        self.assertIn("CLUSTERDOWN", done.stderr)
        self.assertIn("--host a,b,c", done.stderr)

    def test_run_keeps_its_lock_through_fail_overs(self):
        path = pathlib.Path(self.fleet.directory) / "go"
        process = self.start("run", "job", "--ttl", "30s", "--", "sh", "-c",
                             f"echo $FAIRLOCK_TOKEN; while ! [ -e {path} ]; do sleep 0.1; done")
        token = int(process.stdout.readline())
        for _ in range(2):
            self.fail_over()
            self.assertEqual(self.ask("CHECK", "job", token), 1)
        time.sleep(1)
        path.touch()
        self.assertEqual(process.wait(PATIENCE_SECONDS), DONE, process.stderr.read())
        self.assertEqual(self.ask("LOCKED", "job"), 0)

    def test_run_ends_its_command_when_nobody_leads_until_the_lease_ends(self):
        process = self.start("run", "job", "--ttl", "3s", "--", "sleep", "60")
        self.await_lock("job", 1)
        for node in self.fleet.nodes:
            node.kill()
        self.assertEqual(process.wait(PATIENCE_SECONDS), LOST)
        self.assertIn("could not be reached, and the hold ends soon", process.stderr.read())

    def test_run_waits_through_a_fail_over_and_keeps_its_place(self):
        self.ask("LOCK", "job", "holder", "PX", 600_000)
        process = self.start("run", "job", "--wait", "60s", "--owner", "mine", "--", "echo", "ran")
        end = time.monotonic() + PATIENCE_SECONDS
        while self.ask("POSITION", "job", "mine") is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.fail_over()
        self.assertEqual(self.ask("UNLOCK", "job", "holder"), 1)
        self.assertEqual(process.wait(PATIENCE_SECONDS), DONE, process.stderr.read())
        self.assertEqual(process.stdout.read(), "ran\n")

    def test_watch_continues_at_the_next_leader(self):
        process = self.start("watch", "seen:*", "--count", "2")
        self.await_subscriber("seen:1")
        self.assertIn("seen:1", process.stdout.readline())
        self.fail_over()
        self.await_subscriber("seen:2")
        self.assertIn("seen:2", process.stdout.readline())
        self.assertEqual(process.wait(PATIENCE_SECONDS), DONE)
        self.assertIn("events may be missed", process.stderr.read())

    def await_subscriber(self, key):
        """Takes the lock as soon as a connection subscribes to its messages."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.assertLess(time.monotonic(), end, self.fleet.logs())
            try:
                with self.fleet.await_leader().connect() as client:
                    if client.ask("PUBSUB", "NUMPAT") == 1:
                        client.ask("LOCK", key, "o", "PX", 600_000)
                        return
            except (OSError, resp.Ended):
                pass
            time.sleep(0.05)

    def test_without_a_leader_the_search_ends_with_the_timeout(self):
        for member in self.fleet.members[:2]:
            member.pause()
        try:
            ctl = Fairlockctl(FAIRLOCK_HOST=self.hosts, FAIRLOCK_TIMEOUT="3s")
            end = time.monotonic() + PATIENCE_SECONDS
            while self.fleet.leader() is not None:
                self.assertLess(time.monotonic(), end)
            began = time.monotonic()
            done = ctl.run("show", "k")
            self.assertEqual(done.returncode, UNREACHABLE, done.stdout)
            self.assertIn("none of the servers in --host serves locks", done.stderr)
            self.assertLess(time.monotonic() - began, PATIENCE_SECONDS)
        finally:
            for member in self.fleet.members[:2]:
                member.go_on()


if __name__ == "__main__":
    unittest.main()
