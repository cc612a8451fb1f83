"""Debian's redis-py, the way an application uses it."""

import pathlib
import threading
import time
import unittest

import redis
from redis.sentinel import Sentinel

from own_server import Server

RECIPE = pathlib.Path(__file__).parents[2] / "docs" / "recipes" / "moving-from-redis.md"

THREADS = 50
ROUNDS = 20


class RedisPy(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())

    def client(self, **options):
        client = redis.Redis("127.0.0.1", port=self.server.port, **options)
        self.addCleanup(client.connection_pool.disconnect)
        return client

    def test_lock_renew_unlock(self):
        client = self.client()
        token = client.execute_command("LOCK", "k", "me", "PX", 30000)
        self.assertIsInstance(token, int)
        self.assertEqual(client.execute_command("LOCK k2 me EX 30"), token + 1)
        self.assertIsNone(client.execute_command("LOCK", "k", "you"))
        self.assertEqual(client.execute_command("RENEW", "k", "me", "PX", 30000), 1)
        self.assertEqual(client.execute_command("CHECK", "k", token), 1)
        self.assertEqual(client.execute_command("UNLOCK", "k", "me", "TOKEN", token), 1)
        self.assertEqual(client.execute_command("CHECK", "k", token), 0)

    def test_sentinel_and_cluster_end_with_the_errors_that_the_recipe_shows(self):
        sentinel = Sentinel([("127.0.0.1", self.server.port)], socket_timeout=5)
        with self.assertRaises(redis.ResponseError) as of_sentinel:
            sentinel.master_for("mymaster").ping()
        with self.assertRaises(redis.exceptions.RedisClusterException) as of_cluster:
            redis.cluster.RedisCluster(host="127.0.0.1", port=self.server.port)
        page = RECIPE.read_text()
        self.assertIn(str(of_sentinel.exception).split(", with args")[0], page)
        self.assertIn("a single server needs no Sentinel", str(of_sentinel.exception))
        self.assertIn(str(of_cluster.exception).split("error: ")[-1], page)

    def test_a_wait_ends_at_its_time(self):
        client = self.client()
        client.execute_command("LOCK", "k", "me")
        begin = time.monotonic()
        self.assertIsNone(client.execute_command("LOCK", "k", "you", "WAIT", "200ms"))
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)
        begin = time.monotonic()
        self.assertEqual(client.execute_command("WAIT", "k", "TIMEOUT", "200ms"), 0)
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)

    def test_wait_is_answered_when_the_holder_goes(self):
        client = self.client()
        client.execute_command("LOCK", "k", "me")
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(
            self.client().execute_command("WAIT", "k", "TIMEOUT", "20s")))
        waiter.start()
        while not any(other["cmd"] == "wait" for other in client.client_list()):
            time.sleep(0.005)
        client.execute_command("UNLOCK", "k", "me")
        waiter.join(20)
        self.assertEqual(answers, [1])

    def test_a_client_that_gives_up_by_itself_leaves_the_line(self):
        holder = self.client()
        holder.execute_command("LOCK", "k", "me")
        impatient = self.client(socket_timeout=0.2, retry_on_timeout=False)
        with self.assertRaises(redis.TimeoutError):
            impatient.execute_command("LOCK", "k", "you", "WAIT", "60s")
        give_up = time.monotonic() + 10
        while holder.execute_command("POSITION", "k", "you") is not None:
            self.assertLess(time.monotonic(), give_up)
        # The next request of this client uses a new connection.
        self.assertIsNone(impatient.execute_command("LOCK", "k", "you"))

    def test_errors_are_the_errors_of_the_library(self):
        client = self.client()
        with self.assertRaisesRegex(redis.ResponseError, "owner must have 1 to 8192 bytes, got 0"):
            client.execute_command("LOCK", "k", "")
        with self.assertRaisesRegex(redis.ResponseError, "unknown command"):
            client.execute_command("LOCKX", "k")

    def test_the_second_wait_of_an_owner_supersedes_the_first(self):
        client = self.client()
        client.execute_command("LOCK", "k", "me")
        errors = []

        def wait_first():
            try:
                self.client().execute_command("LOCK", "k", "you", "WAIT", "20s")
            except redis.ResponseError as error:
                errors.append(str(error))

        first = threading.Thread(target=wait_first)
        first.start()
        while client.execute_command("POSITION", "k", "you") != 1:
            time.sleep(0.005)
        self.assertIsNone(self.client().execute_command("LOCK", "k", "you", "WAIT", "50ms"))
        first.join(20)
        self.assertRegex(errors[0], "^SUPERSEDED ")

    def test_a_pipeline_is_a_transaction(self):
        client = self.client()
        with client.pipeline() as pipeline:
            pipeline.execute_command("LOCK", "a", "me")
            pipeline.execute_command("LOCK", "a", "you", "WAIT", "10s")
            pipeline.execute_command("LOCKED", "a")
            token, denied, holders = pipeline.execute()
        self.assertIsInstance(token, int)
        self.assertEqual((denied, holders), (None, 1))
        with client.pipeline() as pipeline:
            pipeline.watch("a")
            client.execute_command("TRANSFER", "a", "me", "you")
            pipeline.multi()
            pipeline.execute_command("LOCK", "b", "me")
            with self.assertRaises(redis.WatchError):
                pipeline.execute()
        self.assertEqual(client.execute_command("LOCKED", "b"), 0)

    def test_what_the_library_asks_beside_locks(self):
        client = self.client(client_name="shop", db=3, health_check_interval=1)
        self.assertTrue(client.ping())
        self.assertEqual(client.client_getname(), "shop")
        self.assertEqual(client.info("clients")["connected_clients"], 1)
        self.assertEqual(client.client_list()[0]["db"], "3")
        self.assertEqual(client.dbsize(), 0)
        self.assertEqual(len(client.time()), 2)
        self.assertIn("lock", client.command())
        pipeline = client.pipeline(transaction=False)
        pipeline.execute_command("LOCK", "k", "me")
        pipeline.execute_command("LOCKED", "k")
        pipeline.execute_command("UNLOCK", "k", "me")
        self.assertEqual(pipeline.execute()[1:], [1, 1])


class Contention(unittest.TestCase):

    def test_fifty_threads_take_turns(self):
        with Server() as server:
            inside, entered, failures = [], [], []
            # The threads wait for one another outside the server, so that all of them compete from
            # the first round.
            together = threading.Barrier(THREADS)

            def work(number):
                client = redis.Redis("127.0.0.1", port=server.port, socket_timeout=30)
                owner = f"worker-{number}"
                together.wait()
                for _ in range(ROUNDS):
                    token = client.execute_command("LOCK", "k", owner, "WAIT", "30s", "PX", 60000)
                    inside.append(owner)
                    if inside != [owner] or (entered and entered[-1] >= token):
                        failures.append((owner, token, list(inside), entered[-1:]))
                    entered.append(token)
                    inside.remove(owner)
                    if client.execute_command("UNLOCK", "k", owner, "TOKEN", token) != 1:
                        failures.append((owner, token, "did not hold"))
                client.close()

            threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
            begin = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            seconds = time.monotonic() - begin
            self.assertEqual(failures, [])
            self.assertEqual(len(entered), THREADS * ROUNDS)
            print(f"{len(entered)} turns of {THREADS} threads in {seconds:.2f} s")


if __name__ == "__main__":
    unittest.main()
