#!/usr/bin/python3
"""Drives the cluster modes of client libraries through fail-overs of a fleet of four partitions.

    tests/clients/cluster_through_fail_overs.py --fail-overs 20

FAIRLOCKD is the server to test: by default, that of the release build.

One client of each library takes and releases locks of all partitions, as fail_overs/worker.md
describes, through cluster/player.md. All of them compete for the same keys. In each fail-over, the
leader of a random partition is killed with SIGKILL; once another node leads, it is started again.
Within --seconds-max after the kill, every client must have been granted a lock of that partition.
At the end, a table shows for each client how long it got no answers.

The exit status is 0 if all promises were kept, and 1 otherwise. A library that is not installed is
not driven, which the table says.
"""

import argparse
import collections
import os
import pathlib
import random
import statistics
import sys
import threading
import time

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path[:0] = [str(ROOT / "tests/integration"), str(FOLDER / "fail_overs"),
                str(FOLDER / "cluster")]
os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))

# pylint: disable=wrong-import-position
import hold_judge
import players
from own_cluster import PartitionedFleet
from through_fail_overs import error_kind
from worker_process import Attempts, microseconds

KEYS_EACH = 2
START_SECONDS_MAX = 30
LEADER_SECONDS_MAX = 20
WHOLE_SECONDS_MAX = 30
FINDINGS_SHOWN = 20


def keys_by_partition(fleet):
    """Returns {partition: some keys in it}."""
    keys = {partition: [] for partition in range(fleet.partitions)}
    number = 0
    while any(len(some) < KEYS_EACH for some in keys.values()):
        number += 1
        key = f"order:{number}"
        some = keys[fleet.partition_of(key)]
        if len(some) < KEYS_EACH:
            some.append(key)
    return keys


class Contender(Attempts, threading.Thread):
    """Lets a player take and release locks."""

    def __init__(self, player, keys):
        Attempts.__init__(self)
        threading.Thread.__init__(self, name=player.name, daemon=True)
        self.player = player
        self.owner = player.name.replace(" ", "-")
        self.keys = keys
        self.is_over = threading.Event()
        self.failure = None

    def run(self):
        try:
            self.work()
        except (AssertionError, OSError) as failure:  # the player ended
            self.failure = failure

    def work(self):
        held_key = f"{self.owner}:held"
        held = self.repeat("LOCK", held_key, self.owner, "PX", 600_000)
        turn = 0
        while not self.is_over.is_set():
            key = self.keys[turn % len(self.keys)]
            turn += 1
            token = self.repeat("LOCK", key, self.owner, "PX", 30_000, "WAIT", "200ms")
            if token is not None:
                time.sleep(0.005)
                self.repeat("CHECK", key, token)
                self.repeat("UNLOCK", key, self.owner)
            self.repeat("RENEW", held_key, self.owner, "PX", 600_000, "TOKEN", held)
            time.sleep(0.02)

    def repeat(self, *words):
        """Repeats the request until it is answered."""
        while True:
            attempt = {"op": words[0], "key": words[1], "begun": microseconds()}
            try:
                attempt["reply"] = self.player.call(*words)
            except players.Refused as error:
                attempt["error"] = str(error)
            attempt["ended"] = microseconds()
            self.add(attempt)
            if "reply" in attempt:
                return attempt["reply"]
            time.sleep(0.01)


class ClusterFailOvers:
    """One fleet, and one contender for each library."""

    def __init__(self, arguments, out=print):
        self.arguments = arguments
        self.out = out
        self.chance = random.Random(arguments.seed)
        self.fleet = None
        self.keys = {}
        self.contenders = []
        self.versions = {}
        self.missing = {}             # {name: the package that it needs}
        self.gaps = collections.defaultdict(list)  # {contender: milliseconds}
        self.outages = []             # (begin, end) of each fail-over, in microseconds
        self.findings = []

    def run(self):
        with PartitionedFleet(members=3) as self.fleet:
            self.keys = keys_by_partition(self.fleet)
            try:
                self.start_contenders()
                for number in range(self.arguments.fail_overs):
                    self.fail_over(number)
            except AssertionError as failure:  # the fleet is no longer usable
                self.findings.append(f"{failure}\n{self.fleet.logs()}")
            self.stop_contenders()
        self.findings += hold_judge.judge({one.name: one.attempts for one in self.contenders},
                                          self.outages)
        return self.findings

    def start_contenders(self):
        all_keys = [key for some in zip(*self.keys.values()) for key in some]
        for name in self.arguments.clients:
            stack = players.ALL[name]
            self.versions[name] = stack.found_version()
            if self.versions[name] is None:
                self.missing[name] = stack.package
                continue
            player = players.Player(stack, stack.prepare(self.fleet.directory), self.fleet.nodes,
                                    self.fleet.directory / f"{name}.err")
            self.contenders.append(Contender(player, all_keys))
        for contender in self.contenders:
            contender.start()
        for contender in self.contenders:
            if contender.await_grant(0, START_SECONDS_MAX) is None:
                raise AssertionError(f"{contender.name} was granted no lock: "
                                     f"{contender.attempts[-3:]}")

    def stop_contenders(self):
        for contender in self.contenders:
            contender.is_over.set()
        for contender in self.contenders:
            contender.join(START_SECONDS_MAX)
            status = contender.player.stop()
            if status != 0 or contender.failure or contender.is_alive():
                log = self.fleet.directory / f"{contender.name}.err"
                self.findings.append(f"{contender.name} ended with {status}, {contender.failure}: "
                                     f"{log.read_text()[-3000:]}")

    def fail_over(self, number):
        self.fleet.await_whole(WHOLE_SECONDS_MAX)
        time.sleep(self.chance.uniform(0.3, 1.3))
        partition = self.chance.randrange(self.fleet.partitions)
        old = self.fleet.leaders()[partition]
        began = microseconds()
        old.kill()
        killed = microseconds()
        new = self.await_other_leader(partition)
        leads = microseconds()
        self.outages.append((began, leads))
        old.start()
        for contender in self.contenders:
            self.await_contender(contender, partition, killed)
        longest = max(self.gaps[one][-1] for one in self.contenders)
        self.out(f"{number + 1:3} partition {partition}: {old.name} -> {new.name} in "
                 f"{(leads - began) / 1000:5.0f} ms; the last client was back after a gap of "
                 f"{longest:5.0f} ms")

    def await_other_leader(self, partition):
        end = time.monotonic() + LEADER_SECONDS_MAX
        while time.monotonic() < end:
            leader = self.fleet.leaders().get(partition)
            if leader is not None:
                return leader
            time.sleep(0.02)
        raise AssertionError(f"no node leads partition {partition}")

    def await_contender(self, contender, partition, killed):
        grant = contender.await_grant(killed, self.arguments.seconds_max + START_SECONDS_MAX,
                                      self.keys[partition])
        if grant is None:
            raise AssertionError(f"{contender.name} was granted no lock of partition {partition}: "
                                 f"{contender.attempts[-3:]}")
        seconds = (grant["ended"] - killed) / 1e6
        if seconds > self.arguments.seconds_max:
            self.findings.append(f"{contender.name} was granted a lock of the partition only "
                                 f"{seconds:.1f} s after its leader was killed")
        self.gaps[contender].append(contender.longest_gap(killed, grant["ended"]) / 1000)

    def rows(self):
        """Returns what the table shows."""
        rows = []
        for contender in self.contenders:
            gaps = self.gaps[contender]
            errors = collections.Counter(error_kind(one["error"])
                                         for one in contender.attempts if "error" in one)
            rows.append({
                "client": contender.name, "version": self.versions[contender.name],
                "fail_overs": len(gaps), "operations": len(contender.answers()),
                "errors": errors.total(), "median_ms": statistics.median(gaps or [0]),
                "longest_ms": max(gaps, default=0), "kinds_of_errors": dict(errors.most_common())})
        return rows

    def report(self):
        self.out("| client | version | fail-overs | operations | errors | median gap (ms) | "
                 "longest (ms) |\n|---|---|---|---|---|---|---|")
        for row in self.rows():
            self.out(f"| {row['client']} | {row['version']} | {row['fail_overs']} | "
                     f"{row['operations']} | {row['errors']} | {row['median_ms']:.0f} | "
                     f"{row['longest_ms']:.0f} |")
        for name, package in self.missing.items():
            self.out(f"SKIPPED: {name}, which needs {package}")
        for row in self.rows():
            for error, count in row["kinds_of_errors"].items():
                self.out(f"  {row['client']}: {count} x {error}")
        for finding in self.findings[:FINDINGS_SHOWN]:
            self.out(f"FINDING: {finding}")
        self.out(f"{self.arguments.fail_overs} fail-overs, {len(self.contenders)} clients, "
                 f"{len(self.missing)} skipped, {len(self.findings)} findings")


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fail-overs", type=int, default=4,
                        help="how many (default: %(default)s)")
    parser.add_argument("--clients", nargs="+", choices=list(players.ALL), metavar="CLIENT",
                        default=list(players.ALL), help="of " + ", ".join(players.ALL))
    parser.add_argument("--seconds-max", type=float, default=10,
                        help="after a kill, until every client has been granted a lock of the "
                             "partition (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="decides the pauses and partitions")
    arguments = parser.parse_args(words)
    if arguments.fail_overs < 1 or arguments.seconds_max <= 0:
        parser.error("--fail-overs and --seconds-max must be positive")
    return arguments


def main(words):
    fail_overs = ClusterFailOvers(parsed(words), lambda text: print(text, flush=True))
    fail_overs.run()
    fail_overs.report()
    return 1 if fail_overs.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
