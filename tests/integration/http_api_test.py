"""The HTTP API, used by a client that knows only HTTP."""

import concurrent.futures
import json
import socket
import subprocess
import time
import unittest

import resp
from http_server import HttpServer, TOKEN, WithServer
from own_server import PROGRAM, free_port


class Looking(WithServer):

    def test_health_is_plain_text(self):
        for path, text in (("/healthz", b"ok\n"), ("/readyz", b"ready\n")):
            status, headers, body = self.server.ask("GET", path)
            self.assertEqual((status, body), (200, text))
            self.assertEqual(headers["Content-Type"], "text/plain; charset=utf-8")
            status, headers, body = self.server.ask("HEAD", path)
            self.assertEqual((status, body, headers["Content-Length"]), (200, b"", str(len(text))))

    def test_locks_come_page_by_page(self):
        for number in range(250):
            self.own.ask("LOCK", f"k{number}", "o")
        keys = []
        cursor = "0"
        for _ in range(100):
            status, page = self.server.get(f"/api/v1/locks?count=20&cursor={cursor}")
            self.assertEqual(status, 200)
            keys += [row["key"] for row in page["locks"]]
            cursor = page["cursor"]
            if cursor == "0":
                break
        self.assertEqual(sorted(keys), sorted(f"k{number}" for number in range(250)))

    def test_the_longest_of_many_comes_first(self):
        self.own.ask("LOCK", "old", "o", "EX", 100)
        time.sleep(0.1)
        self.own.send(b"".join(resp.request("LOCK", f"k{number}", "o") for number in range(3000)))
        for _ in range(3000):
            self.own.reply()
        self.wait_in_line("k7", "w1")
        self.wait_in_line("k7", "w2")
        self.wait_in_line("k8", "w1")
        _, page = self.server.get("/api/v1/locks?sort=hold&count=1")
        self.assertEqual((page["found"], page["locks"][0]["key"]), (3001, "old"))
        _, page = self.server.get("/api/v1/locks?sort=waiters&count=2")
        self.assertEqual([(row["key"], row["waiters"]) for row in page["locks"]],
                         [("k7", 2), ("k8", 1)])

    def lock_pages_read(self):
        """Returns how many pages of LOCKS all clients together have requested."""
        lines = self.own.ask("INFO", "commandstats").decode().split()
        calls = [line for line in lines if line.startswith("cmdstat_locks:")]
        return int(calls[0].partition("=")[2].partition(",")[0]) if calls else 0

    def test_those_who_ask_for_all_locks_at_once_share_one_walk(self):
        self.own.send(b"".join(resp.request("LOCK", f"k{number}", "o")
                               for number in range(20_000)))
        for _ in range(20_000):
            self.own.reply()
        target = "/api/v1/locks?sort=hold&count=5"
        self.server.get(target)
        pages_of_a_walk = self.lock_pages_read()
        time.sleep(3)
        # A client that disconnects leaves the walk for the others to continue.
        with socket.create_connection(("127.0.0.1", self.server.http_port), 20) as leaver:
            leaver.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with concurrent.futures.ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda _: self.server.get(target), range(20)))
        self.assertEqual({status for status, _ in answers}, {200})
        self.assertEqual({answer["found"] for _, answer in answers}, {20_000})
        self.assertLess(self.lock_pages_read() - pages_of_a_walk, 6 * pages_of_a_walk)

    def test_minutes_tell_what_happened(self):
        self.own.ask("LOCK", "k", "o")
        self.own.ask("LOCK", "k", "p")
        waiter = self.wait_in_line("k", "q")
        status, minutes = self.server.get("/api/v1/minutes?minutes=5")
        self.assertEqual(status, 200)
        self.assertEqual({len(column) for column in minutes.values()}, {1})
        now = {name: column[-1] for name, column in minutes.items()}
        self.assertEqual((now["granted"], now["denied"], now["waiting"], now["held"]), (1, 1, 1, 1))
        self.assertLess(abs(now["at"] / 1000 + now["span_ms"] / 1000 - time.time()), 10)
        waiter.close()

    def test_one_lock_shows_its_holders_and_its_line(self):
        key = 'a/b ?"\u00e9<img src=x>'
        token = self.own.ask("LOCK", key, "me", "EX", 100, "META", "{}")
        self.wait_in_line(key, "you")
        path = "/api/v1/locks/0/" + "".join(f"%{byte:02x}" for byte in key.encode())
        status, lock = self.server.get(path)
        self.assertEqual((status, lock["key"], lock["db"], lock["waiters"]), (200, key, 0, 1))
        self.assertEqual(lock["holders"][0]["token"], token)
        self.assertEqual(lock["holders"][0]["meta"], "{}")
        self.assertEqual([place["owner"] for place in lock["line"]], ["you"])
        self.assertEqual(self.server.get(path + "/line?start=1")[1], {"line": []})

    def test_bytes_that_are_no_text_can_be_asked_for(self):
        self.own.ask("LOCK", b"k\xff\x00", "o")
        _, page = self.server.get("/api/v1/locks")
        self.assertEqual(page["locks"][0]["key_base64"], "a/8A")
        _, lock = self.server.get("/api/v1/locks/0/k%ff%00")
        self.assertEqual(lock["holders"][0]["owner"], "o")
        status, answer = self.server.post("/api/v1/break", {"key_base64": "a/8A"})
        self.assertEqual((status, answer), (200, {"broken": 1}))

    def test_a_lock_of_many_shows_some_and_says_how_many(self):
        self.own.send(b"".join(resp.request("LOCK", "k", f"o{number}", "LIMIT", 1000)
                               for number in range(1000)))
        for _ in range(1000):
            self.own.reply()
        _, lock = self.server.get("/api/v1/locks/0/k")
        self.assertEqual([holder["owner"] for holder in lock["holders"]],
                         [f"o{number}" for number in range(100)])
        self.assertEqual(lock["holder_count"], 1000)

    def test_databases_are_apart(self):
        with self.server.connect() as other:
            other.ask("SELECT", 5)
            other.ask("LOCK", "k", "five")
        self.assertEqual(self.server.get("/api/v1/locks/0/k")[1]["holders"], [])
        self.assertEqual(self.server.get("/api/v1/locks/5/k")[1]["holders"][0]["owner"], "five")
        self.assertEqual(self.server.get("/api/v1/locks?db=0")[1]["locks"], [])
        self.assertEqual(self.server.get("/api/v1/locks")[1]["locks"][0]["db"], 5)
        self.assertEqual(self.server.get("/api/v1/locks/16/k")[0], 400)

    def test_what_happened_is_told(self):
        self.own.ask("LOCK", "k", "o", "LABEL", "shop")
        self.own.ask("UNLOCK", "k", "o")
        _, answer = self.server.get("/api/v1/history?key=k")
        self.assertEqual([event["event"] for event in answer["history"]["events"]],
                         ["released", "granted"])
        _, answer = self.server.get("/api/v1/statistics?label=shop")
        self.assertEqual(answer["statistics"]["labels"][0]["acquired"], 1)

    def test_the_past_comes_page_by_page_also_within_a_millisecond(self):
        # Takes the locks in one step, so that all have the same time.
        self.own.ask("MULTI")
        for number in range(300):
            self.own.ask("LOCK", f"k{number}", "o")
        self.own.ask("EXEC")
        self.own.ask("LOCK", "later", "o")
        keys = []
        before = 0
        for _ in range(20):
            page = self.server.get(f"/api/v1/history?count=40&before={before}")[1]["history"]
            self.assertLessEqual(len(page["events"]), 40)
            keys += [event["key"] for event in page["events"]]
            before = page["next_before"]
            if before is None:
                break
        self.assertEqual(keys, ["later"] + [f"k{number}" for number in reversed(range(300))])

    def test_a_key_that_is_a_star_is_that_key(self):
        self.own.ask("LOCK", "*", "o")
        self.own.ask("LOCK", "other", "o")
        _, answer = self.server.get("/api/v1/history?key=*")
        self.assertEqual([event["key"] for event in answer["history"]["events"]], ["*"])

    def test_what_is_waited_for_is_told_as_it_is(self):
        self.own.ask("LOCK", "a \\x20b", "me")
        self.wait_in_line("a \\x20b", "you")
        _, page = self.server.get("/api/v1/clients?waiting=true")
        self.assertEqual([client["wait-key"] for client in page["clients"]], ["a \\x20b"])
        self.own.ask("LOCK", b"k\xff\x00", "me")
        self.wait_in_line(b"k\xff\x00", "you")
        _, page = self.server.get("/api/v1/clients?waiting=true")
        self.assertEqual(page["clients"][1]["wait-key_base64"], "a/8A")

    def test_connections_over_http_are_counted_apart(self):
        self.own.ask("PING")
        body = self.server.ask("GET", "/metrics")[2]
        self.assertIn(b"\nfairlock_connections 1\n", body)
        self.assertIn(b"\nfairlock_http_connections 1\n", body)

    def test_it_is_not_ready_while_no_lock_can_be_taken(self):
        for options, word in ((("--max-memory", "1mb"), b"OOM "),
                              (("--min-free-disk", "1024gb", "--durability", "async"),
                               b"STORAGE ")):
            with self.subTest(word), HttpServer(*options) as server, server.connect() as own:
                give_up = time.monotonic() + 20
                while not str(own.ask("LOCK", "k", "o")).startswith(word.decode()):
                    own.ask("UNLOCK", "k", "o")
                    self.assertLess(time.monotonic(), give_up)
                status, _, body = server.ask("GET", "/readyz")
                self.assertEqual((status, body[:len(word)]), (503, word))
                self.assertIn(b"\nfairlock_ready 0\n", server.ask("GET", "/metrics")[2])

    def test_clients_and_settings_are_listed(self):
        self.own.ask("CLIENT", "SETNAME", "worker")
        _, answer = self.server.get("/api/v1/clients")
        self.assertIn("worker", [client["name"] for client in answer["clients"]])
        _, answer = self.server.get("/api/v1/settings")
        self.assertEqual(answer["settings"]["http_port"], str(self.server.http_port))
        options = {option["name"]: option for option in answer["options"]}
        self.assertEqual(len(options), len(answer["options"]))
        self.assertEqual(options["http_port"]["value"], str(self.server.http_port))
        self.assertEqual(options["http_port"]["default"], "3248")
        self.assertFalse(options["http_port"]["changeable"])
        self.assertEqual(options["max_clients"]["redis_name"], "maxclients")
        self.assertNotIn("maxclients", options)
        status, answer = self.server.get("/api/v1/status")
        self.assertEqual((status, answer["locks"]["locks"]), (200, 0))

    def test_clients_come_page_by_page(self):
        others = [self.enterContext(self.server.connect()) for _ in range(250)]
        others[7].ask("CLIENT", "SETNAME", "12345")
        self.own.ask("LOCK", "k", "me")
        self.wait_in_line("k", "you")
        found = []
        after = 0
        for _ in range(10):
            _, page = self.server.get(f"/api/v1/clients?count=120&after={after}")
            found += page["clients"]
            after = page["next"]
            if after == 0:
                break
        self.assertEqual(len(found), len({client["id"] for client in found}))
        self.assertGreaterEqual(len(found), 252)
        self.assertIn("12345", [client["name"] for client in found])
        _, page = self.server.get("/api/v1/clients?waiting=true")
        self.assertEqual([client["wait-key"] for client in page["clients"]], ["k"])

    def test_what_is_wrong_is_said(self):
        for target, status, text in (
                ("/api/v1/locks?foo=1", 400,
                 "unknown parameter 'foo'; this route takes match, db, "),
                ("/api/v1/locks?count=0", 400, "count must be from 1 to 1000"),
                ("/api/v1/locks?count=x", 400, "count must be a whole number, got 'x'"),
                ("/api/v1/locks?sort=size", 400,
                 "sort must be one of wait, hold, waiters, holders"),
                ("/api/v1/locks?waiting=abc", 400,
                 "waiting must be a duration such as 250, 10s or 5m, got 'abc'"),
                ("/api/v1/locks?waiting=NOEXPIRY", 400, "5m, got 'NOEXPIRY'"),
                ("/api/v1/locks?waiting=", 400, "5m, got ''"),
                ("/api/v1/locks?held=5y", 400, "5y"),
                ("/api/v1/locks?db=1&db=2", 400, "db is given twice"),
                ("/api/v1/history?count=501", 400, "count must be from 1 to 500"),
                ("/api/v1/history?before=-1", 400,
                 "before must be the next_before of the previous page"),
                ("/api/v1/history?since=noon", 400, "since is 'noon'; it must be a time: Unix mil"),
                ("/api/v1/history?until=-1", 400, "until is '-1'; it must be a time: Unix mil"),
                ("/api/v1/history?db=16", 400, "0 to 15, or * for all"),
                ("/api/v1/history?event=burst", 400, "event is 'burst'; allowed values"),
                ("/api/v1/history?event=granted,,broken", 400, "event is 'granted,,broken'"),
                ("/api/v1/history?key=k&match=k*", 400, "give neither match nor db=*"),
                ("/api/v1/history?key=k&db=*", 400, "give neither match nor db=*"),
                ("/api/v1/history?match=" + 1025 * "x", 400, "match has 1025 bytes"),
                ("/api/v1/locks/0/k/line?count=501", 400, "count must be from 1 to 500"),
                ("/api/v1/clients?count=201", 400, "count must be from 1 to 200"),
                ("/api/v1/events", 426, "the Upgrade: websocket header is missing"),
                ("/api/v1/nothing", 404, "nothing at this path"),
                ("/api/v1/break", 405, "this path takes POST")):
            with self.subTest(target):
                came, answer = self.server.get(target)
                self.assertEqual(came, status)
                self.assertIn(text, answer["error"]["message"])

    def test_metrics_are_bounded_and_well_formed(self):
        for number in range(2000):
            self.own.ask("LOCK", f"secret-key-{number}", f"secret-owner-{number}", "LABEL",
                         f"label{number}")
        status, headers, body = self.server.ask("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertLess(len(body), 64 * 1024)
        self.assertNotIn(b"secret", body)
        self.assertIn(b"\nfairlock_grants_total 2000\n", body)
        checked = subprocess.run(["promtool", "check", "metrics"], input=body, check=False,
                                 capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))


class Steering(WithServer):

    def test_a_broken_lock_goes_to_the_next_in_line(self):
        self.own.ask("LOCK", "k", "me", "EX", 100)
        waiter = self.wait_in_line("k", "you")
        status, answer = self.server.post("/api/v1/break", {"key": "k", "reason": "stuck"})
        self.assertEqual((status, answer), (200, {"broken": 1}))
        self.assertIsInstance(waiter.reply(), int)
        _, answer = self.server.get("/api/v1/history?key=k")
        broken = [event for event in answer["history"]["events"] if event["event"] == "broken"]
        self.assertEqual(broken[0]["comment"], "stuck")
        self.assertIn("127.0.0.1:", broken[0]["by"])

    def test_it_waits_until_what_it_tells_is_kept(self):
        for mode in ("async", "sync"):
            with HttpServer("--durability", mode, "--data-dir", "data") as server:
                while server.ask("GET", "/readyz")[0] == 503:
                    time.sleep(0.01)
                with server.connect() as own:
                    own.ask("LOCK", "k", "me", "EX", 100)
                self.assertEqual(server.get("/api/v1/locks/0/k")[1]["holders"][0]["owner"], "me")
                self.assertEqual(server.post("/api/v1/break", {"key": "k"}), (200, {"broken": 1}))
                self.assertEqual(server.get("/api/v1/locks/0/k")[1]["holders"], [])

    def test_many_are_broken_by_pattern_and_a_dry_run_only_tells(self):
        for number in range(1200):
            self.own.ask("LOCK", f"job:{number}", "o")
        self.own.ask("LOCK", "other", "o")
        status, answer = self.server.post("/api/v1/break-matching",
                                          {"match": "job:*", "dry_run": True})
        self.assertEqual((status, answer["dry_run"], answer["locks"], answer["broken"]),
                         (200, True, 1200, 1200))
        self.assertEqual(len(answer["keys"]), 100)
        self.assertEqual(self.own.ask("LOCKED", "job:7"), 1)
        status, answer = self.server.post("/api/v1/break-matching", {"match": "job:*"})
        self.assertEqual((status, answer["broken"]), (200, 1200))
        self.assertEqual(self.own.ask("LOCKED", "job:7"), 0)
        self.assertEqual(self.own.ask("LOCKED", "other"), 1)

    def test_a_place_is_cancelled(self):
        self.own.ask("LOCK", "k", "me")
        waiter = self.wait_in_line("k", "you")
        self.assertEqual(self.server.post("/api/v1/cancel", {"key": "k", "owner": "you"}),
                         (200, {"cancelled": 1}))
        self.assertRegex(waiter.reply(), "^CANCELLED")

    def test_limits_are_set_and_deleted(self):
        limit = {"pattern": "k*", "limit": 0, "seconds": 60, "reason": "quiet"}
        self.assertEqual(self.server.post("/api/v1/limits/set", limit)[0], 200)
        self.assertEqual(self.own.ask("LOCK", "k1", "o"), None)
        _, answer = self.server.get("/api/v1/limits")
        self.assertEqual((answer["limits"][0]["pattern"], answer["limits"][0]["reason"]),
                         ("k*", "quiet"))
        self.assertEqual(self.server.post("/api/v1/limits/delete", {"pattern": "k*"})[0], 200)
        self.assertIsInstance(self.own.ask("LOCK", "k1", "o"), int)

    def test_clients_are_killed_and_settings_changed(self):
        number = self.own.ask("CLIENT", "ID")
        self.assertEqual(self.server.post("/api/v1/clients/kill", {"id": number}),
                         (200, {"killed": 1}))
        self.assertEqual(self.own.rest(), b"")
        status, _ = self.server.post("/api/v1/settings",
                                     {"name": "default_lease", "value": "5s"})
        self.assertEqual(status, 200)
        self.assertEqual(self.server.get("/api/v1/settings")[1]["settings"]["default_lease"], "5s")
        status, answer = self.server.post("/api/v1/settings", {"name": "port", "value": "1"})
        self.assertEqual((status, answer["error"]["code"]), (400, "ERR"))

    def test_a_password_is_for_nobody_and_shuts_who_only_looks_out(self):
        self.assertEqual(self.server.get("/api/v1/settings")[1]["settings"]["requirepass"], "")
        self.own.ask("CONFIG", "SET", "requirepass", "top-secret")
        looked_at = ("settings", "status", "locks", "clients", "history?key=k", "minutes",
                     "statistics", "limits", "openapi.json")
        for path in looked_at:
            status, _, body = self.server.ask("GET", "/api/v1/" + path)
            self.assertEqual(status, 401, path)
            self.assertNotIn(b"top-secret", body)
        for path in ("/healthz", "/readyz", "/metrics", "/"):
            self.assertEqual(self.server.ask("GET", path)[0], 200, path)
        status, answer = self.server.get("/api/v1/settings", token=TOKEN)
        self.assertEqual(status, 200)
        self.assertEqual(answer["settings"]["requirepass"], "(hidden)")

    def test_nobody_steers_without_the_token(self):
        self.own.ask("LOCK", "k", "me")
        for token in (None, "", "wrong", TOKEN + "x", TOKEN[:-1]):
            status, answer = self.server.post("/api/v1/break", {"key": "k"}, token=token)
            self.assertEqual((status, answer["error"]["code"]), (401, "NOAUTH"))
        self.assertEqual(self.own.ask("LOCKED", "k"), 1)

    def test_without_a_token_file_nobody_steers_at_all(self):
        with HttpServer(with_token=False) as server:
            status, answer = server.post("/api/v1/break", {"key": "k"})
            self.assertEqual(status, 403)
            self.assertIn("http_token_file is not set", answer["error"]["message"])

    def test_bodies_that_are_wrong_are_explained(self):
        for body, text in ((b"", "not a JSON object"), (b"[]", "not a JSON object"),
                           (b"{", "not a JSON object"), (b"{}", "key is missing"),
                           (b'{"key":[]}', "key must be a string, a number or a boolean"),
                           (b'{"key":"k","key":"k"}', ""),
                           (b'{"key_base64":"?"}', "key_base64 is not base64"),
                           (b'{"key":"k","x":1}', "unknown parameter 'x'")):
            with self.subTest(body):
                status, _, answer = self.server.ask("POST", "/api/v1/break", body, token=TOKEN,
                                                    headers={"Content-Type": "application/json"})
                if text:
                    self.assertEqual(status, 400)
                    self.assertIn(text, json.loads(answer)["error"]["message"])
        status, _, _ = self.server.ask("POST", "/api/v1/break", b"key=k", token=TOKEN, headers={
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(status, 415)


class Strangers(WithServer):

    def test_who_was_led_here_under_another_name_is_refused(self):
        status, answer = self.server.get("/api/v1/locks", headers={"Host": "evil.example"})
        self.assertEqual(status, 421)
        self.assertIn("http_hosts", answer["error"]["message"])
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80", "10.0.0.1"):
            self.assertEqual(self.server.get("/api/v1/locks", headers={"Host": host})[0], 200)
        # The system's resolver accepts it as an address, but RFC 3986 does not.
        self.assertEqual(self.server.get("/api/v1/locks", headers={"Host": "127.1"})[0], 421)

    def test_a_request_without_one_valid_host_is_refused_and_ends_the_connection(self):
        for target in ("/api/v1/locks", "/healthz", "/metrics", "/", "/api/v1/events?match=*"):
            for headers in ("Host: localhost\r\nHost: evil.example\r\n",
                            "Host: evil.example\r\nHost: localhost\r\n",
                            "Host: localhost\r\nHost: localhost\r\n",
                            "Host: [evil]\r\n", "Host: [evil]:80\r\n", "Host: me@127.0.0.1\r\n",
                            "Host: 127.0.0.1:port\r\n", "Host: 127.0.0.1/\r\n",
                            "Host: localhost, evil.example\r\n", "Host:\r\n", "",
                            "Host: localhost\r\nOrigin: http://localhost\r\n"
                            "Origin: http://evil.example\r\n",
                            "Host: localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                            "Sec-WebSocket-Version: 13\r\nHost: localhost\r\n"):
                with self.subTest(target=target, headers=headers):
                    # The response ends when the server closes, although the request does not ask
                    # for that.
                    self.assertEqual(self.send(f"GET {target} HTTP/1.1\r\n{headers}\r\n".encode()),
                                     b"HTTP/1.1 400 Bad Request")

    def test_pages_from_elsewhere_are_refused(self):
        status, answer = self.server.get("/api/v1/locks",
                                         headers={"Origin": "http://evil.example"})
        self.assertEqual((status, answer["error"]["code"]), (403, "NOPERM"))
        own = f"127.0.0.1:{self.server.http_port}"
        status, _ = self.server.get("/api/v1/locks",
                                    headers={"Host": own, "Origin": "http://" + own})
        self.assertEqual(status, 200)

    def send(self, data):
        with socket.create_connection(("127.0.0.1", self.server.http_port), 20) as stream:
            stream.sendall(data)
            answer = b""
            while piece := stream.recv(65536):
                answer += piece
            return answer.split(b"\r\n")[0]

    def test_what_is_too_large_or_no_http_is_refused(self):
        head = b"POST /api/v1/break HTTP/1.1\r\nHost: localhost\r\n"
        self.assertEqual(self.send(b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"),
                         b"HTTP/1.1 431 Request Header Fields Too Large")
        self.assertEqual(self.send(head + b"Content-Length: 1000000\r\n\r\n"),
                         b"HTTP/1.1 413 Payload Too Large")
        self.assertEqual(self.send(b"*1\r\n$4\r\nPING\r\n"), b"HTTP/1.1 400 Bad Request")
        self.assertEqual(self.own.ask("PING"), "PONG")

    def test_an_open_address_needs_a_token(self):
        ended = subprocess.run(
            [PROGRAM, "--port", str(free_port()), "--http-port", str(free_port()), "--http-bind",
             "0.0.0.0"], capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("give --http-token-file too, or bind to 127.0.0.1", ended.stderr)
        with HttpServer("--http-bind", "0.0.0.0") as server:
            self.assertEqual(server.get("/api/v1/locks")[0], 401)
            self.assertEqual(server.get("/api/v1/locks", token=TOKEN)[0], 200)
            self.assertEqual(server.ask("GET", "/metrics")[0], 200)

    def test_a_stop_does_not_wait_for_them(self):
        with socket.create_connection(("127.0.0.1", self.server.http_port), 20):
            begin = time.monotonic()
            self.assertEqual(self.server.stop(), 0)
            self.assertLess(time.monotonic() - begin, 10)


if __name__ == "__main__":
    unittest.main()
