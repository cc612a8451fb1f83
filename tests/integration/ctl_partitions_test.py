"""fairlockctl with a fleet of several partitions: redirects, and requests to all leaders."""

import concurrent.futures
import json
import socket
import subprocess
import threading
import time
import unittest

import own_server
import resp
from certificates import Certificates
from fairlockctl import (DONE, NO, NOT_ALLOWED, NOT_OBTAINED, REFUSED, UNREACHABLE, WRONG_USE,
                         Fairlockctl)
from own_fleet import Fleet

PARTITIONS = 3
START_SECONDS_MAX = 60
PATIENCE_SECONDS = 60
PASSWORD = "top-secret"
KEYS = [f"key{i}" for i in range(12)]
TAGGED = ["{t}a", "{t}b"]


def setUpModule():
    PartitionedFleet.start(
        unittest.enterModuleContext(Certificates()),
        unittest.enterModuleContext(Fleet(nodes=PARTITIONS + 1, members=1, starts_nodes=False,
                                          options=("--requirepass", PASSWORD,
                                                   "--cluster-balance", "0"))))


class PartitionedFleet(unittest.TestCase):
    """Three partitions, and one more node than that: it is the only standby. Leaders change only
    when a test wants that. All tests share the fleet, because it takes seconds to start."""

    @classmethod
    def start(cls, certificates, fleet):
        cls.certificates = certificates
        cls.fleet = fleet
        cls.tls_ports = {}
        subprocess.run([own_server.PROGRAM, "--cluster-etcd", fleet.endpoints, "--create-fleet",
                        str(PARTITIONS)], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
        for node in cls.fleet.nodes:
            cls.tls_ports[node.name] = own_server.free_port()
            node.words += cls.certificates.options(cls.tls_ports[node.name])
            node.start()
        cls.password_file = cls.fleet.directory / "password"
        cls.password_file.write_text(PASSWORD + "\n")
        cls.ctl = cls.tool(cls.fleet.nodes[0])
        cls.await_fleet()

    @classmethod
    def tool(cls, *nodes, **variables):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        return Fairlockctl(**{"FAIRLOCK_HOST": hosts, "HOME": str(cls.fleet.directory),
                              "FAIRLOCK_TIMEOUT": "20s",
                              "FAIRLOCK_PASSWORD_FILE": str(cls.password_file), **variables})

    @classmethod
    def status(cls):
        done = cls.ctl.run("cluster", "status", "--json")
        return json.loads(done.stdout) if done.stdout else None

    @classmethod
    def await_fleet(cls):
        """Waits until every partition is led, and every node knows and is known."""
        end = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < end:
            if all(cls.is_complete(node) for node in cls.fleet.nodes):
                return
            time.sleep(0.1)
        raise AssertionError(f"the fleet did not start: {cls.fleet.logs()}")

    @classmethod
    def is_complete(cls, node):
        done = cls.tool(node).run("cluster", "status", "--json")
        if done.returncode != DONE:
            return False
        report = json.loads(done.stdout)
        return len(report["nodes"]) == PARTITIONS + 1 and not report["failed"]

    @classmethod
    def leaders(cls):
        """Returns the names of the leaders, by partition."""
        return [row["leader"] for row in cls.status()["leaders"]]

    @classmethod
    def node(cls, name):
        return next(node for node in cls.fleet.nodes if node.name == name)

    def tearDown(self):
        self.ask_all(("LIMIT", "DEL", "*"), *(("BREAK", key) for key in KEYS + TAGGED))

    def ask_all(self, *requests):
        """Sends the requests to every node; returns how many were not refused."""
        accepted = 0
        for request in requests:
            for node in self.fleet.nodes:
                reply = self.connections[node.name].ask(*request)
                accepted += not isinstance(reply, resp.ErrorReply)
        return accepted

    def setUp(self):
        # A node that has handed over starts again as a standby.
        self.fleet.await_nodes(START_SECONDS_MAX)
        self.connections = {}
        for node in self.fleet.nodes:
            self.connections[node.name] = self.enterContext(
                node.connect(seconds=PATIENCE_SECONDS))
        self.assertEqual(self.ask_all(("AUTH", PASSWORD)), len(self.fleet.nodes))

    def lock_all(self):
        """Locks all keys, in their order; each at the only node that does not redirect."""
        for i, key in enumerate(KEYS):
            self.assertEqual(1, self.ask_all(
                ("LOCK", key, f"owner{i % 2}", "PX", "600000", "LABEL", f"label{i % 2}")))
            time.sleep(0.01)  # so that their events have different times

    def start_watch(self, *words):
        watch = self.ctl.start("watch", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, watch)
        self.await_subscriptions()
        return watch

    def await_subscriptions(self):
        end = time.monotonic() + START_SECONDS_MAX
        while sum(row["psub"] == "1" for row in self.clients()) < PARTITIONS:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def clients(self):
        done = self.ctl.run("clients", "--json")
        return json.loads(done.stdout)["clients"] if done.stdout else []

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            stream.close()

    def assertSays(self, done, exit_code, pattern):
        self.assertEqual(done.returncode, exit_code, done.stderr)
        self.assertRegex(done.stderr, pattern)


class OneKey(PartitionedFleet):

    def test_every_node_redirects_to_the_leader(self):
        for i, node in enumerate(self.fleet.nodes):
            ctl = self.tool(node)
            for key in KEYS[:4]:
                token = int(ctl.text("lock", key, f"owner{i}", "--ttl", "1m"))
                self.assertEqual(ctl.json("show", key)["holders"][0]["token"], token)
                self.assertEqual(ctl.run("unlock", key, f"owner{i}").returncode, DONE)

    def test_every_command_with_a_key_follows(self):
        for key in KEYS[:4]:
            token = int(self.ctl.text("lock", key, "me", "--ttl", "1m"))
            self.assertIn("held by me", self.ctl.text("why", key))
            self.assertEqual(self.ctl.json("history", key)["events"][0]["token"], token)
            self.assertEqual(self.ctl.json("queue", key)["queue"], [])
            for words in (("renew", key, "me"), ("unlock", key, "me"), ("wait", key)):
                self.assertEqual(self.ctl.run(*words).returncode, DONE, words)
            self.assertEqual(self.ctl.run("cancel", key, "me").returncode, NO)

    def test_a_list_of_hosts_may_begin_with_a_dead_one(self):
        ctl = self.tool(*self.fleet.nodes)
        ctl.environment["FAIRLOCK_HOST"] = (f"127.0.0.1:{own_server.free_port()}," +
                                            ctl.environment["FAIRLOCK_HOST"])
        for key in KEYS:
            self.assertRegex(ctl.text("lock", key, "me"), r"^\d+\n$")
        self.assertEqual(ctl.json("locks")["found"], len(KEYS))

    def test_a_redirected_connection_uses_tls_and_the_password(self):
        node = self.fleet.nodes[0]
        ctl = self.tool(node, FAIRLOCK_HOST=f"127.0.0.1:{self.tls_ports[node.name]}",
                        FAIRLOCK_TLS_CA_FILE=str(self.certificates.authority.certificate))
        ports = set()
        for key in KEYS:
            ctl.text("lock", key, "me", "--ttl", "1m")
        for row in ctl.json("clients")["clients"]:
            ports.add(int(row["laddr"].split(":")[1]))
        tls_ports = {self.tls_ports[name] for name in self.leaders()}
        self.assertLessEqual(tls_ports, ports)
        wrong = self.fleet.directory / "wrong"
        wrong.write_text("wrong\n")
        done = self.tool(node, FAIRLOCK_PASSWORD_FILE=str(wrong)).run("show", KEYS[0])
        self.assertEqual(done.returncode, NOT_ALLOWED)

    def test_the_unix_socket_of_a_node_redirects_too(self):
        ctl = self.tool(FAIRLOCK_SOCKET=str(self.fleet.directory / "n0.sock"))
        del ctl.environment["FAIRLOCK_HOST"]
        for key in KEYS:
            ctl.text("lock", key, "me", "--ttl", "1m")
        self.assertEqual(ctl.json("locks")["found"], len(KEYS))

    def run_all(self, *words):
        """Runs `run` for several keys at once; returns {key: (exit code, output, errors)}."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            done = pool.map(lambda key: self.ctl.run("run", key, *words), KEYS[:4])
            return {key: (one.returncode, one.stdout, one.stderr)
                    for key, one in zip(KEYS[:4], done, strict=True)}

    def test_run_follows_and_keeps_the_lock(self):
        # The first renewal is after two seconds.
        ran = self.run_all("--owner", "me", "--ttl", "6s", "--", "sh", "-c",
                           "sleep 2.5; echo ran $FAIRLOCK_TOKEN")
        for key, (code, output, errors) in ran.items():
            self.assertEqual((code, errors), (DONE, ""), key)
            self.assertRegex(output, r"^ran \d+\n$")

    def test_run_does_not_take_over_a_hold_of_the_same_owner(self):
        for key in KEYS[:4]:
            self.ctl.text("lock", key, "me", "--ttl", "1m")
            done = self.ctl.run("run", key, "--owner", "me", "--wait", "0", "--", "true")
            self.assertNotEqual(done.returncode, DONE, done.stderr)

    def test_run_reports_what_it_waits_for(self):
        for key in KEYS[:4]:
            self.ctl.text("lock", key, "other", "--ttl", "10m")
        ran = self.run_all("--wait", "4s", "--report-every", "500ms", "--", "true")
        for key, (code, _, errors) in ran.items():
            self.assertEqual(code, NOT_OBTAINED, errors)
            self.assertRegex(errors, rf"waiting for '{key}' .*held by 'other'")

    def test_keys_of_several_slots_are_refused(self):
        done = self.ctl.run("lock", "a", "b", "me")
        self.assertSays(done, REFUSED, "CROSSSLOT.*hash tag")
        self.assertRegex(self.ctl.text("lock", *TAGGED, "me"), r"^\d+\n$")


class AllKeys(PartitionedFleet):

    def test_watch_shows_the_events_of_all_partitions(self):
        watch = self.start_watch("key*", "--json", "--count", str(len(KEYS)))
        self.lock_all()
        output, errors = watch.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual({json.loads(line)["key"] for line in output.splitlines()}, set(KEYS))
        self.assertEqual((errors, watch.returncode), ("", DONE))

    def test_locks_are_listed_and_sorted_over_all_partitions(self):
        self.lock_all()
        report = self.ctl.json("locks", "--sort", "key", "--count", "5")
        self.assertEqual([row["key"] for row in report["locks"]], sorted(KEYS)[:5])
        self.assertEqual((report["found"], report["failed"]), (len(KEYS), []))
        report = self.ctl.json("locks")
        self.assertEqual({row["key"] for row in report["locks"]}, set(KEYS))
        self.assertEqual(self.ctl.text("locks", "key1*").count("\n"), 4)
        claims = self.ctl.json("owner", "owner0")["claims"]
        self.assertEqual({row["key"] for row in claims}, set(KEYS[::2]))
        names = self.ctl.text("complete", "keys", "key").split()
        self.assertEqual(names, sorted(KEYS))

    def test_statistics_and_status_are_added_up(self):
        before = {row["label"]: row for row in self.ctl.json("stats")["labels"]}
        held = int(self.ctl.json("status")["info"]["locks"])
        self.lock_all()
        after = {row["label"]: row for row in self.ctl.json("stats")["labels"]}
        for label in ("label0", "label1"):
            known = before[label]["acquired"] if label in before else 0
            self.assertEqual(after[label]["acquired"] - known, len(KEYS) // 2)
        status = self.ctl.json("status")
        self.assertEqual(int(status["info"]["locks"]) - held, len(KEYS))
        self.assertEqual(len(status["partitions"]), PARTITIONS)
        self.assertIn("the leaders of 3 of 3 partitions", self.ctl.text("status"))

    def test_the_history_of_all_keys_is_merged_by_time(self):
        self.lock_all()
        events = self.ctl.json("history", "*", "--count", str(len(KEYS)))["events"]
        self.assertEqual([event["key"] for event in events[:len(KEYS)]], KEYS[::-1])
        done = self.ctl.run("history", "*", "--before", "7")
        self.assertSays(done, WRONG_USE, "--until")

    def test_pages_of_the_merged_history_miss_no_event(self):
        self.lock_all()
        seen, until = [], []
        for _ in range(100):
            page = self.ctl.json("history", "*", "--count", "5", *until)
            seen += [event["key"] for event in page["events"] if event["event"] == "granted"]
            if len(seen) >= len(KEYS) or page["next_until"] is None:
                break
            until = ["--until", str(page["next_until"])]
        self.assertEqual(seen[:len(KEYS)], KEYS[::-1])

    def test_connections_are_listed_with_their_partition(self):
        rows = self.ctl.json("clients")["clients"]
        self.assertEqual({row["partition"] for row in rows}, {"0", "1", "2"})
        self.assertEqual({row["node"] for row in rows}, set(self.leaders()))
        self.assertRegex(self.ctl.text("clients"), "^PARTITION +ID ")
        done = self.ctl.run("kill", "123456")
        self.assertSays(done, WRONG_USE, "--partition is required")
        self.assertEqual(self.ctl.run("kill", "123456", "--partition", "2").returncode, NO)
        self.assertEqual(self.ctl.run("kill", "1", "--partition", "3").returncode, WRONG_USE)

    def test_overrides_are_set_on_all_leaders(self):
        self.lock_all()
        self.assertEqual(self.ctl.json("limit", "set", "*", "7", "--for", "1h")["failed"], [])
        rows = self.ctl.json("limit", "list")["overrides"]
        self.assertEqual([(row["limit"], row["partitions"]) for row in rows], [(7, [0, 1, 2])])
        self.assertRegex(self.ctl.text("limit", "list"), r"(?m)^\* .* all$")
        for key in KEYS[:4]:
            self.assertEqual(self.ctl.json("show", key)["override"], 7)
        self.assertSays(self.ctl.run("resume", "*"), NO, "not drained")
        self.ctl.text("limit", "del", "*")
        self.assertSays(self.ctl.run("limit", "del", "*"), NO, "no override")
        self.assertEqual(self.ctl.json("drain", "*")["held"], len(KEYS))
        for key in KEYS[:4]:
            self.assertEqual(self.ctl.run("lock", key, "other").returncode, NOT_OBTAINED)
        self.assertEqual(self.ctl.json("resume", "*")["deleted"], 1)

    def test_an_override_of_one_partition_shows_its_partition(self):
        leader = self.connections[self.leaders()[1]]
        self.assertEqual(leader.ask("LIMIT", "SET", "*", "3"), "OK")
        rows = self.ctl.json("limit", "list")["overrides"]
        self.assertEqual([row["partitions"] for row in rows], [[1]])

    def test_options_are_changed_on_all_leaders(self):
        self.ctl.text("config", "set", "max_keep", "41s")
        for name in self.leaders():
            self.assertEqual(self.tool(self.node(name)).json("config", "get", "max_keep"),
                             {"max_keep": "41s"})

    def test_break_ends_the_matching_holds_of_all_partitions(self):
        self.lock_all()
        self.assertEqual(len(self.ctl.json("break", "*", "--dry-run")["targets"]), len(KEYS))
        report = self.ctl.json("break", "key*", "--owner", "owner1", "--yes")
        self.assertEqual(report["ended"]["holds"], len(KEYS) // 2)
        self.assertEqual(self.ctl.text("break", KEYS[0], "--yes"), "1 hold ended by force.\n")
        left = {row["key"] for row in self.ctl.json("locks")["locks"]}
        self.assertEqual(left, set(KEYS[2::2]))


class Leaders(PartitionedFleet):

    def test_1_the_status_shows_every_partition(self):
        report = self.status()
        self.assertEqual([row["partition"] for row in report["leaders"]], [0, 1, 2])
        for row in report["leaders"]:
            self.assertGreaterEqual(row["epoch"], 1)
            self.assertGreater(row["leader_since"], 1_600_000_000_000)
        self.assertEqual(sum(len(row["standbys"]) for row in report["leaders"]), 1)
        text = self.ctl.text("cluster", "status")
        self.assertRegex(text, r"PARTITION +LEADER +SINCE +EPOCH +STANDBYS")
        self.assertRegex(text, r"warning: there is no standby for partitions \d, \d: ")

    def test_2_a_partition_is_handed_over(self):
        done = self.ctl.run("cluster", "failover")
        self.assertSays(done, WRONG_USE, "--partition is required: the fleet has 3 partitions")
        row = next(row for row in self.status()["leaders"] if row["standbys"])
        report = self.ctl.json("cluster", "failover", "--partition", str(row["partition"]),
                               "--to", row["standbys"][0])
        self.assertEqual((report["from"], report["to"]), (row["leader"], row["standbys"][0]))
        self.assertGreater(report["epoch"], row["epoch"])
        self.setUp()  # the old leader has closed its connections
        self.await_standby()
        self.lock_all()

    def await_standby(self):
        """Waits until every node knows that a leader that has handed over stands by."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            views = [self.tool(node).run("cluster", "status", "--json")
                     for node in self.fleet.nodes]
            roles = [{(one["name"], one["role"]) for one in json.loads(view.stdout)["nodes"]}
                     for view in views if view.returncode == DONE]
            if (len(roles) == len(self.fleet.nodes) and all(view == roles[0] for view in roles)
                    and any(role == "standby" for _, role in roles[0])):
                return
            self.assertLess(time.monotonic(), give_up, roles)
            time.sleep(0.1)

    def test_3_leaders_that_do_not_answer_are_named(self):
        self.lock_all()
        row = next(row for row in self.status()["leaders"] if not row["standbys"])
        partition, node = row["partition"], self.node(row["leader"])
        others = [other for other in self.fleet.nodes if other is not node]
        node.kill()
        ctl = self.tool(*others, FAIRLOCK_TIMEOUT="1s")
        lost = rf"partition {partition}( \({node.name} at 127.0.0.1:{node.port}\))? failed: "
        for words in (("locks",), ("status",), ("clients",), ("stats",), ("owner", "owner0"),
                      ("limit", "set", "*", "9"), ("limit", "list"), ("drain", "*"),
                      ("resume", "*"), ("config", "set", "max_keep", "42s"),
                      ("break", "none*", "--yes")):
            self.assertSays(ctl.run(*words), UNREACHABLE, lost)
        # The leaders that run answer in any case.
        patient = self.tool(*others, FAIRLOCK_TIMEOUT="10s")
        done = patient.run("locks", "--json")
        self.assertEqual(done.returncode, UNREACHABLE)
        report = json.loads(done.stdout)
        self.assertEqual([row["partition"] for row in report["failed"]], [partition],
                         report["failed"])
        self.assertTrue(report["locks"])
        seen = {row["key"] for row in report["locks"]}
        for key in KEYS:
            done = (patient if key in seen else ctl).run("show", key)
            self.assertEqual(done.returncode, DONE if key in seen else UNREACHABLE, done.stderr)
        node.start()
        self.await_fleet()
        self.assertEqual(patient.json("locks")["found"], len(KEYS))
        self.setUp()

    def test_4_watch_continues_with_the_next_leader(self):
        row = next(row for row in self.status()["leaders"] if row["standbys"])
        watch = self.start_watch("key*", "--json", "--count", str(len(KEYS)))
        self.assertEqual(self.ctl.run("cluster", "failover", "--partition",
                                      str(row["partition"])).returncode, DONE)
        self.await_subscriptions()
        self.setUp()
        self.lock_all()
        output, errors = watch.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual({json.loads(line)["key"] for line in output.splitlines()}, set(KEYS))
        self.assertRegex(errors, rf"partition {row['partition']}: .*may be missed")
        self.assertEqual(watch.returncode, DONE)


class FakeServer:
    """Answers the log-in, and every other request with the same bytes."""

    def __init__(self, mode, answer):
        self.mode = mode
        self.answer = answer
        self.requests = []

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def serve(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            with resp.Connection(stream) as client:
                self.talk(client)

    def talk(self, client):
        try:
            while True:
                words = [word.decode() for word in client.reply()]
                self.requests.append(words)
                hello = f"%1\r\n$4\r\nmode\r\n${len(self.mode)}\r\n{self.mode}\r\n"
                client.send(hello.encode() if words[0] == "HELLO" else self.answer(self))
        except (resp.Ended, OSError):
            pass


class Fakes(unittest.TestCase):

    def serve(self, mode, answer):
        return self.enterContext(FakeServer(mode, answer))

    def test_endless_redirects_are_not_followed_forever(self):
        server = self.serve("cluster", lambda me: f"-MOVED 1 127.0.0.1:{me.port}\r\n".encode())
        ctl = Fairlockctl(FAIRLOCK_HOST=f"127.0.0.1:{server.port}", FAIRLOCK_TIMEOUT="1s")
        began = time.monotonic()
        done = ctl.run("unlock", "k", "o")
        self.assertEqual(done.returncode, UNREACHABLE, done.stderr)
        self.assertIn("MOVED 1", done.stderr)
        self.assertLess(time.monotonic() - began, PATIENCE_SECONDS)
        count = sum(words[0] == "UNLOCK" for words in server.requests)
        self.assertGreater(count, 2)
        self.assertLess(count, 12)

    def test_a_wrong_redirect_is_an_error(self):
        for text in (b"-MOVED\r\n", b"-MOVED 1\r\n", b"-MOVED 1 host\r\n", b"-MOVED 1 :1\r\n",
                     b"-MOVED 1 host:0\r\n", b"-MOVED 1 host:99999\r\n"):
            server = self.serve("cluster", lambda me, text=text: text)
            ctl = Fairlockctl(FAIRLOCK_HOST=f"127.0.0.1:{server.port}", FAIRLOCK_TIMEOUT="1s")
            self.assertEqual(ctl.run("show", "k").returncode, UNREACHABLE)
            self.assertEqual(len(server.requests), 2)

    def test_a_single_server_gets_no_additional_request(self):
        page = b"*2\r\n$1\r\n0\r\n*0\r\n"
        for words, answer, expected in ((("locks",), page, ["HELLO", "LOCKS"]),
                                        (("clients",), b"$0\r\n\r\n", ["HELLO", "CLIENT"]),
                                        (("limit", "set", "k", "3"), b"+OK\r\n",
                                         ["HELLO", "LIMIT"]),
                                        (("break", "k*", "--yes"), page, ["HELLO", "LOCKS"]),
                                        (("stats",), b"%0\r\n", ["HELLO", "STATS"])):
            server = self.serve("standalone", lambda me, answer=answer: answer)
            done = Fairlockctl(FAIRLOCK_HOST=f"127.0.0.1:{server.port}").run(*words)
            self.assertIn(done.returncode, (DONE, NO), done.stderr)
            self.assertEqual([request[0] for request in server.requests], expected)


if __name__ == "__main__":
    unittest.main()
