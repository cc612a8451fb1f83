"""What both conformance drivers share: the lines they read and write, and the options of a lock."""

import json
import os
import sys
import threading
import time
import urllib.parse

import fairlock

OPTIONS = ("lease", "wait", "renew", "owner", "shared", "limit", "min_hold", "keep", "label",
           "meta")
RATE_SLICES = 75
_writing = threading.Lock()


def write(**fields):
    """Writes one line."""
    with _writing:
        print(json.dumps(fields), flush=True)


def client_options():
    """The arguments for redis.Redis and its counterpart for asyncio."""
    options = {"socket_timeout": float(os.environ.get("FAIRLOCK_READ_TIMEOUT", "5"))}
    if "FAIRLOCK_CA" in os.environ:
        options["ssl_ca_certs"] = os.environ["FAIRLOCK_CA"]
    return options


def addresses(name):
    """The addresses in an environment variable: a list of hosts and ports."""
    pairs = [address.split(":") for address in os.environ[name].split(",")]
    return [(host, int(port)) for host, port in pairs]


def cluster_login():
    """The user and TLS, which FAIRLOCK_URL names for a cluster too."""
    url = urllib.parse.urlsplit(os.environ.get("FAIRLOCK_URL", ""))
    options = {"ssl": True} if url.scheme == "rediss" else {}
    if url.username:
        options.update(username=url.username, password=urllib.parse.unquote(url.password))
    return options


def new_client(library, sentinel_module, cluster_module):
    """A client of one server, of the master that Sentinels name, or of a cluster."""
    if "FAIRLOCK_CLUSTER" in os.environ:
        nodes = [cluster_module.ClusterNode(*address)
                 for address in addresses("FAIRLOCK_CLUSTER")]
        return library.RedisCluster(startup_nodes=nodes, **cluster_login(), **client_options())
    if "FAIRLOCK_SENTINELS" not in os.environ:
        return library.Redis.from_url(os.environ["FAIRLOCK_URL"], **client_options())
    sentinel = sentinel_module.Sentinel(addresses("FAIRLOCK_SENTINELS"),
                                        socket_timeout=client_options()["socket_timeout"])
    return sentinel.master_for("main")


def lock_options(request):
    return {name: request[name] for name in OPTIONS if name in request}


def failure(error):
    """The fields of a reply about this error."""
    if isinstance(error, fairlock.Denied):
        why = error.explanation
        return {"error": "Denied", "text": str(error), "reason": why.reason,
                "position": why.position, "eta": why.eta,
                "holders": [holder.owner for holder in why.holders]}
    name = "Failed"
    if isinstance(error, fairlock.FairlockError):
        name = type(error).__name__
    return {"error": name, "text": f"{type(error).__name__}: {error}"}


def fork_and_check(hold):
    """Returns what check() raises in a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            hold.check()
            name = "held"
        except fairlock.FairlockError as error:
            name = type(error).__name__
        os.write(writing, name.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as pipe:
        return pipe.read().decode()


def is_rising(tokens):
    return all(before < after for before, after in zip(tokens, tokens[1:]))


class Rate:
    """Counts what two loops do in alternate slices of the time, and keeps the best slice of each:
    other programs on the machine slow down some slices, but seldom all."""

    def __init__(self, seconds):
        self.slice_seconds = seconds / (2 * RATE_SLICES)
        self.count = 0
        self.best = {"library": 0.0, "raw": 0.0}

    def slices(self):
        """The name of each slice, and the time at which it ends."""
        for _ in range(RATE_SLICES):
            for name in self.best:
                self.count, began = 0, time.monotonic()
                yield name, began + self.slice_seconds
                rate = self.count / (time.monotonic() - began)
                self.best[name] = max(self.best[name], rate)

    def result(self):
        return self.best


# LOCK and UNLOCK as an application would send them by itself.
RAW_LOCK = ("LOCK", "rate:raw", "raw", "PX", 30000)
RAW_UNLOCK = ("UNLOCK", "rate:raw", "raw", "TOKEN")


def requests():
    """The requests on stdin."""
    for line in sys.stdin:
        yield json.loads(line)
