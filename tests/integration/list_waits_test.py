"""BLPOP and similar commands wait as in Redis: the same steps give the same replies."""

import time
import unittest

from own_redis import REDIS, Redis
from own_server import Server
import resp

SETTLE_SECONDS = 0.05


class Stage:
    """Several connections to one server, by name, and everything that they receive."""

    def __init__(self, case, server):
        self.case = case
        self.server = server
        self.clients = {}
        self.heard = []

    def client(self, name):
        if name not in self.clients:
            self.clients[name] = self.case.enterContext(self.server.connect())
            self.clients[name].ask("CLIENT", "SETNAME", name)
        return self.clients[name]

    def say(self, name, *words):
        self.heard.append((name, self.client(name).ask(*words)))

    def wait(self, name, *words):
        """Sends a request that waits; the next step comes when it does."""
        self.client(name).send(resp.request(*words))
        give_up = time.monotonic() + 10
        while time.monotonic() < give_up:
            clients = self.client("watcher").ask("CLIENT", "LIST")
            line = next((line for line in clients.decode().split("\n") if f" name={name} " in line),
                        "")
            if f" cmd={words[0].lower()} " in line and self.is_blocked(line):
                return
            time.sleep(0.005)
        raise AssertionError(f"{name} does not wait: {line}")

    @staticmethod
    def is_blocked(line):
        flags = line.split(" flags=")[1].split(" ")[0]
        return "b" in flags

    def hear(self, *names):
        for name in names:
            self.heard.append((name, self.client(name).reply()))

    def is_silent(self, name):
        client = self.client(name)
        client.socket.settimeout(SETTLE_SECONDS)
        try:
            data = client.socket.recv(1)
            self.heard.append((name, f"unexpected {data}"))
        except TimeoutError:
            self.heard.append((name, "silent"))
        client.socket.settimeout(client.TIMEOUT_SECONDS)

    def id_of(self, name):
        clients = self.client("watcher").ask("CLIENT", "LIST").decode().split("\n")
        line = next(line for line in clients if f" name={name} " in line)
        return line.split(" ")[0].removeprefix("id=")

    def close(self, name):
        self.clients.pop(name).close()
        time.sleep(SETTLE_SECONDS)


@unittest.skipIf(REDIS is None, "redis-server is not installed")
class ListWaits(unittest.TestCase):

    def setUp(self):
        self.redis = self.enterContext(Redis())
        self.server = self.enterContext(Server())

    def compare(self, play):
        heard = []
        for server in (self.redis, self.server):
            stage = Stage(self, server)
            play(stage)
            heard.append(stage.heard)
        self.assertEqual(heard[1], heard[0])

    def test_the_first_to_ask_is_served_first(self):
        def play(stage):
            stage.wait("one", "BLPOP", "q", "0")
            stage.wait("two", "BRPOP", "other", "q", "0")
            stage.wait("three", "BLPOP", "q", "0")
            stage.say("pusher", "RPUSH", "q", "a", "b")
            stage.hear("one", "two")
            stage.is_silent("three")
            stage.say("pusher", "LPUSH", "q", "c")
            stage.hear("three")
            stage.say("pusher", "EXISTS", "q", "other")
        self.compare(play)

    def test_elements_that_nobody_waits_for_stay(self):
        def play(stage):
            stage.wait("one", "BLPOP", "q", "0")
            stage.say("pusher", "RPUSH", "q", "a", "b", "c")
            stage.hear("one")
            stage.say("pusher", "LRANGE", "q", "0", "-1")
        self.compare(play)

    def test_a_transaction_serves_when_it_ends(self):
        def play(stage):
            stage.wait("one", "BLPOP", "q", "r", "0")
            stage.wait("two", "BLPOP", "r", "0")
            for words in (["MULTI"], ["RPUSH", "r", "x"], ["RPUSH", "q", "a"], ["LPOP", "q"],
                          ["RPUSH", "q", "b"], ["EXEC"]):
                stage.say("pusher", *words)
            stage.hear("one")
            stage.say("pusher", "EVAL", "redis.call('rpush', 'r', 'y') "
                                        "return redis.call('llen', 'r')", "0")
            stage.hear("two")
            stage.say("pusher", "LRANGE", "r", "0", "-1")
            stage.say("pusher", "LRANGE", "q", "0", "-1")
        self.compare(play)

    def test_moves_go_on_to_further_waiters(self):
        def play(stage):
            stage.wait("one", "BLMOVE", "a", "b", "LEFT", "RIGHT", "0")
            stage.wait("two", "BRPOPLPUSH", "b", "c", "0")
            stage.wait("three", "BLPOP", "c", "0")
            stage.say("pusher", "RPUSH", "a", "element")
            stage.hear("one", "two", "three")
            stage.say("pusher", "EXISTS", "a", "b", "c")
        self.compare(play)

    def test_a_destination_of_another_type_ends_the_wait_with_an_error(self):
        def play(stage):
            stage.say("pusher", "SADD", "set", "member")
            stage.wait("one", "BLMOVE", "a", "set", "LEFT", "LEFT", "0")
            stage.wait("two", "BLPOP", "a", "0")
            stage.say("pusher", "RPUSH", "a", "element")
            stage.hear("one", "two")
        self.compare(play)

    def test_a_key_of_another_type_does_not_end_the_wait(self):
        def play(stage):
            stage.wait("one", "BLPOP", "q", "0")
            stage.say("pusher", "SADD", "q", "member")
            stage.say("pusher", "DEL", "q")
            stage.say("pusher", "SET", "q", "v")
            stage.is_silent("one")
            stage.say("pusher", "DEL", "q")
            stage.say("pusher", "RPUSH", "q", "a")
            stage.hear("one")
        self.compare(play)

    def test_time_outs(self):
        def play(stage):
            for words in (["BLPOP", "q", "0.05"], ["BRPOP", "q", "r", "0.01"],
                          ["BLMOVE", "q", "r", "LEFT", "LEFT", "0.02"],
                          ["BRPOPLPUSH", "q", "r", "0.001"]):
                begin = time.monotonic()
                stage.say("one", *words)
                self.assertGreaterEqual(time.monotonic() - begin, float(words[-1]))
        self.compare(play)

    def test_client_unblock_ends_a_wait(self):
        def play(stage):
            for reason in ("TIMEOUT", "ERROR"):
                stage.wait("one", "BLPOP", "q", "0")
                stage.say("pusher", "CLIENT", "UNBLOCK", stage.id_of("one"), reason)
                stage.hear("one")
            stage.say("pusher", "RPUSH", "q", "a")
            stage.say("one", "LLEN", "q")
        self.compare(play)

    def test_a_closed_connection_no_longer_waits(self):
        def play(stage):
            stage.wait("one", "BLPOP", "q", "0")
            stage.wait("two", "BLPOP", "q", "0")
            stage.close("one")
            stage.say("pusher", "RPUSH", "q", "a")
            stage.hear("two")
        self.compare(play)

    def test_later_requests_of_a_waiting_connection_come_after_the_wait(self):
        def play(stage):
            stage.wait("one", "BLPOP", "q", "0")
            stage.client("one").send(resp.request("LLEN", "q") + resp.request("PING"))
            stage.say("pusher", "RPUSH", "q", "a", "b")
            stage.hear("one", "one", "one")
        self.compare(play)

    def test_events_are_those_of_redis(self):
        def play(stage):
            stage.client("ear").ask("CONFIG", "SET", "notify-keyspace-events", "KEA")
            stage.say("ear", "PSUBSCRIBE", "__key*__:*")
            for words in (["HSET", "h", "f", "v"], ["HSETNX", "h", "f", "w"], ["HDEL", "h", "f"],
                          ["HINCRBY", "h", "f", "1"], ["EXPIRE", "h", "100"], ["PERSIST", "h"],
                          ["RPUSH", "a", "x", "y"], ["LMOVE", "a", "b", "LEFT", "RIGHT"],
                          ["LMOVE", "a", "a", "LEFT", "RIGHT"], ["RPOPLPUSH", "a", "b"],
                          ["LREM", "b", "0", "x"], ["LPOP", "b"], ["ZADD", "z", "1", "a", "2", "b"],
                          ["ZADD", "z", "1", "a"], ["ZADD", "z", "INCR", "1", "a"],
                          ["ZREMRANGEBYRANK", "z", "0", "0"], ["ZPOPMIN", "z"],
                          ["ZADD", "z", "1", "a"], ["ZREMRANGEBYSCORE", "z", "1", "1"],
                          ["ZINCRBY", "z", "1", "a"], ["ZREM", "z", "a"],
                          ["SADD", "s", "1", "2"], ["SREM", "s", "1"], ["SPOP", "s"],
                          ["SADD", "s", "1"], ["PEXPIRE", "s", "30"]):
                stage.say("pusher", *words)
            stage.wait("one", "BLMOVE", "q", "r", "LEFT", "LEFT", "0")
            stage.say("pusher", "RPUSH", "q", "a")
            stage.hear("one")
            time.sleep(0.1)
            stage.say("pusher", "EXISTS", "s")
            stage.say("pusher", "DEL", "h", "r")
            stage.say("pusher", "SADD", "last", "1")
            messages = []
            while not messages or messages[-1] != [b"pmessage", b"__key*__:*",
                                                   b"__keyevent@0__:sadd", b"last"]:
                messages.append(stage.client("ear").reply())
            # The two servers notice an expired key at different times.
            expired = [message for message in messages if b"expired" in message[2:4]
                       or message[2].endswith(b":expired")]
            stage.heard.append(sorted(map(repr, expired)))
            stage.heard.append([message for message in messages if message not in expired])
        self.compare(play)

    def test_watched_values(self):
        def play(stage):
            for change in (["HSET", "h", "f", "2"], ["HDEL", "h", "f"], ["EXPIRE", "h", "100"],
                           ["DEL", "h"], ["HGET", "h", "f"], ["HDEL", "h", "nosuch"],
                           ["PEXPIRE", "h", "10"], ["SET", "h", "v"], ["FLUSHALL"]):
                stage.say("one", "DEL", "h")
                stage.say("one", "HSET", "h", "f", "1")
                stage.say("one", "WATCH", "h")
                stage.say("two", *change)
                time.sleep(0.03 if change[0] == "PEXPIRE" else 0)
                for words in (["MULTI"], ["PING"], ["EXEC"]):
                    stage.say("one", *words)
        self.compare(play)


if __name__ == "__main__":
    unittest.main(verbosity=2)
