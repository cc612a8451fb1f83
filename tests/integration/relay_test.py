"""Clients reach the leader through a standby, which relays their connections."""

import json
import socket
import subprocess
import time
import unittest
import urllib.error

import resp
from certificates import Certificates, connect
from own_fleet import Fleet
from own_server import free_port, note_figure


class Relay(unittest.TestCase):

    def fleet(self, *options, **sizes):
        return self.enterContext(Fleet(options=options, relays=True, **sizes))

    def test_redis_cli_takes_a_lock_on_tcp_and_on_the_unix_socket(self):
        fleet = self.fleet()
        standby = fleet.standby()
        unix = str(fleet.directory / f"{standby.name}.sock")
        for i, where in enumerate((["-p", str(standby.port)], ["-s", unix])):
            done = subprocess.run(["redis-cli", *where, "LOCK", f"key{i}", "me", "PX", "30000"],
                                  capture_output=True, text=True, timeout=20, check=False)
            self.assertRegex(done.stdout, r"^\d+\n$", done.stderr)

    def tls_fleet(self):
        """Returns a fleet of two nodes, a TLS context for clients, and the standby's tls_port."""
        certificates = self.enterContext(Certificates())
        ports = [free_port() for _ in range(2)]
        fleet = Fleet(nodes=2, relays=True)
        for node, port in zip(fleet.nodes, ports):
            node.words += certificates.options(port) + ["--tls-auth-clients", "no"]
        self.enterContext(fleet)
        return fleet, certificates.context(), ports[fleet.nodes.index(fleet.standby())]

    def test_tls_ends_at_the_leader(self):
        _, context, port = self.tls_fleet()
        with connect(port, context) as client:
            self.assertGreater(client.ask("LOCK", "key", "owner"), 0)

    def test_a_tls_client_that_connects_without_a_leader_is_served_by_the_next(self):
        fleet, context, port = self.tls_fleet()
        with connect(port, context) as client:
            token = client.ask("LOCK", "key", "owner", "PX", 600_000)
        fleet.leader().kill()
        with connect(port, context) as client:  # the handshake waits for the take-over
            self.assertEqual(client.ask("CHECK", "key", token), 1)
            self.assertIn(b"role:master", client.ask("INFO", "replication"))

    def test_a_client_that_half_closes_gets_all_its_replies(self):
        fleet = self.fleet()
        with fleet.standby().connect(30) as client:
            client.send(resp.request("LOCK", "key", "owner") * 5_000)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(len({client.reply() for _ in range(5_000)}), 1)
            self.assertTrue(client.has_ended())

    def test_many_clients(self):
        fleet = self.fleet()
        standby = fleet.standby()
        clients = [self.enterContext(standby.connect(20)) for _ in range(200)]
        for i, client in enumerate(clients):
            client.send(resp.request("LOCK", f"key{i}", "owner"))
        self.assertEqual(len({client.reply() for client in clients}), 200)

    def test_a_killed_leader_ends_connections_and_new_ones_wait_for_the_next(self):
        fleet = self.fleet()
        leader, standby = fleet.leader(), fleet.standby()
        with standby.connect(20) as client:
            token = client.ask("LOCK", "key", "owner", "PX", 600_000)
            leader.kill()
            self.assertTrue(client.has_ended())
        began = time.monotonic()
        with standby.connect(20) as client:
            self.assertEqual(client.ask("CHECK", "key", token), 1)
        # The killed leader's port refuses connections, so the standby takes over without waiting
        # for two seconds of silence.
        note_figure("delays.fail_over_through_standby_ms", (time.monotonic() - began) * 1000)

    def test_a_hand_over_through_a_standby(self):
        fleet = self.fleet()
        leader, standby = fleet.leader(), fleet.standby()
        with standby.connect(20) as client:
            token = client.ask("LOCK", "key", "owner", "PX", 600_000)
            leader.process.terminate()
            self.assertTrue(client.has_ended())
        began = time.monotonic()
        with standby.connect(20) as client:
            self.assertEqual(client.ask("CHECK", "key", token), 1)
        note_figure("delays.hand_over_through_standby_ms", (time.monotonic() - began) * 1000)
        self.assertEqual(leader.process.wait(30), 0)

    def test_without_a_leader_a_standby_answers_itself_after_four_seconds(self):
        fleet = self.fleet(nodes=2, http=True)
        leader, standby = fleet.leader(), fleet.standby()
        with standby.connect(20) as asking:
            end = time.monotonic() + 20
            while True:
                seen = asking.ask_map("CLUSTER", "STATUS")
                if seen[b"leader"] is not None and len(seen[b"nodes"]) == 2:
                    break
                self.assertLess(time.monotonic(), end, fleet.logs())
                time.sleep(0.05)
        for member in fleet.members[:2]:
            member.pause()
        leader.kill()
        began = time.monotonic()
        client = self.enterContext(standby.connect(20))
        client.send(resp.request("LOCK", "key", "owner"))
        self.assertTrue(client.reply().startswith("CLUSTERDOWN "))
        self.assertGreater(time.monotonic() - began, 3)
        # The standby says what it knows, and that this is old.
        status = client.ask_map("CLUSTER", "STATUS")
        self.assertEqual(status[b"role"], b"standby")
        self.assertIsNone(status[b"leader"])
        self.assertEqual(status[b"last_leader"], leader.name.encode())
        self.assertGreaterEqual(status[b"leader_heard_ms"], 4_000)
        nodes = {one[b"name"]: one[b"role"]
                 for one in (dict(zip(row[::2], row[1::2])) for row in status[b"nodes"])}
        self.assertEqual(nodes, {leader.name.encode(): b"lost", standby.name.encode(): b"standby"})
        for path in ("/readyz", "/leaderz"):
            with self.assertRaises(urllib.error.HTTPError) as raised:
                standby.get(path)
            self.assertEqual(raised.exception.code, 503)
        cluster = json.loads(standby.get("/api/v1/cluster"))["cluster"]
        self.assertEqual((cluster["leader"], cluster["last_leader"]), (None, leader.name))
        # A member that does not answer is shown with its error.
        end = time.monotonic() + 30
        while sum(member["error"] is not None for member in cluster["etcd"]) < 2:
            self.assertLess(time.monotonic(), end, cluster)
            time.sleep(0.1)
            cluster = json.loads(standby.get("/api/v1/cluster"))["cluster"]
        for member in fleet.members[:2]:
            member.go_on()
        self.assertIs(fleet.await_leader(), standby)

    def test_clients_that_were_answered_here_are_sent_to_the_next_leader(self):
        fleet = self.fleet(nodes=2)
        leader, standby = fleet.leader(), fleet.standby()
        leader.pause()
        for member in fleet.members[:2]:
            member.pause()
        # Until then, a connection is passed on to the leader, whose port still accepts it.
        end = time.monotonic() + 60
        while "no node leads" not in standby.log.read_text():
            self.assertLess(time.monotonic(), end, fleet.logs())
            time.sleep(0.1)
        client = self.enterContext(standby.connect(20))
        client.send(resp.request("LOCK", "key", "owner"))
        self.assertTrue(client.reply().startswith("CLUSTERDOWN "))
        leader.go_on()
        for member in fleet.members[:2]:
            member.go_on()
        end = time.monotonic() + 60
        while True:
            with standby.connect(20) as again:
                if isinstance(again.ask("LOCK", "key", "owner"), int):
                    break
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        # Whichever node leads now, this client need not stay with one that does not.
        if fleet.leader() is not standby:
            self.assertTrue(client.has_ended())


if __name__ == "__main__":
    unittest.main()
