"""A clean stop with 10,000 connections, nearly all of which wait: what the clients are told, and
whether it is still true after the restart. Judged only by what the clients see.

CLEAN_STOP_CONNECTIONS sets a different number of connections.
"""

import os
import pathlib
import select
import signal
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import own_server  # noqa: E402
import resp  # noqa: E402
from kept_server import KeptServer  # noqa: E402

CONNECTIONS = int(os.environ.get("CLEAN_STOP_CONNECTIONS", "10000"))
CLIENTS_PER_QUEUE = 20
PATIENCE_SECONDS = 60
LEASE = ("EX", "600")
WAIT = ("WAIT", "FOREVER")


def lock(key, owner, *options):
    return ("LOCK", key, owner, *LEASE, *options)


def mlock(keys, owner, *options):
    return ("MLOCK", len(keys), *keys, owner, *LEASE, *options)


# Each of these functions makes one kind of queue: it returns the request for each place. The first
# client gets the lock; no other may get it while the clients before it are connected. If two kinds
# of requests alternate, the end of one waiter alone would admit the next.
def plain(key, place):
    return lock(key, f"w{place}", *(WAIT if place else ()))


def kept(key, place):
    return lock(key, f"w{place}", *(WAIT + ("KEEP", "30s") if place else ()))


def readers_behind_a_writer(key, place):
    mode = () if place == 1 else ("SHARED",)
    return lock(key, f"w{place}", *mode, *(WAIT if place else ()))


def three_behind_one(key, place):
    return lock(key, f"w{place}", "LIMIT", 1 if place == 1 else 3, *(WAIT if place else ()))


def multi_locks(key, place):
    keys = [[key, f"{key}:b"], [f"{key}:b", f"{key}:c"], [f"{key}:c", f"{key}:d"]][min(place, 2)]
    return mlock(keys, f"w{place}", *(WAIT if place else ()))


def one_behind_multi_locks(key, place):
    if place == 0:
        return lock(key, "w0")
    if place == 1:
        return mlock([key, f"{key}:b"], "w1", *WAIT)
    return lock(f"{key}:b", f"w{place}", *WAIT)


def sessions(key, place):
    return lock(key, f"w{place}", "SESSION", "GRACE", "30s", *(WAIT if place else ()))


def reservations(key, place):
    return lock(key, f"w{place}", "MINHOLD", "10s", *(WAIT if place else ()))


KINDS = [plain, kept, readers_behind_a_writer, three_behind_one, multi_locks,
         one_behind_multi_locks, sessions, reservations]


def keys_of(request):
    return request[2:2 + request[1]] if request[0] == "MLOCK" else [request[1]]


class Client:
    """One connection, its request, and all bytes received."""

    def __init__(self, server, request):
        self.connection = server.connect()
        self.socket = self.connection.socket
        self.request = request
        self.told = b""

    def ask(self):
        self.connection.send(resp.request(*self.request))

    def receive(self):
        """Returns False if the server has closed the connection."""
        try:
            data = self.socket.recv(4096)
        except ConnectionResetError:
            data = b""
        self.told += data
        return data != b""

    def token(self):
        return int(self.told[1:-2]) if self.told.startswith(b":") else None


def count_waiters(watcher):
    info = watcher.ask("INFO", "clients").decode()
    return int(next(line.split(":")[1] for line in info.splitlines()
                    if line.startswith("blocked_clients:")))


def read_until_closed(clients):
    """Returns how many seconds it took until the last of them was closed."""
    begin = time.monotonic()
    poll = select.poll()
    by_descriptor = {client.socket.fileno(): client for client in clients}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN)
    while by_descriptor:
        ready = poll.poll(PATIENCE_SECONDS * 1000)
        if not ready:
            raise AssertionError(f"{len(by_descriptor)} connections were not closed")
        for descriptor, _ in ready:
            if not by_descriptor[descriptor].receive():
                poll.unregister(descriptor)
                del by_descriptor[descriptor]
    return time.monotonic() - begin


class CleanStop(unittest.TestCase):

    def make_queues(self, server, count):
        """Returns the clients by queue, in the order of their places."""
        queues = [[Client(server, KINDS[queue % len(KINDS)](f"key:{queue}", place))
                   for place in range(CLIENTS_PER_QUEUE)]
                  for queue in range(count // CLIENTS_PER_QUEUE)]
        for queue in queues:
            for client in queue:
                self.addCleanup(client.connection.close)
        return queues

    def take_places(self, watcher, queues):
        for place in range(CLIENTS_PER_QUEUE):
            for queue in queues:
                queue[place].ask()
            if place == 0:
                for queue in queues:
                    self.assertTrue(queue[0].receive())
                    self.assertIsNotNone(queue[0].token(), queue[0].told)
            give_up = time.monotonic() + PATIENCE_SECONDS
            while count_waiters(watcher) != place * len(queues):
                self.assertLess(time.monotonic(), give_up, f"waiters at place {place}")
                time.sleep(0.01)

    def check_tokens(self, server, clients):
        with server.connect() as checker:
            for client in clients:
                if client.token() is not None:
                    for key in keys_of(client.request):
                        self.assertEqual(checker.ask("CHECK", key, client.token()), 1,
                                         f"{client.request} was told {client.token()}")

    def check_order(self, server, queue):
        """Clients that return, in whatever order, get their previous places."""
        returned = []
        for client in reversed(queue[1:]):
            connection = self.enterContext(server.connect())
            connection.send(resp.request(*client.request))
            returned.append(connection)
        with server.connect() as watcher:
            owners = [client.request[2].encode() for client in queue[1:]]
            give_up = time.monotonic() + PATIENCE_SECONDS
            while count_waiters(watcher) < len(owners) and time.monotonic() < give_up:
                time.sleep(0.01)
            rows = watcher.ask("QUEUE", queue[0].request[1], "COUNT", 100)
        self.assertEqual([dict(zip(row[::2], row[1::2]))[b"owner"] for row in rows], owners)

    def stop_with(self, count, durability):
        with KeptServer("--durability", durability, "--max-clients", str(count + 100),
                        "--tcp-backlog", "4096") as server:
            with server.connect() as watcher:
                queues = self.make_queues(server, count)
                self.take_places(watcher, queues)
            clients = [client for queue in queues for client in queue]
            begin = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            closed = read_until_closed(clients)
            self.assertEqual(server.process.wait(own_server.STOP_SECONDS_MAX), 0)
            stopped = time.monotonic() - begin
            told = [client for queue in queues for client in queue[1:] if client.told]
            server.start_again()
            self.check_tokens(server, clients)
            self.assertEqual([(client.request, client.told) for client in told], [])
            self.check_order(server, queues[0])
        print(f"{durability}: {len(clients)} connections, {len(clients) - len(queues)} of which "
              f"waited: all closed without an answer after {closed:.2f} s, the process ended after "
              f"{stopped:.2f} s, and {len(queues)} holders have what they were told", flush=True)

    def test_async(self):
        self.stop_with(CONNECTIONS, "async")

    def test_sync(self):
        self.stop_with(CONNECTIONS // 10, "sync")


if __name__ == "__main__":
    unittest.main()
