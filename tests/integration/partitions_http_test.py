"""A node passes HTTP requests for other partitions on to their leaders, with the rights of the
caller and no others."""

import base64
import concurrent.futures
import http.client
import json
import pathlib
import shutil
import signal
import ssl
import tempfile
import time
import unittest

import own_cluster
import own_server
from certificates import Authority
from http_server import TOKEN

SECONDS_MAX = 20
# The same value as in server/net/http.
FORWARD_SECONDS_MAX = 5
FORWARDS_MAX = 64
USERS = """
user default on nopass ~* &* +@all
user shop on >shop-pw ~order:* %R~order:* +@read +@lock +info
"""


def basic(user, password):
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": "Basic " + text}


BEARER = {"Authorization": "Bearer " + TOKEN}
SHOP = basic("shop", "shop-pw")


def ask(node, method, target, body=None, headers=(), connection=http.client.HTTPConnection):
    """Returns the status and the JSON of the answer."""
    client = connection("127.0.0.1", node.http_port, timeout=SECONDS_MAX)
    headers = dict(headers)
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        body = json.dumps(body).encode()
    try:
        client.request(method, target, body, headers)
        answer = client.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        client.close()


def get(node, partition, path, headers=()):
    return ask(node, "GET", f"/api/v1/partitions/{partition}/{path}", headers=headers)


def post(node, partition, path, body, headers=tuple(BEARER.items())):
    return ask(node, "POST", f"/api/v1/partitions/{partition}/{path}", body, headers)


def eventually(condition, seconds=SECONDS_MAX):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come to that")
        time.sleep(0.05)


class OwnFleet:
    """Node i serves partition i % partitions; those of partition 2 have no users."""

    def __init__(self, partitions, nodes_each, options=(), users=""):
        self.folder = tempfile.TemporaryDirectory(prefix="fairlock-partitions-")
        token, acl = self.folder.name + "/token", self.folder.name + "/users.acl"
        with open(token, "w", encoding="ascii") as file:
            file.write(TOKEN + "\n")
        with open(acl, "w", encoding="ascii") as file:
            file.write(users)
        self.fleet = own_cluster.PartitionedFleet(
            partitions, nodes_each, http=True, options=("--http-token-file", token, *options))
        for number, node in enumerate(self.fleet.nodes):
            node.words += ["--cluster-partition", str(number % partitions)]
            if users and number % partitions != 2:
                node.words += ["--acl-file", acl]

    def __enter__(self):
        return self.fleet.__enter__()

    def __exit__(self, *failure):
        self.fleet.__exit__(*failure)
        self.folder.cleanup()


def key_in(fleet, partition, form):
    return next(form.format(number) for number in range(1000)
                if fleet.partition_of(form.format(number)) == partition)


class Forwarded(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(OwnFleet(3, 2, users=USERS))
        cls.leaders = cls.fleet.leaders()
        cls.nodes = cls.fleet.nodes

    def setUp(self):
        for leader in self.leaders.values():
            with leader.connect() as client:
                client.ask("FLUSHALL")

    def lock(self, partition, form="order:{}", owner="me", *options):
        key = key_in(self.fleet, partition, form)
        with self.leaders[partition].connect() as client:
            client.ask("LOCK", key, owner, "PX", 600_000, *options)
        return key

    def test_each_node_answers_for_each_partition(self):
        for node in self.nodes:
            for partition, leader in self.leaders.items():
                status, answer = get(node, partition, "status")
                self.assertEqual(status, 200)
                self.assertEqual(answer["server"]["tcp_port"], leader.port)
        # Without a partition, a node speaks for itself.
        for node in self.nodes:
            self.assertEqual(ask(node, "GET", "/api/v1/status")[1]["server"]["tcp_port"], node.port)

    def test_parameters_and_bodies_are_passed_on_unchanged(self):
        key = self.lock(1, "a b/ü%{}?&=")
        name = "a%20b%2F%C3%BC%25" + key.split("%")[1].split("?")[0] + "%3F%26%3D"
        for node in self.nodes:
            status, lock = get(node, 1, f"locks/0/{name}")
            self.assertEqual((status, lock["key"], len(lock["holders"])), (200, key, 1))
            status, answer = get(node, 1, f"locks?sort=wait&match={name.replace('%3F', '*')}")
            self.assertEqual((status, answer["found"]), (200, 1))
            self.assertEqual(get(node, 1, "locks?sort=nonsense")[0], 400)
            self.assertEqual(get(node, 0, "locks?sort=wait")[1]["found"], 0)

    def test_changes_reach_the_leader_and_its_history(self):
        for partition in self.leaders:
            for node in self.nodes:
                key = self.lock(partition)
                body = {"key": key, "reason": "host is gone"}
                self.assertEqual(post(node, partition, "break", body), (200, {"broken": 1}))
                status, answer = get(node, partition, f"history?key={key}&count=1")
                event = answer["history"]["events"][0]
                self.assertEqual((status, event["event"], event["comment"]),
                                 (200, "broken", "host is gone"))
        status, answer = post(self.nodes[0], 2, "limits/set", {"pattern": "x*", "limit": 0})
        self.assertEqual((status, answer), (200, {"limit": "OK"}))
        self.assertEqual([row["pattern"] for row in get(self.nodes[1], 2, "limits")[1]["limits"]],
                         ["x*"])
        self.assertEqual(get(self.nodes[0], 1, "limits")[1]["limits"], [])
        self.assertEqual(post(self.nodes[1], 2, "limits/delete", {"pattern": "x*"})[0], 200)

    def test_any_node_is_asked_for_the_lock_of_any_key(self):
        for partition in range(3):
            key = key_in(self.fleet, partition, "order:{}")
            for node in self.nodes:
                taken = ask(node, "POST", "/api/v1/acquire", {"key": key, "owner": "me"}, BEARER)
                self.assertEqual(taken[0], 200, taken)
                body = {"key": key, "token": taken[1]["token"]}
                self.assertEqual(ask(node, "POST", "/api/v1/check", body, BEARER),
                                 (200, {"held": 1}))
            body = {"key": key, "owner": "me"}
            self.assertEqual(ask(self.nodes[0], "POST", "/api/v1/release", body, BEARER),
                             (200, {"released": 1}))

    def test_a_wait_for_a_lock_is_passed_on_and_ends_with_its_client(self):
        key = self.lock(1)
        node = next(node for node in self.nodes if node is not self.leaders[1])
        with concurrent.futures.ThreadPoolExecutor() as pool, self.leaders[1].connect() as own:
            waiting = pool.submit(ask, node, "POST", "/api/v1/acquire",
                                  {"key": key, "owner": "waiter", "wait": "60s"}, BEARER)
            eventually(lambda: own.ask("POSITION", key, "waiter") == 1)
            gone = http.client.HTTPConnection("127.0.0.1", node.http_port)
            gone.request("POST", "/api/v1/acquire",
                         json.dumps({"key": key, "owner": "gone", "wait": "60s"}),
                         {**BEARER, "Content-Type": "application/json"})
            eventually(lambda: own.ask("POSITION", key, "gone") == 2)
            gone.close()
            own.ask("LOCK", key, "later", "KEEP", "1m")
            eventually(lambda: own.ask("POSITION", key, "later") == 2)
            time.sleep(FORWARD_SECONDS_MAX + 5)  # longer than other requests may take
            own.ask("UNLOCK", key, "me")
            status, granted = waiting.result(SECONDS_MAX)
            self.assertEqual((status, granted["status"]), (200, "granted"))
            self.assertEqual(own.ask("CANCEL", key, "later"), 1)
            self.assertEqual(own.ask("UNLOCK", key, "waiter"), 1)

    def test_a_state_is_locked_at_any_node(self):
        info = {"ID": "a-1", "Who": "ann"}
        for node in self.nodes:
            self.assertEqual(ask(node, "LOCK", "/terraform/prod", info, BEARER)[0], 200)
            self.assertEqual(ask(node, "LOCK", "/terraform/prod", {"ID": "b-2"}, BEARER),
                             (423, info))
        self.assertEqual(ask(self.nodes[-1], "UNLOCK", "/terraform/prod", info, BEARER)[0], 200)
        self.assertEqual(ask(self.nodes[0], "LOCK", "/terraform/prod", {"ID": "b-2"}, BEARER)[0],
                         200)
        self.assertEqual(ask(self.nodes[0], "UNLOCK", "/terraform/prod", {"ID": "b-2"}, BEARER)[0],
                         200)

    def test_a_key_is_changed_only_where_it_is(self):
        key = self.lock(1)
        status, answer = post(self.nodes[0], 2, "break", {"key": key})
        self.assertEqual((status, answer["error"]["code"]), (409, "MOVED"))

    def test_what_is_no_route_of_a_partition_is_not_passed_on(self):
        node = self.nodes[0]
        for target in ("/api/v1/partitions/3/status", "/api/v1/partitions/4294967296/status",
                       "/api/v1/partitions/-1/status", "/api/v1/partitions/x/status",
                       "/api/v1/partitions//status", "/api/v1/partitions/1",
                       "/api/v1/partitions/1/", "/api/v1/partitions/1/nothing",
                       "/api/v1/partitions/1/partitions/2/status", "/partitions/1/metrics",
                       "/api/v1/partitions/1/../../../metrics"):
            self.assertEqual(ask(node, "GET", target)[0], 404, target)
        self.assertEqual(post(node, 1, "locks", {})[0], 405)
        self.assertEqual(get(node, 1, "break")[0], 405)
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        self.assertEqual(get(node, 1, "events", upgrade)[0], 404)

    def test_nobody_changes_anything_without_the_token(self):
        key = self.lock(1)
        for headers in ((), {"Authorization": "Bearer another-token-of-tests"}.items()):
            for node in self.nodes:
                status, answer = post(node, 1, "break", {"key": key}, headers)
                self.assertEqual((status, answer["error"]["code"]), (401, "NOAUTH"))
        self.assertEqual(ask(self.nodes[0], "POST", "/api/v1/partitions/1/break", {"key": key},
                             {**BEARER, "Origin": "http://evil.example"})[0], 403)
        self.assertEqual(ask(self.nodes[0], "GET", "/api/v1/partitions/1/status",
                             headers={"Host": "evil.example"})[0], 421)
        self.assertEqual(len(get(self.nodes[0], 1, f"locks/0/{key}")[1]["holders"]), 1)

    def test_a_user_sees_and_changes_no_more_than_on_the_leader_itself(self):
        own, secret = self.lock(1), self.lock(1, "secret:{}")
        for node in self.nodes[:2]:
            status, answer = get(node, 1, "locks?sort=key", SHOP)
            self.assertEqual((status, [row["key"] for row in answer["locks"]]), (200, [own]))
            self.assertEqual(get(node, 1, f"locks/0/{secret}", SHOP)[0], 403)
            self.assertEqual(get(node, 1, "clients", SHOP)[0], 403)
            self.assertEqual(post(node, 1, "break", {"key": secret}, SHOP)[0], 403)
        # Without credentials, everybody who connects from this machine may read.
        self.assertEqual(len(get(self.nodes[0], 1, "locks?sort=key")[1]["locks"]), 2)

    def test_a_node_that_does_not_know_the_user_shows_nothing(self):
        self.lock(2, "secret:{}")
        status, answer = get(self.nodes[0], 2, "locks?sort=key", SHOP)
        self.assertEqual((status, answer["error"]["code"]), (503, "NOAUTH"))
        self.assertIn("partition 2", answer["error"]["message"])

    def test_a_wrong_password_is_not_tried_on_other_nodes(self):
        wrong = basic("shop", "guess")

        def failures():
            with self.leaders[1].connect() as client:
                text = client.ask("INFO", "stats")
            return int(text.split(b"acl_access_denied_auth:")[1].split()[0])

        before = failures()
        status, answer = get(self.leaders[0], 1, "locks", wrong)
        self.assertEqual((status, answer["error"]["code"]), (401, "WRONGPASS"))
        self.assertEqual(failures(), before)
        # A failed log-in at the leader is counted.
        self.assertEqual(get(self.leaders[1], 1, "locks", wrong)[0], 401)
        self.assertEqual(failures(), before + 1)


class Lost(unittest.TestCase):

    def test_what_does_not_answer_is_named_in_time_and_delays_nobody(self):
        fleet = self.enterContext(OwnFleet(3, 1))
        asked, lost = fleet.nodes[0], fleet.nodes[1]
        lost.pause()
        try:
            begin = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(FORWARDS_MAX + 8) as pool:
                asking = [pool.submit(get, asked, 1, "status") for _ in range(FORWARDS_MAX + 8)]
                concurrent.futures.wait(asking, 1, concurrent.futures.FIRST_COMPLETED)
                # Locks, and the partitions that answer, wait for nothing.
                with asked.connect() as client:
                    key = key_in(fleet, 0, "k{}")
                    self.assertGreater(client.ask("LOCK", key, "me"), 0)
                self.assertLess(time.monotonic() - begin, FORWARD_SECONDS_MAX)
                answers = [one.result() for one in asking]
            self.assertLess(time.monotonic() - begin, 2 * FORWARD_SECONDS_MAX)
        finally:
            lost.go_on()
        self.assertEqual({status for status, _ in answers}, {503})
        codes = [answer["error"]["code"] for _, answer in answers]
        self.assertEqual((codes.count("CLUSTERDOWN"), codes.count("TRYAGAIN")), (FORWARDS_MAX, 8))
        late = next(answer["error"]["message"] for _, answer in answers
                    if answer["error"]["code"] == "CLUSTERDOWN")
        self.assertEqual(late, f"the leader of partition 1 at 127.0.0.1:{lost.http_port} did not "
                               "answer within 5 s")
        eventually(lambda: get(asked, 1, "status")[0] == 200)
        self.assertEqual(get(asked, 2, "status")[0], 200)
        lost.kill()
        status, answer = get(asked, 1, "status")
        self.assertEqual((status, answer["error"]["code"]), (503, "CLUSTERDOWN"))
        # The record of the killed node disappears with its lease.
        eventually(lambda: "no node leads" in get(asked, 1, "status")[1]["error"]["message"])

    def test_a_leader_without_http_and_a_single_server_say_so(self):
        fleet = OwnFleet(2, 1)
        fleet.fleet.nodes[1].words += ["--http-port", "0"]
        nodes = self.enterContext(fleet).nodes
        status, answer = get(nodes[0], 1, "status")
        self.assertEqual((status, answer["error"]["message"]),
                         (503, "the leader of partition 1 has no http_port"))
        with own_server.Server("--http-port", str(port := own_server.free_port())):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
            client.request("GET", "/api/v1/partitions/0/status")
            answer = client.getresponse()
            self.assertEqual((answer.status, json.load(answer)["error"]["message"]),
                             (404, "this server is not a node of a fleet"))
            client.close()


class Encrypted(unittest.TestCase):

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="fairlock-https-"))
        self.authority = Authority(folder, "ours")
        self.other = Authority(folder, "theirs")
        self.certificate, self.key = self.authority.issue("server", "node")
        self.trusted = pathlib.Path(folder) / "trusted.crt"
        self.context = ssl.create_default_context(cafile=self.authority.certificate)

    def start(self, authority, *options_of_second):
        options = ("--http-tls", "yes", "--tls-cert-file", str(self.certificate), "--tls-key-file",
                   str(self.key), "--tls-ca-file", str(self.trusted))
        shutil.copy(authority.certificate, self.trusted)
        fleet = OwnFleet(2, 1, options)
        fleet.fleet.nodes[1].words += options_of_second
        return self.enterContext(fleet).nodes

    def get(self, node, partition):
        return ask(node, "GET", f"/api/v1/partitions/{partition}/status", connection=lambda *words,
                   **options: http.client.HTTPSConnection(*words, context=self.context, **options))

    def test_nodes_speak_https_with_each_other(self):
        nodes = self.start(self.authority)
        for node in nodes:
            for partition, leader in enumerate(nodes):
                status, answer = self.get(node, partition)
                self.assertEqual((status, answer["server"]["tcp_port"]), (200, leader.port))

    def test_no_credentials_are_sent_to_a_node_with_the_certificate_of_another_authority(self):
        nodes = self.start(self.other)
        status, answer = self.get(nodes[0], 1)
        self.assertEqual((status, answer["error"]["code"]), (503, "CLUSTERDOWN"))
        self.assertIn("certificate verify failed", answer["error"]["message"])
        # The authorities are read again at SIGHUP.
        shutil.copy(self.authority.certificate, self.trusted)
        nodes[0].process.send_signal(signal.SIGHUP)
        eventually(lambda: self.get(nodes[0], 1)[0] == 200)

    def test_no_credentials_are_sent_to_a_node_without_https(self):
        nodes = self.start(self.authority, "--http-tls", "no", "--tls-port",
                           str(own_server.free_port()))
        status, answer = self.get(nodes[0], 1)
        self.assertEqual((status, answer["error"]["message"]),
                         (503, "the leader of partition 1 must have http_tls, as this node has"))
        # A node without HTTPS has received the caller's credentials in clear text anyway.
        self.assertEqual(get(nodes[1], 0, "status")[1]["server"]["tcp_port"], nodes[0].port)


if __name__ == "__main__":
    unittest.main()
