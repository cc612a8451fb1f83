"""The API behaves as its description says: every route and every refusal."""

import base64
import json
import time
import unittest

import jsonschema

from http_server import HttpServer, TOKEN
from own_server import free_port
from traced_server import Traced, can_trace, injected

# How each operation succeeds on a server where worker-1 holds order:42 and worker-2 waits for it.
# The order matters: the last operations end what the first ones read.
CALLS = [
    ("showHealth", "/healthz", None),
    ("showReadiness", "/readyz", None),
    ("showLeadership", "/leaderz", None),
    ("showMetrics", "/metrics", None),
    ("showStatus", "/api/v1/status", None),
    ("showCluster", "/api/v1/cluster", None),
    ("showDescription", "/api/v1/openapi.json", None),
    ("showAccess", "/api/v1/access", None),
    ("listClients", "/api/v1/clients", None),
    ("listClients", "/api/v1/clients?waiting=true&after=0&count=5", None),
    ("listSettings", "/api/v1/settings", None),
    ("showStatistics", "/api/v1/statistics", None),
    ("showStatistics", "/api/v1/statistics?label=shop&by_minute=true&minutes=3", None),
    ("showMinutes", "/api/v1/minutes", None),
    ("showMinutes", "/api/v1/minutes?minutes=1440", None),
    ("listLocks", "/api/v1/locks", None),
    ("listLocks", "/api/v1/locks?sort=wait&waiting=0&count=5", None),
    ("listLocks", "/api/v1/locks?sort=owner&reverse=true", None),
    ("showLock", "/api/v1/locks/0/order:42", None),
    ("showLock", "/api/v1/locks/0/nobody", None),
    ("showLine", "/api/v1/locks/0/order:42/line", None),
    ("showHistory", "/api/v1/history", None),
    ("showHistory", "/api/v1/history?key=order:42", None),
    ("showHistory", "/api/v1/history?db=*&match=ord*&event=granted,denied", None),
    ("watchEvents", "/api/v1/events?match=order:*", None),
    ("setLimit", "/api/v1/limits/set", {"pattern": "x*", "limit": 3, "seconds": 60, "reason": "r"}),
    ("listLimits", "/api/v1/limits", None),
    ("deleteLimit", "/api/v1/limits/delete", {"pattern": "x*"}),
    ("changeSetting", "/api/v1/settings", {"name": "max_clients", "value": "500"}),
    ("acquireLock", "/api/v1/acquire",
     {"key": "http", "owner": "me", "lease": "30s", "wait": "1s"}),
    ("renewLock", "/api/v1/renew", {"key": "http", "owner": "me", "lease": "30s"}),
    ("checkToken", "/api/v1/check", {"key": "http", "token": 1}),
    ("releaseLock", "/api/v1/release", {"key": "http", "owner": "me"}),
    ("cancelPlace", "/api/v1/cancel", {"key": "order:42", "owner": "worker-2"}),
    ("breakMatching", "/api/v1/break-matching", {"match": "order:*", "dry_run": True}),
    ("breakLock", "/api/v1/break", {"key": "order:42", "reason": "test"}),
    ("killClient", "/api/v1/clients/kill", {"id": 999999}),
]


class Described(unittest.TestCase):

    def read_description(self, server):
        self.description = server.get("/api/v1/openapi.json", token=TOKEN)[1]
        self.operations = {
            operation["operationId"]: (verb.upper(), path, operation)
            for path, verbs in self.description["paths"].items()
            for verb, operation in verbs.items()}

    def check(self, operation, status, headers, body):
        """Checks that the description lists this answer."""
        responses = self.operations[operation][2]["responses"]
        self.assertIn(str(status), responses, operation)
        (kind, content), = responses[str(status)]["content"].items()
        self.assertEqual(headers["Content-Type"].partition(";")[0], kind)
        if kind == "application/json":
            schema = {**content["schema"], "components": self.description["components"]}
            jsonschema.validate(json.loads(body), schema, jsonschema.Draft202012Validator)

    def call(self, server, operation, target=None, body=None, token=TOKEN, **headers):
        verb, path, _ = self.operations[operation]
        target = target or path.replace("{db}", "0").replace("{key}", "k")
        if verb == "POST" and body is None:
            body = next(body for name, _, body in CALLS if name == operation)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        status, got, answer = server.ask(verb, target, body, headers=headers, token=token)
        self.check(operation, status, got, answer)
        return status

    def documenting(self, status):
        return [name for name, (_, _, operation) in self.operations.items()
                if str(status) in operation["responses"]]

    def check_all(self, status, server, **how):
        """Every operation that documents this refusal sends it, and no other operation does."""
        for name in self.operations:
            with self.subTest(name, status=status):
                if name in self.documenting(status):
                    self.assertEqual(self.call(server, name, **how), status)


class Answers(Described):

    def setUp(self):
        self.server = self.enterContext(HttpServer())
        self.read_description(self.server)

    def test_every_route_answers_as_described(self):
        own = self.enterContext(self.server.connect())
        own.ask("LOCK", "order:42", "worker-1", "EX", 100, "META", "{}", "LABEL", "shop")
        own.ask("LOCK", "other", "o", "SESSION")
        own.ask("LOCK", "other", "p")
        waiter = self.enterContext(self.server.connect())
        waiter.send(b"LOCK order:42 worker-2 WAIT 100s\r\n")
        while own.ask("POSITION", "order:42", "worker-2") is None:
            time.sleep(0.001)
        for operation, target, body in CALLS:
            with self.subTest(operation, target=target):
                if operation == "checkToken":
                    body = {**body, "token": own.ask("LOCK", "http", "me")}
                self.assertEqual(self.call(self.server, operation, target, body),
                                 426 if operation == "watchEvents" else 200)
        self.assertEqual({name for name, _, _ in CALLS}, set(self.operations))

    def test_all_refusals_of_the_door(self):
        self.check_all(403, self.server, Origin="http://evil.example")
        self.check_all(421, self.server, Host="evil.example")
        self.check_all(415, self.server, Content_Type="text/plain")
        # The rest of a body that is too large remains unread.
        for name in self.documenting(413):
            verb, path, _ = self.operations[name]
            self.assertEqual(verb, "POST")
            status, headers, body = self.server.ask("POST", path, b" " * 70_000, token=TOKEN)
            self.check(name, status, headers, body)
            self.assertEqual(status, 413)

    def test_a_wrong_parameter_is_refused_everywhere(self):
        for name in self.documenting(400):
            with self.subTest(name):
                verb, path, _ = self.operations[name]
                target = path.replace("{db}", "0").replace("{key}", "k")
                if verb == "GET":
                    target += "?nonsense=1"
                self.assertEqual(self.call(self.server, name, target, {"nonsense": 1}), 400)

    def test_who_has_failed_too_often_is_not_looked_at(self):
        with HttpServer("--requirepass", "top-secret", "--max-failed-log-ins", "3") as server:
            text = base64.b64encode(b"default:wrong").decode()
            for _ in range(3):
                self.assertEqual(self.call(server, "showStatus", token=None,
                                           Authorization="Basic " + text), 401)
            self.check_all(429, server, token=None, Authorization="Basic " + text)

    def test_the_token_is_needed_where_it_is_said(self):
        for token in (None, "a-wrong-token-of-the-tests"):
            with HttpServer("--http-bind", "0.0.0.0") as server:
                self.check_all(401, server, token=token)
        steering = {name for name, (verb, _, _) in self.operations.items() if verb == "POST"}
        steering.add("showAccess")
        for name in self.documenting(401):
            expected = 401 if name in steering else 426 if name == "watchEvents" else 200
            self.assertEqual(self.call(self.server, name, token=None), expected)
        with HttpServer(with_token=False) as server:
            for name in steering:
                self.assertEqual(self.call(server, name, token=None), 403)

    def test_a_full_table_is_503(self):
        with HttpServer("--max-limit-overrides", "1") as server:
            self.assertEqual(self.call(server, "setLimit", body={"pattern": "a", "limit": 1}), 200)
            self.assertEqual(self.call(server, "setLimit", body={"pattern": "b", "limit": 1}), 503)

    def test_statistics_that_are_off_are_refused(self):
        with HttpServer("--stats-labels", "0", "--history-memory", "0") as server:
            self.assertEqual(self.call(server, "showStatistics"), 400)
            self.assertEqual(self.call(server, "showHistory"), 400)
            self.assertEqual(self.call(server, "showMetrics"), 200)


@unittest.skipUnless(can_trace(), "no strace, or a build that is traced already")
class Loading(Described):

    def start_slowly(self, http):
        """Returns a server that takes a few seconds to load its locks."""
        token_file = http.directory / "token"
        server = Traced("--durability", "sync", "--http-port", str(http.http_port),
                        "--http-token-file", str(token_file),
                        wrapper=injected("fdatasync:delay_enter=4000000:when=1"))
        self.addCleanup(server.__exit__, None, None, None)
        server.port = free_port()
        server.start_process()
        give_up = time.monotonic() + 20
        while time.monotonic() < give_up:
            try:
                http.ask("GET", "/healthz")
                return server
            except ConnectionRefusedError:
                time.sleep(0.005)
        return self.fail("it does not listen")

    def test_what_needs_locks_is_refused_while_they_are_read(self):
        with HttpServer() as http:
            self.read_description(http)
            http.http_port = free_port()
            slow = self.start_slowly(http)
            answers = {name: self.call(http, name) for name in self.operations}
            refused = {name for name, status in answers.items() if status == 503}
            # A single server leads even while it loads its locks.
            self.assertEqual(refused, set(self.documenting(503)) - {"showLeadership"})
            slow.await_ready()
            self.assertEqual(self.call(http, "listLocks"), 200)


if __name__ == "__main__":
    unittest.main()
