#!/usr/bin/python3
"""Measures a fleet of three nodes on three members of etcd, all on this machine.

    bench/fleet.py [--quick] [SECTION]...    after a build of the release preset; the sections are
                                             throughput, lone, peer, contended and partitions;
                                             default: all

throughput   changes per second with 500 connections that send 16 requests at once. Each LOCK and
             each UNLOCK is a change.
lone         the time of a LOCK of a single client, beside that of a bare transaction of etcd with
             as many bytes, which storage measures in the same rounds
peer         locks per second of 32 clients, each with one request at a time: LOCK and UNLOCK of
             fairlock, beside the Lock and Unlock calls of etcd's own lock service, and one
             `etcdctl lock KEY true` after the other
contended    100 clients take turns on one key. In the second half, the leader is killed or hands
             over every few seconds. Counts inversions: a waiter that was behind another one in
             QUEUE, and was granted the lock before it. The clients use KEEP, because without
             KEEP a waiter that asks again late after a fail-over delays nobody.
partitions   changes per second of a fleet of two partitions with one node each: first one partition
             under load, then both, each with half of the clients. Shows the CPU time that each
             change costs the leaders, etcd and the clients: together they can use all cores. Every
             client keeps a few locks, so that a change is not undone before it is written

Exits with 1 if there is an inversion.
"""

import argparse
import asyncio
import base64
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).parents[1]
os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "tests/histories")]

# pylint: disable=wrong-import-position
import wire  # noqa: E402
from own_cluster import PartitionedFleet  # noqa: E402
from own_fleet import ETCD, Fleet  # noqa: E402

BIN = ROOT / "build/release/bin"
CLIENTS = 100
PEER_CLIENTS = 32
PARTITION_CLIENTS = 500
LEASE_MS = 10_000
LOOK_PAUSE_S = 0.02
RETRY_PAUSE_S = 0.02


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


# Throughput ---------------------------------------------------------------------------------------

def load(leader, connections, pipeline, commands):
    """Returns the figures that fairlock_load prints, by their names."""
    done = subprocess.run(
        [BIN / "fairlock_load", "pairs", "--server", f"127.0.0.1:{leader.port}", "--server-pid",
         str(leader.process.pid), "--connections", str(connections), "--pipeline", str(pipeline),
         "--commands", str(commands)], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def throughput(fleet, is_quick):
    rounds = [load(fleet.leader(), 500, 16, 200_000 if is_quick else 600_000)
              for _ in range(1 if is_quick else 3)]
    rates = [figures["commands_per_second"] for figures in rounds]
    print(f"throughput: {statistics.median(rates):,.0f} changes/s "
          f"({min(rates):,.0f} to {max(rates):,.0f})")


# Two partitions -----------------------------------------------------------------------------------

def cpu_seconds(processes):
    """User and system time of the processes so far."""
    ticks = 0
    for process in processes:
        stat = pathlib.Path(f"/proc/{process.process.pid}/stat").read_text(encoding="ascii")
        ticks += sum(map(int, stat.rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def etcd_metric(fleet, name):
    """Returns the values of all members."""
    values = []
    for endpoint in fleet.endpoints.split(","):
        with urllib.request.urlopen(f"http://{endpoint}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        values.append(float(re.search(rf"^{name} (\S+)$", text, re.M)[1]))
    return values


def etcd_use(fleet):
    """Returns CPU seconds of all members, committed writes, and bytes received from clients."""
    return (cpu_seconds(fleet.members),
            max(etcd_metric(fleet, "etcd_server_proposals_committed_total")),
            sum(etcd_metric(fleet, "etcd_network_client_grpc_received_bytes_total")))


class PartitionLoad:
    """A load generator for each of the given partitions, which run at the same time."""

    def __init__(self, fleet, chosen):
        self.fleet = fleet
        leaders = fleet.leaders()
        tags = {fleet.partition_of(str(number)): str(number) for number in range(50)}
        self.words = [[BIN / "fairlock_load", "pairs", "--server",
                       f"127.0.0.1:{leaders[partition].port}", "--server-pid",
                       str(leaders[partition].process.pid), "--connections",
                       str(PARTITION_CLIENTS // len(chosen)), "--pipeline", "16",
                       "--ahead", "8", "--key-prefix", "{%s}" % tags[partition]]
                      for partition in chosen]

    def load(self, commands):
        """Returns what the generators print, and what etcd used."""
        before = etcd_use(self.fleet)
        each = ["--commands", str(commands // len(self.words))]
        running = [subprocess.Popen(words + each, stdout=subprocess.PIPE, text=True)
                   for words in self.words]
        figures = [{name: float(value) for name, value in
                    map(str.split, process.communicate()[0].splitlines())} for process in running]
        if any(process.returncode for process in running):
            raise SystemExit("fairlock_load failed")
        return figures, [after - earlier
                         for earlier, after in zip(before, etcd_use(self.fleet))]

    def run(self, commands):
        """Returns changes per second, and for each change the microseconds of CPU of the leaders,
        etcd and the clients, etcd's writes, and their bytes. What etcd does before and after the
        changes, when the clients take and release their locks one by one, does not count."""
        _, apart = self.load(commands // 20)
        figures, used = self.load(commands)
        seconds, writes, size = ((all_of_it - before) / (commands - commands // 20)
                                 for all_of_it, before in zip(used, apart))
        leader, clients = (statistics.fmean(one[f"{side}_cpu_us_per_command"] for one in figures)
                           for side in ("server", "client"))
        return {"rate": sum(one["commands_per_second"] for one in figures), "leader": leader,
                "clients": clients, "etcd": seconds * 1e6, "writes": writes, "bytes": size}


def partitions(is_quick):
    commands = 300_000 if is_quick else 1_000_000
    with PartitionedFleet(partitions=2, nodes_each=1, members=3) as fleet:
        rounds = [[PartitionLoad(fleet, chosen).run(commands) for chosen in ((0,), (0, 1))]
                  for _ in range(1 if is_quick else 3)]
    for name, row in zip(("one partition", "two partitions"), zip(*rounds)):
        figures = {key: statistics.median(one[key] for one in row) for key in row[0]}
        cores = figures["rate"] * sum(figures[key] for key in ("leader", "etcd", "clients")) / 1e6
        print(f"{name}: {figures['rate']:,.0f} changes/s; CPU for each change: leader "
              f"{figures['leader']:.2f} us, etcd {figures['etcd']:.2f} us, clients "
              f"{figures['clients']:.2f} us, together {cores:.2f} cores; "
              f"{1 / figures['writes']:,.0f} changes in each write of etcd, "
              f"{figures['bytes']:.0f} bytes for each change")
    ratio = statistics.median(two["rate"] / one["rate"] for one, two in rounds)
    print(f"two partitions: {ratio:.2f} times as many changes as one")


# The time of one lock -----------------------------------------------------------------------------

def lock_times(leader, count):
    times = []
    with leader.connect() as client:
        for number in range(count):
            began = time.monotonic()
            token = client.ask("LOCK", f"lone:{number % 1000}", "lone", "PX", LEASE_MS)
            times.append(time.monotonic() - began)
            if not isinstance(token, int):
                raise SystemExit(f"LOCK: {token}")
            client.ask("UNLOCK", f"lone:{number % 1000}", "lone")
    return times


def transaction_times(fleet, seconds):
    """Returns the median and the 99th percentile in seconds."""
    done = subprocess.run(
        [BIN / "etcd_bench", fleet.endpoints, "--benchmark_filter=^Transactions/128/",
         f"--benchmark_min_time={seconds}", "--benchmark_format=json"], capture_output=True,
        text=True, check=True)
    figures = json.loads(done.stdout)["benchmarks"][0]
    return figures["p50_us"] / 1e6, figures["p99_us"] / 1e6


def lone(fleet, is_quick):
    locks, bare = [], []
    for _ in range(1 if is_quick else 5):
        times = lock_times(fleet.leader(), 300 if is_quick else 1500)
        locks.append((percentile(times, 50), percentile(times, 99)))
        bare.append(transaction_times(fleet, 0.5 if is_quick else 2))
    for at, name in enumerate(("p50", "p99")):
        lock, transaction = (statistics.median(pair[at] for pair in pairs)
                             for pairs in (locks, bare))
        ratio = statistics.median(a[at] / b[at] for a, b in zip(locks, bare))
        print(f"lone client: {name} of LOCK {lock * 1000:.2f} ms, of a bare transaction "
              f"{transaction * 1000:.2f} ms, ratio {ratio:.2f}")


# etcd's own locks ---------------------------------------------------------------------------------

class EtcdLocks(threading.Thread):
    """Locks and unlocks names of its own through etcd's lock service, on one connection."""

    def __init__(self, port, number, is_over):
        super().__init__()
        self.port = port
        self.number = number
        self.is_over = is_over
        self.count = 0

    def run(self):
        with socket.create_connection(("127.0.0.1", self.port), 30) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            lease = self.call(stream, "/v3/lease/grant", {"TTL": 60})["ID"]
            while not self.is_over.is_set():
                name = f"peer:{self.number}:{self.count % 1000}"
                name = base64.b64encode(name.encode()).decode()
                key = self.call(stream, "/v3/lock/lock", {"name": name, "lease": lease})["key"]
                self.call(stream, "/v3/lock/unlock", {"key": key})
                self.count += 1

    @staticmethod
    def call(stream, path, body):
        data = json.dumps(body).encode()
        stream.sendall(b"POST %s HTTP/1.1\r\nHost: etcd\r\nContent-Length: %d\r\n\r\n%s" %
                       (path.encode(), len(data), data))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += stream.recv(65536) or raise_ended()
        head, _, rest = answer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        if " 200 " not in lines[0]:
            raise SystemExit(f"etcd: {path}: {lines[0]}")
        size = next(int(line.split(":")[1]) for line in lines
                    if line.lower().startswith("content-length"))
        while len(rest) < size:
            rest += stream.recv(65536) or raise_ended()
        return json.loads(rest)


def raise_ended():
    raise SystemExit("etcd closed a connection")


def etcd_rate(fleet, seconds):
    is_over = threading.Event()
    ports = [int(endpoint.split(":")[1]) for endpoint in fleet.endpoints.split(",")]
    clients = [EtcdLocks(ports[number % len(ports)], number, is_over)
               for number in range(PEER_CLIENTS)]
    began = time.monotonic()
    for client in clients:
        client.start()
    time.sleep(seconds)
    is_over.set()
    for client in clients:
        client.join()
    return sum(client.count for client in clients) / (time.monotonic() - began)


def etcdctl_rate(fleet, seconds):
    """Returns None if there is no etcdctl."""
    if shutil.which("etcdctl") is None:
        return None
    count, began = 0, time.monotonic()
    while time.monotonic() < began + seconds:
        subprocess.run(["etcdctl", "--endpoints", fleet.endpoints, "lock", f"etcdctl:{count}",
                        "true"], env={**os.environ, "ETCDCTL_API": "3"}, check=True,
                       stdout=subprocess.DEVNULL)
        count += 1
    return count / (time.monotonic() - began)


def peer(fleet, is_quick):
    seconds = 2 if is_quick else 5
    ours, theirs = [], []
    for _ in range(1 if is_quick else 3):
        figures = load(fleet.leader(), PEER_CLIENTS, 1, 20_000 if is_quick else 60_000)
        ours.append(figures["commands_per_second"] / 2)
        theirs.append(etcd_rate(fleet, seconds))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    print(f"{PEER_CLIENTS} clients: fairlock {statistics.median(ours):,.0f} locks/s, etcd's lock "
          f"service {statistics.median(theirs):,.0f} locks/s, ratio {ratio:.1f}")
    rate = etcdctl_rate(fleet, seconds)
    print("etcdctl lock, one after the other: " + (
        f"{rate:.0f} locks/s" if rate is not None
        else "not measured: install etcdctl (Debian: etcd-client)"))


# One key ------------------------------------------------------------------------------------------

class Lost(Exception):
    """The connection ended, or this node does not lead."""


class Asker:
    """A client that repeats a request at one node after the other until one executes it."""

    def __init__(self, ports):
        self.ports = ports
        self.at = 0
        self.streams = None

    async def ask(self, *requests):
        """Sends the requests together, and returns their replies."""
        while True:
            try:
                return await self._ask(requests)
            except (Lost, OSError):
                self.close()
                self.at += 1
                await asyncio.sleep(RETRY_PAUSE_S)

    async def _ask(self, requests):
        if self.streams is None:
            port = self.ports[self.at % len(self.ports)]
            self.streams = await asyncio.open_connection("127.0.0.1", port)
        reader, writer = self.streams
        writer.write(b"".join(map(wire.encode, requests)))
        parser, replies = wire.Parser(), []
        while len(replies) < len(requests):
            data = await reader.read(1 << 18)
            if not data:
                raise Lost
            parser.feed(data)
            replies += parser.replies()
        if any(isinstance(reply, dict) and
               str(reply.get("error", "")).startswith(("CLUSTERDOWN", "LOADING"))
               for reply in replies):
            raise Lost
        return replies

    def close(self):
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


class Contention:
    """The clients of one key, and what they saw."""

    def __init__(self, fleet):
        self.ports = [node.port for node in fleet.nodes]
        self.is_over = False
        self.grants = []     # (time, token, owner)
        self.queues = []     # (token of the holder, owners in the queue)

    async def take_turns(self, number):
        asker, owner = Asker(self.ports), f"client-{number}"
        while not self.is_over:
            token, = await asker.ask(["LOCK", "one", owner, "PX", LEASE_MS, "WAIT", "60s", "KEEP",
                                      "30s"])
            if not isinstance(token, int):
                raise SystemExit(f"LOCK: {token}")
            self.grants.append((time.monotonic(), token, owner))
            await asker.ask(["UNLOCK", "one", owner, "TOKEN", token])
        asker.close()

    async def look(self):
        asker = Asker(self.ports)
        while not self.is_over:
            *_, replies = await asker.ask(["MULTI"], ["LOCKINFO", "one"],
                                          ["QUEUE", "one", "COUNT", CLIENTS], ["EXEC"])
            if isinstance(replies, list):
                self.keep(*replies)
            await asyncio.sleep(LOOK_PAUSE_S)
        asker.close()

    def keep(self, lock, queue):
        holders = field(lock, "holders") if lock else None
        if holders:
            self.queues.append((field(holders[0], "token"),
                                [field(place, "owner") for place in queue]))

    def inversions(self):
        """Counts the owners that were granted the lock before the owner ahead of them."""
        tokens = {}
        for token, owner in sorted({(token, owner) for _, token, owner in self.grants}):
            tokens.setdefault(owner, []).append(token)
        count = compared = 0
        for holder, owners in self.queues:
            ahead = holder
            for owner in owners:
                after = next((token for token in tokens.get(owner, ()) if token > holder), None)
                if after is None:
                    continue  # the measurement ended before its turn
                compared += 1
                count += after < ahead
                ahead = max(ahead, after)
        return count, compared


def field(pairs, name):
    return pairs[name] if isinstance(pairs, dict) else pairs[pairs.index(name) + 1]


async def contend(fleet, seconds, fail_overs):
    contention = Contention(fleet)
    tasks = [asyncio.create_task(contention.take_turns(number)) for number in range(CLIENTS)]
    tasks.append(asyncio.create_task(contention.look()))
    await asyncio.sleep(seconds)
    quiet = len(contention.grants)
    for number in range(fail_overs):
        await asyncio.to_thread(fail_over, fleet, number)
        await asyncio.sleep(3)
    contention.is_over = True
    await asyncio.gather(*tasks)
    return contention, quiet


def fail_over(fleet, number):
    leader = fleet.await_leader()
    if number % 2:
        with leader.connect() as client:
            client.ask("CLUSTER", "FAILOVER")
    else:
        leader.kill()
        leader.start()


def contended(fleet, is_quick):
    seconds, fail_overs = (3, 2) if is_quick else (10, 10)
    contention, quiet = asyncio.run(contend(fleet, seconds, fail_overs))
    inversions, compared = contention.inversions()
    times = [at for at, _, _ in contention.grants]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    print(f"one key, {CLIENTS} clients: {quiet / seconds:,.0f} hand-overs/s; with {fail_overs} "
          f"fail-overs {len(times):,} hand-overs in all, longest pause {max(gaps):.2f} s, "
          f"{inversions} inversions among {compared:,} places in {len(contention.queues):,} queues")
    if compared == 0:
        raise SystemExit("no queue was seen, so the order was not checked")
    if inversions:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = {"throughput": throughput, "lone": lone, "peer": peer, "contended": contended,
                "partitions": partitions}
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections))
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(sections):
        parser.error(f"unknown section {', '.join(unknown)}; sections: {', '.join(sections)}")
    if shutil.which(ETCD) is None:
        raise SystemExit(f"{ETCD} is missing: install etcd (Debian: etcd-server), or set ETCD")
    for name in arguments.sections or sections:
        if name == "partitions":
            partitions(arguments.quick)
            continue
        with Fleet() as fleet:
            sections[name](fleet, arguments.quick)


if __name__ == "__main__":
    main()
