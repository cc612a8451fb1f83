"""Clients that contend for the same keys under load, waiting in every way that a request can wait,
until the server ends; records what each client was told.

All leases are long and each token is released at most once, so after a restart every token that a
client has received must still hold its keys, unless its release was requested.
"""

import json

import resp
from crash_history import Broken

KEYS = [f"contended:{i}" for i in range(4)]
INBOX = "crash_cycles:inbox"
OPTIONS = ((), (), ("SHARED",), ("SHARED",), ("LIMIT", 3), ("LIMIT", 1), ("KEEP", "60s"),
           ("SHARED", "KEEP", "60s"), ("SESSION", "GRACE", "60s"))
LEASE = ("PX", 3_600_000)
CONTENDERS = 16


class Grant:
    """A token that a client has received, and the keys that are held with it."""

    def __init__(self, keys, owner, token):
        self.keys = keys
        self.owner = owner
        self.token = token
        self.is_release_asked = False


class LoadClient:
    """A client of a loaded server, on a non-blocking connection."""

    connection = None

    def connect(self, server):
        self.connection = server.connect()
        self.connection.socket.setblocking(False)

    def receive(self):
        """Reads what has arrived; returns False if the server has gone."""
        try:
            while data := self.connection.socket.recv(65536):
                self.connection.buffer += data
                self._take_replies()
            return False
        except BlockingIOError:
            return True
        except ConnectionError:
            return False

    def close(self):
        self.connection.close()

    def _take_replies(self):
        raise NotImplementedError


class Contender(LoadClient):
    """Waits for a lock, holds it for a few rounds, releases it, and repeats, on one connection."""

    def __init__(self, number, chance):
        self.number = number
        self.chance = chance
        self.asked = None
        self.grant = None
        self.grants = []
        self.count = 0

    def connect(self, server):
        super().connect(server)
        self.asked = self.grant = None
        self.grants = []

    def send(self):
        self.count += 1
        if self.grant is not None:
            if self.chance.random() < 0.5:
                return
            self._release()
            return
        owner = f"contender {self.number}.{self.count}"
        options = self.chance.choice(OPTIONS)
        keys = [self.chance.choice(KEYS)]
        if self.chance.random() < 0.3 and "SESSION" not in options:
            keys = self.chance.sample(KEYS, 2)
        name = ("LOCK", keys[0]) if len(keys) == 1 else ("MLOCK", len(keys), *keys)
        self._ask(keys, owner, resp.request(*name, owner, *LEASE, *options, "WAIT", "60s"))

    def _ask(self, keys, owner, request):
        self.asked = (keys, owner)
        self.connection.send(request)

    def _release(self):
        grant, self.grant = self.grant, None
        grant.is_release_asked = True
        self.asked = None, None
        self.connection.send(resp.request("MUNLOCK", len(grant.keys), *grant.keys, grant.owner))

    def _take_replies(self):
        while b"\r\n" in self.connection.buffer and self.asked is not None:
            reply = self.connection.reply()
            keys, owner = self.asked
            self.asked = None
            if keys is not None and isinstance(reply, int):
                self._hold(keys, owner, reply)

    def _hold(self, keys, owner, token):
        self.grant = Grant(keys, owner, token)
        self.grants.append(self.grant)


class NotifiedContender(Contender):
    """Waits for many locks at once, on a channel that its second connection listens to."""

    def __init__(self, number, chance):
        super().__init__(number, chance)
        self.inbox = None
        self.held = []

    def connect(self, server):
        super().connect(server)
        self.held = []
        self.inbox = server.connect()
        self.inbox.ask("SUBSCRIBE", INBOX)
        self.inbox.socket.setblocking(False)

    def send(self):
        self.count += 1
        if self.held:
            self.grant = self.held.pop()
            self._release()
            return
        keys = [self.chance.choice(KEYS)]
        owner = f"notified {self.number}.{self.count}"
        options = self.chance.choice(((), ("SHARED",), ("KEEP", "60s")))
        self._ask(keys, owner,
                  resp.request("LOCK", keys[0], owner, *LEASE, *options, "NOTIFY", INBOX))

    def close(self):
        super().close()
        self.inbox.close()

    def receive(self):
        is_there = super().receive()
        try:
            while data := self.inbox.socket.recv(65536):
                self.inbox.buffer += data
            return False
        except BlockingIOError:
            return is_there
        except ConnectionError:
            return False
        finally:
            self._take_messages()

    def _take_messages(self):
        while self.inbox.buffer.count(b"\r\n") >= 7:
            _, _, text = self.inbox.reply()
            message = json.loads(text)
            if message["event"] == "granted":
                self._hold([message["key"]], message["owner"], message["token"])

    def _hold(self, keys, owner, token):
        self.held.append(Grant(keys, owner, token))
        self.grants.append(self.held[-1])


class Contenders:
    """All contenders; Cycles runs them as one of its workers."""

    def __init__(self, chance):
        self.all = [Contender(i, chance) for i in range(CONTENDERS)]
        self.all.append(NotifiedContender(CONTENDERS, chance))

    def check(self, client):
        """Checks after a restart that every token not given back is still held; then starts
        again."""
        checked = 0
        for contender in self.all:
            for grant in contender.grants:
                if grant.is_release_asked:
                    continue
                for key in grant.keys:
                    checked += 1
                    if client.ask("CHECK", key, grant.token) != 1:
                        raise Broken(f"{grant.owner} was told token {grant.token}, which does not "
                                     f"hold {key} after the restart")
        for key in KEYS:
            client.ask("BREAK", key)
            for place in client.ask("QUEUE", key):
                client.ask("CANCEL", key, dict(zip(place[::2], place[1::2]))[b"owner"])
            client.ask("BREAK", key)
        return checked
