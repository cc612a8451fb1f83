"""Channels the way an application uses them, with redis-py and as bytes on the wire."""

import json
import multiprocessing
import re
import time
import unittest

import redis

from own_server import Server, note_figure
from resp import Connection, request

PAIRS = 50_000  # a LOCK and an UNLOCK each: 100,000 events
PAIRS_AT_ONCE = 500
READERS = 3
LAG_MAX = 5000  # published events that have not been read yet: about 1 MB
GRANTED_TOKEN = re.compile(rb'"event":"granted"[^}]*"token":(\d+),')


def next_message(subscription):
    """Returns the next message that is not a confirmation."""
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        message = subscription.get_message(timeout=1)
        if message is not None and message["type"] in ("message", "pmessage"):
            return message
    raise AssertionError("no message")


class RedisPy(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())

    def client(self, **options):
        client = redis.Redis(port=self.server.port, decode_responses=True, **options)
        self.addCleanup(client.connection_pool.disconnect)
        return client

    def subscription(self, *names, by="psubscribe"):
        subscription = self.client().pubsub()
        self.addCleanup(subscription.close)
        getattr(subscription, by)(*names)
        for _ in names:
            self.assertEqual(subscription.get_message(timeout=10)["type"], by)
        return subscription

    def test_messages_and_who_listens(self):
        client = self.client()
        subscription = self.subscription("news", by="subscribe")
        self.assertEqual(client.pubsub_channels(), ["news"])
        self.assertEqual(client.pubsub_numsub("news", "old"), [("news", 1), ("old", 0)])
        self.assertEqual(client.publish("news", "hello"), 1)
        self.assertEqual(next_message(subscription)["data"], "hello")
        subscription.ping("are you there")
        self.assertEqual(subscription.get_message(timeout=10)["type"], "pong")
        subscription.unsubscribe()
        self.assertEqual(subscription.get_message(timeout=10)["type"], "unsubscribe")
        self.assertEqual(client.publish("news", "hello"), 0)

    def test_del_and_expired_of_a_key(self):
        client = self.client()
        subscription = self.subscription("__keyspace@0__:job", by="subscribe")
        client.execute_command("LOCK", "job", "me", "PX", 60000)
        client.execute_command("RENEW", "job", "me", "PX", 50)
        events = [next_message(subscription)["data"] for _ in range(3)]
        self.assertEqual(events, ["set", "expire", "expired"])
        client.execute_command("LOCK", "job", "me")
        client.execute_command("UNLOCK", "job", "me")
        self.assertEqual(next_message(subscription)["data"], "set")
        self.assertEqual(next_message(subscription)["data"], "del")

    def test_one_json_object_an_event(self):
        client = self.client(db=2)
        subscription = self.subscription("__lock@2__:*")
        before = time.time() * 1000
        token = client.execute_command("LOCK", "job:\u00fc", 'me "and\\ \n you', "PX", 100)
        granted = next_message(subscription)
        self.assertEqual(granted["channel"], "__lock@2__:job:\u00fc")
        event = json.loads(granted["data"])
        self.assertTrue(before - 5000 < event.pop("at") < before + 60_000)
        self.assertEqual(event, {
            "event": "granted", "db": 2, "key": "job:\u00fc", "owner": 'me "and\\ \n you',
            "token": token, "waited_ms": 0, "held_ms": 0, "reason": None})
        expired = json.loads(next_message(subscription)["data"])
        self.assertEqual((expired["event"], expired["token"]), ("expired", token))
        self.assertGreaterEqual(expired["held_ms"], 100)

    def test_the_setting_is_obeyed_and_shown(self):
        client = self.client()
        subscription = self.subscription("__key*")
        self.assertEqual(client.config_get("notify-keyspace-events"),
                         {"notify-keyspace-events": "AKE"})
        client.config_set("notify-keyspace-events", "Ex")
        client.execute_command("LOCK", "job", "me", "PX", 20)
        message = next_message(subscription)
        self.assertEqual((message["channel"], message["data"]), ("__keyevent@0__:expired", "job"))

    def test_the_number_of_subscriptions_is_bounded(self):
        self.client().config_set("max_subscriptions", 2)
        subscription = self.subscription("a", "b", by="subscribe")
        subscription.subscribe("c")
        with self.assertRaisesRegex(redis.ResponseError, "max_subscriptions"):
            subscription.get_message(timeout=10)


class Wire(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())

    def test_a_push_comes_while_its_connection_waits_for_a_lock(self):
        self.own.ask("LOCK", "k", "me")
        waiter = self.enterContext(self.server.connect())
        waiter.send(request("HELLO", 3))
        waiter.map()
        self.assertEqual(waiter.ask("SUBSCRIBE", "c", "__keyspace@0__:k"), [b"subscribe", b"c", 1])
        waiter.reply()
        waiter.send(request("LOCK", "k", "you", "WAIT", "20s") + request("PING"))
        waiting = time.monotonic() + 10
        while self.own.ask("POSITION", "k", "you") != 1:
            self.assertLess(time.monotonic(), waiting)
        self.own.ask("PUBLISH", "c", "hello")
        self.assertEqual(waiter.reply(), [b"message", b"c", b"hello"])
        self.own.ask("UNLOCK", "k", "me")
        self.assertIsInstance(waiter.reply(), int)
        for event in (b"del", b"set"):
            self.assertEqual(waiter.reply(), [b"message", b"__keyspace@0__:k", event])
        self.assertEqual(waiter.reply(), "PONG")

    def test_a_subscriber_whose_client_is_gone_leaves_its_channels(self):
        subscriber = self.server.connect()
        subscriber.ask("SUBSCRIBE", "c")
        subscriber.close()
        give_up = time.monotonic() + 10
        while self.own.ask("PUBLISH", "c", "x") != 0:
            self.assertLess(time.monotonic(), give_up)


def read_events(port, is_ready, seen, number):
    """Subscribes, and counts the messages in seen[number]; runs in its own process."""
    with Connection.to(("127.0.0.1", port)) as connection:
        connection.ask("PSUBSCRIBE", "__lock@0__:*")
        is_ready.wait()
        tail = b""
        while seen[number] < 2 * PAIRS:
            data = connection.socket.recv(1 << 20)
            assert data, "the server closed a connection that reads"
            seen[number] += (tail + data).count(b'{"event":')
            tail = data[-8:]


def publish_events(port, seen):
    """Takes and releases locks as fast as the readers can follow."""
    pairs = b"".join(request("LOCK", f"k{n}", "me") + request("UNLOCK", f"k{n}", "me")
                     for n in range(PAIRS_AT_ONCE))
    with Connection.to(("127.0.0.1", port)) as connection:
        for done in range(0, PAIRS, PAIRS_AT_ONCE):
            while min(seen) < 2 * done - LAG_MAX:
                time.sleep(0.001)
            connection.send(pairs)
            for _ in range(2 * PAIRS_AT_ONCE):
                connection.reply()


class SlowSubscriber(unittest.TestCase):

    def test_it_is_closed_and_nobody_else_notices(self):
        server = self.enterContext(Server("--output-limit", "4mb"))
        own = self.enterContext(server.connect())
        slow = self.enterContext(server.connect())
        slow.ask("PSUBSCRIBE", "__lock@0__:*")
        port = server.port
        is_ready = multiprocessing.Barrier(READERS + 1)
        seen = multiprocessing.Array("q", READERS, lock=False)
        processes = [multiprocessing.Process(target=read_events, args=(port, is_ready, seen, n))
                     for n in range(READERS)]
        for process in processes:
            process.start()
        is_ready.wait(20)
        processes.append(multiprocessing.Process(target=publish_events, args=(port, seen)))
        processes[-1].start()
        for process in processes:
            self.addCleanup(process.kill)
        pings_ms = []
        give_up = time.monotonic() + 60
        while min(seen) < 2 * PAIRS and all(process.exitcode in (None, 0) for process in processes):
            begin = time.monotonic()
            self.assertEqual(own.ask("PING"), "PONG")
            pings_ms.append((time.monotonic() - begin) * 1000)
            time.sleep(0.0005)
            self.assertLess(begin, give_up)
        self.assertEqual(list(seen), [2 * PAIRS] * READERS)
        # The slow reader has received the first part without a gap, and then the end of the
        # connection.
        tokens = [int(token) for token in GRANTED_TOKEN.findall(slow.rest())]
        self.assertLess(len(tokens), PAIRS)
        self.assertEqual(tokens, list(range(tokens[0], tokens[0] + len(tokens))))
        self.assertIn(b"client_output_buffer_limit_disconnections:1\r\n", own.ask("INFO"))
        pings_ms.sort()
        p99_ms = pings_ms[len(pings_ms) * 99 // 100]
        print(f"PING meanwhile: {len(pings_ms)} of them, p99 {p99_ms:.1f} ms")
        note_figure("delays.ping_beside_slow_subscriber_p99_ms", p99_ms)


if __name__ == "__main__":
    unittest.main(verbosity=2)
