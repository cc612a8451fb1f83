"""Users over HTTP: a user has the same permissions as when using commands."""

import asyncio
import base64
import contextlib
import http.client
import json
import socket
import threading
import time
import unittest

import websockets

import resp
from http_server import HttpServer, TOKEN
from own_server import hash_of

USERS = """
user default on >default-pw ~* &* +@all
user boss on >boss-pw ~* &* +@all
user shop on >shop-pw ~order:* {channels} +@read +@lock +psubscribe
user look on >look-pw %R~* &* +@read +@connection
user keyed on >keyed-pw ~order:* &* +@all
user open on nopass ~* &* +@all
user gone off >gone-pw ~* &* +@all
"""


def basic(user, password):
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": "Basic " + text}


BOSS = basic("boss", "boss-pw")
SHOP = basic("shop", "shop-pw")
LOOK = basic("look", "look-pw")
KEYED = basic("keyed", "keyed-pw")


class Users(unittest.TestCase):

    def setUp(self):
        self.server = HttpServer("--max-failed-log-ins", "0", with_token=False)
        users = self.server.directory / "users.acl"
        channels = " ".join(f"&__lock@{n}__:order:*" for n in (0, 3))
        users.write_text(USERS.format(channels=channels))
        self.server.options = [*self.server.options, "--acl-file", str(users)]
        self.users = users
        self.enterContext(self.server)
        self.own = self.enterContext(self.server.connect())
        self.own.ask("AUTH", "boss", "boss-pw")

    def get(self, target, headers):
        status, answer = self.server.get("/api/v1/" + target, headers=headers)
        return status, answer

    def post(self, target, body, headers):
        return self.server.post("/api/v1/" + target, body, token=None, headers=headers)

    def test_a_user_steers_with_his_password_and_without_any_token(self):
        self.own.ask("LOCK", "order:1", "me")
        status, answer = self.post("break", {"key": "order:1", "reason": "test"}, BOSS)
        self.assertEqual((status, answer["broken"]), (200, 1), answer)
        self.assertEqual(self.own.ask("LOCKED", "order:1"), 0)
        broken = self.own.ask("HISTORY", "order:1")
        self.assertIn("broken", str(broken))

    def test_who_is_not_who_he_says_learns_nothing(self):
        nobody = ({}, basic("boss", "shop-pw"), basic("boss", ""), basic("nobody", "x"),
                  basic("gone", "gone-pw"), basic("open", ""), basic("open", "x"),
                  {"Authorization": "Basic"}, {"Authorization": "Basic ?"},
                  {"Authorization": "Basic " + base64.b64encode(b"boss").decode()},
                  {"Authorization": "Bearer "}, {"Authorization": "Bearer boss-pw"})
        for headers in nobody:
            with self.subTest(headers):
                for path in ("status", "locks", "settings"):
                    status, answer = self.get(path, headers)
                    self.assertEqual(status, 401, answer)
                    self.assertEqual(list(answer), ["error"])
                self.assertEqual(self.server.ask("GET", "/healthz", headers=headers)[0], 200)

    def test_a_limited_user_may_what_he_may_by_commands(self):
        for key in ("order:1", "stock:1"):
            self.own.ask("LOCK", key, "me", "LABEL", "x")
        may = ("locks/0/order:1", "locks/0/order:1/line", "history?key=order:1")
        for path in may:
            self.assertEqual(self.get(path, SHOP)[0], 200, path)
        may_not = ("locks/0/stock:1", "locks/0/stock:1/line", "history", "history?key=stock:1",
                   "history?key=*", "settings", "clients", "clients?waiting=true", "limits",
                   "statistics", "statistics?label=x")
        for path in may_not:
            status, answer = self.get(path, SHOP)
            self.assertEqual((status, answer["error"]["code"]), (403, "NOPERM"), path)
            self.assertEqual(self.get(path, BOSS)[0], 200, path)
        for target, body in (("break", {"key": "order:1"}), ("break", {"key": "stock:1"}),
                             ("settings", {"name": "default_lease", "value": "5s"}),
                             ("clients/kill", {"id": 1}),
                             ("limits/set", {"pattern": "order:*", "limit": 0})):
            status, answer = self.post(target, body, SHOP)
            self.assertEqual((status, answer["error"]["code"]), (403, "NOPERM"), target)
        self.assertEqual(self.own.ask("LOCKED", "order:1"), 1)

    def test_a_user_learns_what_he_may_change(self):
        everything = ["break", "cancel", "limits", "clients", "settings"]
        for headers, user, may in ((BOSS, "boss", everything),
                                   (SHOP, "shop", ["cancel"]), (LOOK, "look", [])):
            status, answer = self.get("access", headers)
            self.assertEqual((status, answer), (200, {"user": user, "may": may}))
        for headers in ({}, basic("boss", "wrong"), basic("gone", "gone-pw")):
            self.assertEqual(self.get("access", headers)[0], 401, headers)

    def test_a_search_of_all_databases_needs_all_keys(self):
        self.own.ask("LOCK", "order:1", "me")
        for path in ("history?db=*", "history?match=order:*", "history?db=*&match=order:*",
                     "history?event=granted"):
            status, answer = self.get(path, SHOP)
            self.assertEqual((status, answer["error"]["code"]), (403, "NOPERM"), path)
            self.assertEqual(self.get(path, LOOK)[0], 200, path)

    def test_no_route_shows_locks_of_others_to_a_user_of_few_keys(self):
        friend = self.enterContext(self.server.connect())
        friend.ask("AUTH", "boss", "boss-pw")
        friend.ask("LOCK", "order:1", "me")
        self.own.ask("CLIENT", "SETNAME", "hushed-client")
        for command in (["LOCK", "stock:hushed", "hushed-owner", "LABEL", "hushed-label"],
                        ["LOCK", "stock:broken-hushed", "hushed-owner"],
                        ["BREAK", "stock:broken-hushed", "REASON", "hushed-reason"],
                        ["LIMIT", "SET", "stock:hushed*", "3"]):
            self.own.ask(*command)
        routes = self.get("openapi.json", BOSS)[1]["paths"]
        asked = [path.replace("{db}", "0").replace("{key}", "order:1")
                 for path, verbs in routes.items() if "get" in verbs]
        asked += ["/api/v1/locks?sort=hold", "/api/v1/locks?match=*&count=1000",
                  "/api/v1/locks?label=hushed-label", "/api/v1/locks?owner=hushed-owner"]
        # Monitoring systems may read this page without logging in.
        asked.remove("/metrics")
        self.assertGreater(len(asked), 12)
        for path in asked:
            with self.subTest(path):
                _, _, body = self.server.ask("GET", path, headers=KEYED)
                self.assertNotIn(b"hushed", body)
        # The names exist: an unlimited user sees them.
        for path in ("/api/v1/locks", "/api/v1/status", "/api/v1/statistics", "/api/v1/history",
                     "/api/v1/clients", "/api/v1/limits"):
            self.assertIn(b"hushed", self.server.ask("GET", path, headers=BOSS)[2], path)

    def test_each_route_refuses_as_its_command_does(self):
        with self.server.connect() as shop:
            shop.ask("AUTH", "shop", "shop-pw")
            for path, command in (("status", ["INFO"]), ("minutes", ["INFO"]),
                                  ("statistics", ["STATS"]), ("locks", ["LOCKS", "0"]),
                                  ("locks?sort=wait", ["LOCKS", "0"]),
                                  ("clients", ["CLIENT", "LIST"]), ("limits", ["LIMIT", "LIST"]),
                                  ("cluster", ["CLUSTER", "STATUS"]),
                                  ("settings", ["CONFIG", "GET", "*"]),
                                  ("history", ["HISTORY", "*"])):
                reply = shop.ask(*command)
                is_denied = isinstance(reply, str) and reply.startswith("NOPERM")
                status, answer = self.get(path, SHOP)
                self.assertEqual(status, 403 if is_denied else 200, (path, reply, answer))

    def test_who_only_reads_changes_nothing(self):
        self.own.ask("LOCK", "order:1", "me")
        self.assertEqual(self.get("locks?sort=hold", LOOK)[0], 200)
        self.assertEqual(self.get("history", LOOK)[0], 200)
        self.assertEqual(self.post("break", {"key": "order:1"}, LOOK)[0], 403)
        self.assertEqual(self.post("break-matching", {"match": "*"}, LOOK)[0], 403)
        self.assertEqual(self.own.ask("LOCKED", "order:1"), 1)

    def test_each_request_of_a_connection_says_who_makes_it(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=20)
        self.addCleanup(connection.close)

        def status_of(headers):
            connection.request("GET", "/api/v1/settings", headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

        self.assertEqual([status_of(headers) for headers in (BOSS, {}, SHOP, {}, BOSS)],
                         [200, 401, 403, 401, 200])

    def test_a_slow_hash_is_compared_once_and_holds_up_nobody(self):
        self.users.write_text(self.users.read_text() +
                              f"user slow on {hash_of('slow-pw')} ~* &* +@all\n")
        self.assertEqual(self.own.ask("ACL", "LOAD"), "OK")
        answers = []
        headers = basic("slow", "slow-pw")
        asking = [threading.Thread(
            target=lambda: answers.append(self.get("settings", headers)[0])) for _ in range(5)]
        for thread in asking:
            thread.start()
        pings = 0
        while any(thread.is_alive() for thread in asking):
            self.assertEqual(self.own.ask("PING"), "PONG")
            pings += 1
        self.assertEqual(answers, [200] * 5)
        # If the loop compared the hash itself, one or two would be answered for each request.
        self.assertGreater(pings, 20)
        self.assertEqual(self.get("settings", basic("slow", "wrong"))[0], 401)

    def test_too_many_wrong_passwords(self):
        self.own.ask("CONFIG", "SET", "max_failed_log_ins", "5")
        statuses = [self.get("settings", basic("boss", f"wrong{n}"))[0] for n in range(7)]
        self.assertEqual(statuses[0], 401)
        self.assertEqual(statuses[-1], 429)
        self.assertEqual(self.get("settings", BOSS)[0], 429)

    def test_a_user_that_goes_away(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/locks", headers=LOOK)
        self.assertEqual(connection.getresponse().read()[:8], b'{"locks"')
        lines = self.users.read_text().splitlines()
        self.users.write_text("\n".join(line for line in lines if "user look" not in line) + "\n")
        self.assertEqual(self.own.ask("ACL", "LOAD"), "OK")
        self.assertEqual(self.get("locks", LOOK)[0], 401)

    def events_of(self, headers, match, act, wanted):
        async def watch():
            found = []
            url = f"ws://127.0.0.1:{self.server.http_port}/api/v1/events?match={match}"
            async with websockets.connect(url, extra_headers=headers) as socket_:
                thread = threading.Thread(target=act)
                thread.start()
                while len(found) < wanted:
                    found += json.loads(await asyncio.wait_for(socket_.recv(), 20))
                thread.join()
            return [event["key"] for event in found]

        return asyncio.run(watch())

    def test_events_are_for_who_may_hear_them(self):
        def act():
            self.own.ask("LOCK", "stock:1", "me")
            self.own.ask("LOCK", "order:1", "me")

        self.assertEqual(self.events_of(BOSS, "*", act, 2), ["stock:1", "order:1"])
        self.own.ask("UNLOCK", "order:1", "me")
        self.own.ask("UNLOCK", "stock:1", "me")
        self.assertEqual(self.events_of(SHOP, "order:*", act, 1), ["order:1"])
        self.own.ask("CONFIG", "SET", "max_subscriptions", "1")
        for headers, match, status in ((SHOP, "order:*", 503), (SHOP, "*", 403),
                                       (SHOP, "stock:1", 403), ({}, "*", 401),
                                       (basic("shop", "x"), "order:*", 401)):
            with self.assertRaises(websockets.exceptions.InvalidStatusCode) as refused:
                self.events_of(headers, match, act, 1)
            self.assertEqual(refused.exception.status_code, status)


    def test_what_may_be_broken_is_broken_and_the_rest_stays(self):
        for key in ("order:1", "order:2", "stock:1"):
            self.own.ask("LOCK", key, "me")
        self.users.write_text(self.users.read_text() + "user part on >p ~order:* %R~* +@all\n")
        self.assertEqual(self.own.ask("ACL", "LOAD"), "OK")
        for is_dry_run in (True, False):
            status, answer = self.post("break-matching", {"match": "*", "dry_run": is_dry_run},
                                       basic("part", "p"))
            self.assertEqual((status, answer["locks"], answer["broken"]), (200, 2, 2))
        self.assertEqual(self.own.ask("LOCKED", "stock:1"), 1)
        status, _ = self.post("break-matching", {"match": "stock:*"}, basic("part", "p"))
        self.assertEqual(status, 403)

    def test_a_connection_is_nobodys_between_requests(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=20)
        self.addCleanup(connection.close)
        for headers in (LOOK, BOSS):
            connection.request("GET", "/api/v1/locks", headers=headers)
            self.assertEqual(connection.getresponse().read()[:8], b'{"locks"')
            self.assertNotIn(b"user=look", self.own.ask("CLIENT", "LIST"))
            lines = self.users.read_text().splitlines()
            self.users.write_text(
                "\n".join(line for line in lines if "user look" not in line) + "\n")
            self.assertEqual(self.own.ask("ACL", "LOAD"), "OK")

    def test_log_ins_are_not_made_where_nobody_is_asked(self):
        self.own.ask("CONFIG", "SET", "max_failed_log_ins", "3")
        wrong = basic("boss", "wrong")
        for _ in range(10):
            for path in ("/healthz", "/metrics", "/", "/nothing/here"):
                self.server.ask("GET", path, headers=wrong)
            for strange in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                status, _, _ = self.server.ask("GET", "/api/v1/status",
                                               headers={**wrong, **strange})
                self.assertIn(status, (403, 421))
        self.assertEqual(self.get("status", BOSS)[0], 200)

    def test_users_without_password_are_as_if_there_were_none(self):
        texts = {self.get("status", basic(user, "x"))[1]["error"]["message"]
                 for user in ("open", "gone", "nobody", "boss")}
        self.assertEqual(len(texts), 1)

    def test_who_is_killed_while_his_password_is_compared_is_gone(self):
        self.users.write_text(self.users.read_text() +
                              f"user slow on {hash_of('slow-pw')} ~* &* +@all\n")
        self.assertEqual(self.own.ask("ACL", "LOAD"), "OK")
        request = "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\n\r\n"
        with contextlib.ExitStack() as stack:
            asking = [stack.enter_context(
                socket.create_connection(("127.0.0.1", self.server.http_port), 20))
                for _ in range(10)]
            for number, stream in enumerate(asking):
                header = basic("slow", f"wrong-{number}")["Authorization"]
                stream.sendall(request.format(header).encode())
            time.sleep(0.005)
            self.own.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            for stream in asking:
                with contextlib.suppress(ConnectionError):
                    stream.recv(65536)
        give_up = time.monotonic() + 20
        while b"name=http" in self.own.ask("CLIENT", "LIST"):
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.01)

    def test_a_walk_under_way_ends_when_the_users_change(self):
        for number in range(20_000):
            self.own.send(resp.request("LOCK", f"order:{number}", "me", "EX", "100"))
        for _ in range(20_000):
            self.own.reply()
        is_over = threading.Event()

        def change():
            while not is_over.is_set():
                self.assertEqual(self.own.ask("ACL", "LOAD"), "OK")

        changing = threading.Thread(target=change)
        changing.start()
        try:
            for _ in range(1000):
                status, answer = self.get("locks?sort=hold&count=1", SHOP)
                if status != 200:
                    break
                self.assertEqual(answer["found"], 20_000)
        finally:
            is_over.set()
            changing.join()
        self.assertEqual((status, answer["error"]["code"]), (503, "TRYAGAIN"))
        self.assertEqual(self.get("locks?sort=hold&count=1", SHOP)[1]["found"], 20_000)


class Open(unittest.TestCase):
    """All clients may do everything; a proxy adds credentials of its own users."""

    def setUp(self):
        self.server = self.enterContext(HttpServer())
        self.own = self.enterContext(self.server.connect())

    def test_whom_nobody_asks_may_say_anything(self):
        for headers in (basic("proxy", "x"), basic("default", "x"), {"Authorization": "Basic ?"}):
            self.assertEqual(self.server.get("/api/v1/status", headers=headers)[0], 200)
            status, _ = self.server.post("/api/v1/break", {"key": "k"}, token=None,
                                         headers=headers)
            self.assertEqual(status, 401)

    def test_who_watches_goes_on_when_a_password_comes(self):
        async def watch():
            url = f"ws://127.0.0.1:{self.server.http_port}/api/v1/events"
            async with websockets.connect(url) as socket_:
                self.own.ask("LOCK", "k", "me")
                await asyncio.wait_for(socket_.recv(), 20)
                self.own.ask("CONFIG", "SET", "requirepass", "top-secret")
                self.own.ask("UNLOCK", "k", "me")
                self.own.ask("LOCK", "k", "me")
                return await asyncio.wait_for(socket_.recv(), 5)

        # The connection keeps its user, as with RESP, and receives what that user may receive.
        self.assertIn("released", asyncio.run(watch()))


    def test_who_watches_is_closed_when_he_may_not_any_more(self):
        users = self.server.directory / "users.acl"
        users.write_text("user default on nopass ~* &* +@all\nuser boss on >b ~* &* +@all\n")
        with HttpServer("--acl-file", str(users)) as server, server.connect() as boss:
            boss.ask("AUTH", "boss", "b")

            async def watch():
                url = f"ws://127.0.0.1:{server.http_port}/api/v1/events"
                async with websockets.connect(url) as socket_:
                    users.write_text("user default off\nuser boss on >b ~* &* +@all\n")
                    self.assertEqual(boss.ask("ACL", "LOAD"), "OK")
                    boss.ask("LOCK", "secret", "me")
                    await asyncio.wait_for(socket_.recv(), 20)

            with self.assertRaises(websockets.exceptions.ConnectionClosed):
                asyncio.run(watch())


class Token(unittest.TestCase):

    def test_events_with_the_token_when_there_is_a_password(self):
        with HttpServer("--requirepass", "top-secret") as server:
            own = self.enterContext(server.connect())
            own.ask("AUTH", "top-secret")

            async def watch():
                url = f"ws://127.0.0.1:{server.http_port}/api/v1/events"
                headers = {"Authorization": "Bearer " + TOKEN}
                async with websockets.connect(url, extra_headers=headers) as socket_:
                    own.ask("LOCK", "k", "me")
                    return json.loads(await asyncio.wait_for(socket_.recv(), 20))

            self.assertEqual([event["key"] for event in asyncio.run(watch())], ["k"])

    def test_the_password_of_requirepass_is_that_of_default(self):
        with HttpServer("--requirepass", "top-secret") as server:
            headers = basic("default", "top-secret")
            self.assertEqual(server.get("/api/v1/settings", headers=headers)[0], 200)
            self.assertEqual(server.get("/api/v1/settings", headers=basic("", "top-secret"))[0],
                             401)


if __name__ == "__main__":
    unittest.main()
