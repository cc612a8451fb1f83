"""Kills or stops a server under load repeatedly, and compares the restored locks with what the
clients were told.

    FAIRLOCKD=build/release/bin/fairlockd /usr/bin/python3 tests/integration/crash_cycles.py \\
        --cycles 1000 --durability sync
"""

import argparse
import random
import socket
import time

import resp
from crash_contenders import Contenders, LoadClient
from crash_history import Held, Key, Line, Tokens
from kept_server import KeptServer

CLIENTS = 12
KEYS_OF_A_CLIENT = 48
PIPELINE = 16
LINES = 3
PLACES_MAX = 12
LEASES_MS = (600_000, 1_200_000, 3_600_000)
KEEP = "60s"
# How a server ends: by SIGKILL, or by a clean stop.
ENDS = ("kill", "kill", "SIGTERM", "SHUTDOWN")


class Worker(LoadClient):
    """A client with its own keys: sends a pipeline of requests, each for a different key."""

    def __init__(self, number, tokens, chance):
        self.chance = chance
        self.keys = [Key(f"key:{number}:{i}", tokens) for i in range(KEYS_OF_A_CLIENT)]
        self.asked = []

    def connect(self, server):
        super().connect(server)
        self.asked = []

    def _request(self, key):
        owners = (f"{key.name}/a", f"{key.name}/b")
        holder = key.state.owner if key.state else None
        name = self.chance.choice(["LOCK", "UNLOCK", "RENEW"] if holder else ["LOCK"])
        owner = holder or self.chance.choice(owners)
        if self.chance.random() < 0.1:
            owner = self.chance.choice(owners)
        lease_ms = self.chance.choice(LEASES_MS)
        key.ask((name, owner, lease_ms))
        return resp.request(name, key.name, owner, *(["PX", lease_ms] if name != "UNLOCK" else []))

    def send(self):
        self.asked = self.chance.sample(self.keys, PIPELINE)
        self.connection.send(b"".join(self._request(key) for key in self.asked))

    def _take_replies(self):
        while self.asked:
            kept = self.connection.buffer
            if b"\r\n" not in kept:
                return
            line, rest = kept.split(b"\r\n", 1)
            self.connection.buffer = line + b"\r\n"
            self.asked.pop(0).answer(self.connection.reply())
            self.connection.buffer = rest


class Keeper(Worker):
    """Lets owners that retry join and leave queues, one request at a time."""

    def __init__(self, chance):
        super().__init__("places", Tokens(), chance)
        self.lines = [Line(f"line:{i}") for i in range(LINES)]
        self.joined = 0

    def hold(self, client):
        for line in self.lines:
            client.ask("LOCK", line.name, "holder", "EX", 36_000)

    def send(self):
        line = self.chance.choice(self.lines)
        is_full = len(line.owners) >= PLACES_MAX
        if line.owners and (is_full or self.chance.random() < 0.4):
            owner = self.chance.choice(line.owners)
            line.ask(("CANCEL", owner))
            request = resp.request("CANCEL", line.name, owner)
        else:
            self.joined += 1
            owner = f"retrier {self.joined}"
            line.ask(("JOIN", owner))
            request = resp.request("LOCK", line.name, owner, "KEEP", KEEP)
        self.asked = [line]
        self.connection.send(request)


def as_map(flat):
    return dict(zip(flat[::2], flat[1::2]))


class Cycles:
    """Runs cycles of load, death and comparison on one server."""

    def __init__(self, server, seed):
        self.server = server
        self.chance = random.Random(seed)
        self.tokens = Tokens()
        self.workers = [Worker(i, self.tokens, self.chance) for i in range(CLIENTS)]
        self.keeper = Keeper(self.chance)
        self.contenders = Contenders(self.chance)
        self.answered = 0
        self.checked = 0
        with server.connect() as client:
            self.keeper.hold(client)

    def run(self, seconds, end="kill"):
        self.load(seconds)
        self.end_server(end)
        self.drain()
        began = time.monotonic()
        self.server.start_again()
        self.compare(began, is_clean=end != "kill")

    def end_server(self, end):
        if end == "kill":
            self.server.kill()
            return
        if end == "SHUTDOWN":
            with self.server.connect() as operator:
                operator.send(resp.request("SHUTDOWN"))
                code = self.server.end_code()
        else:
            code = self.server.stop()
        if code != 0:
            raise AssertionError(f"{end}: ended with {code}: {self.server.output()}")

    def load(self, seconds):
        if not self._load(seconds):
            raise AssertionError(f"it ended by itself: {self.server.output()}")

    def load_to_the_end(self, seconds_max):
        """Runs until the server ends by itself, for example because its disk fails."""
        if self._load(seconds_max):
            raise AssertionError(f"it did not end: {self.server.output()}")
        self.drain()

    def _load(self, seconds):
        """Returns False if a connection was closed meanwhile."""
        everybody = self._everybody()
        for worker in everybody:
            worker.connect(self.server)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for worker in everybody:
                try:
                    if not worker.asked:
                        worker.send()
                        self.answered += PIPELINE
                    if not worker.receive():
                        return False
                except ConnectionError:
                    return False
        return True

    def _everybody(self):
        return [*self.workers, self.keeper, *self.contenders.all]

    def drain(self):
        """Reads the replies that reached the kernel before the server ended."""
        for worker in self._everybody():
            worker.connection.socket.settimeout(20)
            while worker.receive():
                pass
            worker.close()

    def compare(self, began, is_clean=False):
        with self.server.connect() as client:
            keys = [key for worker in self.workers for key in worker.keys]
            client.send(b"".join(resp.request("LOCKINFO", key.name) for key in keys))
            shown = [client.map()[b"holders"] for _ in keys]
            since_ms = (time.monotonic() - began) * 1000 + 2
            for key, holders in zip(keys, shown):
                key.compare([self.holder(as_map(one)) for one in holders], since_ms, is_clean)
            for line in self.keeper.lines:
                places = [as_map(place) for place in client.ask("QUEUE", line.name)]
                line.compare([place[b"owner"].decode() for place in places])
            self.checked += self.contenders.check(client)

    @staticmethod
    def holder(shown):
        return Held(shown[b"owner"].decode(), shown[b"token"], shown[b"ttl_ms"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--durability", choices=("async", "sync"), default="sync")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with KeptServer("--durability", arguments.durability, "--log-level", "error") as server:
        cycles = Cycles(server, arguments.seed)
        for cycle in range(arguments.cycles):
            cycles.run(cycles.chance.uniform(0.01, 0.25), ENDS[cycle % len(ENDS)])
            if cycle % 100 == 99:
                print(f"{cycle + 1} cycles, {cycles.answered} requests, {cycles.checked} contended "
                      "grants checked, all promises kept", flush=True)


if __name__ == "__main__":
    socket.setdefaulttimeout(20)
    main()
