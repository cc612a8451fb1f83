"""Locks over HTTP: acquire, wait, renew, check and release; and the contract by which Terraform and
OpenTofu lock a state."""

import base64
import http.client
import json
import pathlib
import tempfile
import threading
import time
import unittest

from http_server import HttpServer, TOKEN, WithServer
import resp

PATIENCE_SECONDS = 30
INFO = {"ID": "a-1", "Operation": "OperationTypeApply", "Info": "", "Who": "ann@web-1",
        "Version": "1.9.0", "Created": "2026-11-27T12:00:00Z", "Path": ""}


class Waiting:
    """A request that waits, in a thread of its own."""

    def __init__(self, server, body):
        self.answer = None
        self.thread = threading.Thread(target=self.ask, args=(server, body))
        self.thread.start()

    def ask(self, server, body):
        self.answer = server.post("/api/v1/acquire", body)

    def result(self):
        self.thread.join(PATIENCE_SECONDS)
        assert self.answer is not None
        return self.answer


class Locking(WithServer):

    def acquire(self, key, owner, **more):
        return self.server.post("/api/v1/acquire", {"key": key, "owner": owner, **more})

    def await_place(self, key, owner, position):
        end = time.monotonic() + PATIENCE_SECONDS
        while self.own.ask("POSITION", key, owner) != position:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.002)

    def test_a_lock_is_taken_renewed_checked_and_released(self):
        status, taken = self.acquire("k", "me", lease="30s", label="x", meta="note")
        self.assertEqual((status, taken["status"]), (200, "granted"))
        self.assertEqual(self.own.ask("CHECK", "k", taken["token"]), 1)
        self.assertEqual(self.acquire("k", "me", lease="30s")[1]["token"], taken["token"])
        status, denied = self.acquire("k", "other")
        self.assertEqual((status, denied["status"], denied["reason"]), (409, "denied", "held"))
        self.assertEqual((denied["holders"][0]["owner"], denied["holders"][0]["meta"]),
                         ("me", "note"))
        post = self.server.post
        held = {"key": "k", "owner": "me", "token": taken["token"]}
        self.assertEqual(post("/api/v1/renew", {**held, "lease": "1h"}), (200, {"renewed": 1}))
        self.assertEqual(post("/api/v1/check", {"key": "k", "token": taken["token"]}),
                         (200, {"held": 1}))
        self.assertEqual(post("/api/v1/release", {**held, "token": 1})[0], 409)
        self.assertEqual(post("/api/v1/release", held), (200, {"released": 1}))
        for path, body in (("renew", {**held, "lease": "1h"}), ("release", held),
                           ("check", {"key": "k", "token": taken["token"]})):
            status, stands = post("/api/v1/" + path, body)
            self.assertEqual((status, stands["holders"]), (409, []), path)

    def test_the_lease_is_given_or_the_default(self):
        self.assertEqual(self.acquire("k", "me")[1]["ttl_ms"], 30_000)
        self.assertEqual(self.acquire("l", "me", lease="1500")[1]["ttl_ms"], 1500)

    def test_waiters_are_served_in_order_with_all_others(self):
        self.own.ask("LOCK", "k", "holder")
        first = Waiting(self.server, {"key": "k", "owner": "a", "wait": "20s", "lease": "1m"})
        self.await_place("k", "a", 1)
        second = self.wait_in_line("k", "b")
        third = Waiting(self.server, {"key": "k", "owner": "c", "wait": "20s"})
        self.await_place("k", "c", 3)
        self.own.ask("UNLOCK", "k", "holder")
        status, granted = first.result()
        self.assertEqual((status, granted["status"]), (200, "granted"))
        self.own.ask("UNLOCK", "k", "a")
        self.assertGreater(second.reply(), granted["token"])
        self.own.ask("UNLOCK", "k", "b")
        self.assertEqual(third.result()[0], 200)

    def test_a_wait_that_ends_says_what_stood_there(self):
        self.own.ask("LOCK", "k", "holder")
        status, ended = self.acquire("k", "me", wait="300ms")
        self.assertEqual((status, ended["status"], ended["holders"][0]["owner"]),
                         (409, "timeout", "holder"))
        self.assertIsNone(self.own.ask("POSITION", "k", "me"))
        self.own.ask("LOCK", "l", "me")
        waiter = self.wait_in_line("l", "holder")
        status, refused = self.acquire("k", "me", wait="20s")
        self.assertEqual((status, refused["error"]["code"]), (409, "DEADLOCK"))
        waiter.close()

    def test_who_hangs_up_leaves_the_queue(self):
        self.own.ask("LOCK", "k", "holder")
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port)
        connection.request("POST", "/api/v1/acquire",
                           json.dumps({"key": "k", "owner": "gone", "wait": "60s"}),
                           {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN})
        self.await_place("k", "gone", 1)
        connection.close()
        after = self.wait_in_line("k", "after")
        self.await_place("k", "after", 1)
        self.own.ask("UNLOCK", "k", "holder")
        self.assertIsInstance(after.reply(), int)

    def test_a_connection_is_used_again_after_a_wait(self):
        self.own.ask("LOCK", "k", "holder", "PX", 500)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=20)
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN}
        for key, wait in (("k", "20s"), ("l", "0"), ("k", "1s")):
            connection.request("POST", "/api/v1/acquire",
                               json.dumps({"key": key, "owner": "me", "wait": wait}), headers)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200, answer.read())
            answer.read()
            self.assertFalse(answer.will_close)
        connection.close()

    def test_the_next_request_may_come_while_one_waits(self):
        self.own.ask("LOCK", "k", "holder", "PX", 600)
        body = json.dumps({"key": "k", "owner": "me", "wait": "20s"})
        request = (f"POST /api/v1/acquire HTTP/1.1\r\nHost: localhost\r\n"
                   f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        with resp.Connection.to(("127.0.0.1", self.server.http_port)) as raw:
            raw.send(request)
            self.await_place("k", "me", 1)
            raw.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            raw.socket.settimeout(PATIENCE_SECONDS)
            answers = b""
            while chunk := raw.socket.recv(65536):
                answers += chunk
        self.assertEqual(answers.count(b"HTTP/1.1 200"), 2, answers)
        self.assertIn(b'"granted"', answers)

    def test_waits_are_bounded_in_time_and_number(self):
        status, refused = self.acquire("k", "me", wait="1h")
        self.assertEqual(status, 400)
        self.assertIn("at most 5m (http_wait_max)", refused["error"]["message"])
        with HttpServer("--http-max-clients", "10", "--http-wait-max", "1h") as server:
            with server.connect() as own:
                own.ask("LOCK", "k", "holder")
                waiting = [Waiting(server, {"key": "k", "owner": f"w{i}", "wait": "50s"})
                           for i in range(5)]
                end = time.monotonic() + PATIENCE_SECONDS
                while len(own.ask("QUEUE", "k")) < 5:
                    self.assertLess(time.monotonic(), end)
                status, refused = server.post("/api/v1/acquire",
                                              {"key": "k", "owner": "more", "wait": "1s"})
                self.assertEqual((status, refused["error"]["code"]), (503, "TRYAGAIN"))
                self.assertEqual(server.post("/api/v1/acquire", {"key": "l", "owner": "x"})[0], 200)
                self.assertEqual(server.ask("GET", "/healthz")[0], 200)
                places = [dict(zip(place[::2], place[1::2])) for place in own.ask("QUEUE", "k")]
                for owner in [b"holder"] + [place[b"owner"] for place in places]:
                    self.assertEqual(own.ask("UNLOCK", "k", owner), 1)
                self.assertEqual([one.result()[0] for one in waiting], [200] * 5)
                # There is room again.
                self.assertEqual(server.post("/api/v1/acquire",
                                             {"key": "k", "owner": "more", "wait": "1s"})[0], 200)

    def test_a_stop_ends_the_waits(self):
        with HttpServer() as server:
            with server.connect() as own:
                own.ask("LOCK", "k", "holder")
                connection = http.client.HTTPConnection("127.0.0.1", server.http_port)
                connection.request(
                    "POST", "/api/v1/acquire",
                    json.dumps({"key": "k", "owner": "me", "wait": "60s"}),
                    {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN})
                while own.ask("POSITION", "k", "me") is None:
                    time.sleep(0.002)
                self.assertEqual(server.stop(), 0)
                with self.assertRaises((http.client.HTTPException, OSError)):
                    connection.getresponse()

    def test_a_client_that_is_killed_leaves_the_queue(self):
        self.own.ask("LOCK", "k", "holder")
        waiting = threading.Thread(target=self.expect_close)
        waiting.start()
        self.await_place("k", "me", 1)
        for line in self.own.ask("CLIENT", "LIST").decode().splitlines():
            if "name=http" in line:
                self.own.ask("CLIENT", "KILL", "ID", line.split("id=")[1].split()[0])
        waiting.join(PATIENCE_SECONDS)
        self.assertFalse(waiting.is_alive())
        self.await_true(lambda: self.own.ask("POSITION", "k", "me") is None)

    def expect_close(self):
        try:
            self.acquire("k", "me", wait="60s")
        except (http.client.HTTPException, OSError):
            pass

    def await_true(self, is_met):
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_met():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_the_permissions_of_the_user_count(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        users = folder / "users"
        users.write_text("user default on nopass ~* &* owner:* +@all\n"
                         "user ann on >secret ~mine:* owner:* +lock +unlock\n")
        with HttpServer("--acl-file", str(users)) as server:
            basic = {"Authorization": "Basic " + base64.b64encode(b"ann:secret").decode()}
            for key, expected in (("mine:1", 200), ("other", 403)):
                self.assertEqual(server.post("/api/v1/acquire", {"key": key, "owner": "me"},
                                             token=None, headers=basic)[0], expected)
            self.assertEqual(server.post("/api/v1/renew",
                                         {"key": "mine:1", "owner": "me", "lease": "1s"},
                                         token=None, headers=basic)[0], 403)

    def test_wrong_values_are_refused(self):
        for body in ({"key": "k"}, {"key": "k", "owner": "me", "lease": "soon"},
                     {"key": "k", "owner": "me", "wait": "-1"},
                     {"key": "k", "owner": "me", "limit": 0}, {"key": "k", "owner": ""},
                     {"key": "k", "owner": "me", "lease": "30x"}):
            self.assertEqual(self.server.post("/api/v1/acquire", body)[0], 400, body)
        self.assertEqual(self.own.ask("LOCKED", "k"), 0)


class Terraform(WithServer):

    def lock(self, name, info, query=""):
        return self.server.ask("LOCK", f"/terraform/{name}{query}", info, token=TOKEN)

    def unlock(self, name, info):
        return self.server.ask("UNLOCK", f"/terraform/{name}", info, token=TOKEN)

    def test_two_of_it_never_hold_one_state(self):
        self.assertEqual(self.lock("prod", INFO)[0], 200)
        status, headers, body = self.lock("prod", {**INFO, "ID": "b-2", "Who": "bob"})
        self.assertEqual((status, json.loads(body)), (423, INFO))
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(self.lock("other", {**INFO, "ID": "b-2"})[0], 200)
        self.assertEqual(self.unlock("prod", {**INFO, "ID": "b-2"})[0], 423)
        self.assertEqual(self.own.ask("LOCKED", "terraform:prod"), 1)
        self.assertEqual(self.unlock("prod", INFO)[0], 200)
        self.assertEqual(self.own.ask("LOCKED", "terraform:prod"), 0)
        self.assertEqual(self.unlock("prod", INFO)[0], 200)  # again: it is free
        self.assertEqual(self.lock("prod", {**INFO, "ID": "b-2"})[0], 200)

    def test_the_same_request_may_be_sent_again(self):
        for _ in range(2):
            self.assertEqual(self.lock("prod", INFO)[0], 200)

    def test_an_operator_can_force_it(self):
        self.lock("prod", INFO)
        self.assertEqual(self.unlock("prod", b"")[0], 200)
        self.lock("prod", INFO)
        self.assertEqual(self.unlock("prod", {"ID": INFO["ID"]})[0], 200)
        self.assertEqual(self.own.ask("LOCKED", "terraform:prod"), 0)

    def test_a_lock_by_another_client_is_described_too(self):
        self.own.ask("LOCK", "terraform:prod", "night-job")
        status, _, body = self.lock("prod", INFO)
        self.assertEqual((status, json.loads(body)), (423, {"ID": "night-job"}))

    def test_the_lease_comes_from_the_address_or_the_option(self):
        self.lock("prod", INFO)
        self.assertGreater(self.own.ask("PTTL", "terraform:prod"), 364 * 24 * 3_600_000)
        self.lock("leased", INFO, "?lease=1h")
        self.assertGreater(self.own.ask("PTTL", "terraform:leased"), 3_500_000)
        with HttpServer("--terraform-lease", "2h") as server, server.connect() as own:
            server.ask("LOCK", "/terraform/prod", INFO, token=TOKEN)
            self.assertGreater(own.ask("PTTL", "terraform:prod"), 7_000_000)

    def test_wrong_requests_are_refused(self):
        self.assertEqual(self.lock("prod", {"Who": "me"})[0], 400)
        self.assertEqual(self.lock("prod", b"no json")[0], 400)
        self.assertEqual(self.lock("prod", INFO, "?lease=soon")[0], 400)
        status, headers, _ = self.server.ask("POST", "/terraform/prod", INFO, token=TOKEN)
        self.assertEqual((status, headers["Allow"]), (405, "LOCK, UNLOCK"))
        self.assertEqual(self.server.ask("LOCK", "/terraform/prod", INFO)[0], 401)
        self.assertEqual(self.own.ask("DBSIZE"), 0)


if __name__ == "__main__":
    unittest.main()
