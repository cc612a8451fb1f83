#!/usr/bin/python3
"""Drives client libraries through fail-overs of a fleet on etcd, and judges what they were told.

    tests/clients/through_fail_overs.py --fail-overs 20

FAIRLOCKD is the server to test: by default, that of the release build.

Each library runs twice: in its Sentinel mode, and with a plain connection to one node, which relays
to the leader. All of them compete for the same keys (fail_overs/worker.md). Every other fail-over
is CLUSTER FAILOVER; in the others the leader is killed with SIGKILL and started again. The node of
the plain connections is never killed. After each fail-over, every client must be granted a lock
within --seconds-max. At the end, a table shows for each client how long it got no answers.

With --own, the libraries of clients/ are driven, each on its Redis client.

The exit status is 0 if all promises were kept, and 1 otherwise. A library that is not installed is
not driven, which the table says.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import statistics
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path[:0] = [str(ROOT / "tests/integration"), str(FOLDER / "fail_overs")]
os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))

# pylint: disable=wrong-import-position
import hold_judge
import resp
import stacks
from own_fleet import Fleet
from worker_process import Worker, microseconds

KINDS = ("planned", "killed")
KEYS = [f"order:{number}" for number in range(1, 7)]
START_SECONDS_MAX = 30
LEADER_SECONDS_MAX = 20
IN_SYNC = re.compile(rb"^fairlock_fleet_in_sync\{[^}]*\} 1$", re.M)
SYNC_SECONDS_MAX = 30
FINDINGS_SHOWN = 20


class FailOvers:
    """One fleet, and the workers of all clients."""

    def __init__(self, arguments, out=print):
        self.arguments = arguments
        self.out = out
        self.chance = random.Random(arguments.seed)
        self.fleet = None
        self.workers = []
        self.missing = {}             # {name: the package that it needs}
        self.versions = {}
        self.gaps = {}                # {worker: {kind: [milliseconds]}}
        self.outages = []             # (begin, end) of each fail-over, in microseconds
        self.findings = []

    def run(self):
        with Fleet(relays=True, http=True) as self.fleet:
            try:
                self.start_workers()
                for number in range(self.arguments.fail_overs):
                    self.fail_over(number, KINDS[number % len(KINDS)])
            except AssertionError as failure:  # the fleet is no longer usable
                self.findings.append(f"{failure}\n{self.fleet.logs()}")
            self.stop_workers()
        self.findings += hold_judge.judge({str(one): one.attempts for one in self.workers},
                                          self.outages)
        return self.findings

    @property
    def plain_node(self):
        return self.fleet.nodes[-1]

    def start_workers(self):
        environment = {
            "SENTINELS": ",".join(f"127.0.0.1:{node.sentinel_port}" for node in self.fleet.nodes),
            "NODE": f"127.0.0.1:{self.plain_node.port}",
            "NODES": ",".join(f"127.0.0.1:{node.port}" for node in self.fleet.nodes),
            "KEYS": ",".join(KEYS)}
        for name in self.arguments.clients:
            stack = stacks.ALL[name]
            self.versions[name] = stack.found_version()
            if self.versions[name] is None:
                self.missing[name] = stack.package
                continue
            command = stack.prepare(self.fleet.directory)
            for mode in stack.modes:
                log = self.fleet.directory / f"{name}-{mode}.err"
                self.workers.append(
                    Worker(name, mode, command, {**environment, **stack.environment}, log))
        for worker in self.workers:
            if worker.await_grant(0, START_SECONDS_MAX) is None:
                raise AssertionError(f"{worker} was granted no lock: {worker.attempts[-3:]}")

    def stop_workers(self):
        for worker in self.workers:
            status = worker.stop()
            if status != 0 or worker.strange:
                log = self.fleet.directory / f"{worker.name}-{worker.mode}.err"
                self.findings.append(f"{worker} ended with {status}, and wrote "
                                     f"{worker.strange[:3]} and {log.read_text()[-1000:]}")

    def fail_over(self, number, kind):
        self.await_sync()
        time.sleep(self.chance.uniform(0.3, 1.3))
        old = self.fleet.logged_leader()
        began = microseconds()
        if kind == "planned":
            self.hand_over(old)
        else:
            old.kill()
        new = self.await_other_leader(old)
        leads = microseconds()
        self.outages.append((began, leads))
        if kind == "killed":
            old.start()
        for worker in self.workers:
            self.await_worker(worker, kind, began, leads)
        longest = max(self.gaps.get(one, {}).get(kind, [0])[-1] for one in self.workers)
        self.out(f"{number + 1:3} {kind:8} {old.name} -> {new.name} in "
                 f"{(leads - began) / 1000:5.0f} ms; the last client was back after a gap of "
                 f"{longest:5.0f} ms")

    def hand_over(self, old):
        """Hands over to a node that may be killed next."""
        successor = self.chance.choice([node for node in self.fleet.nodes
                                        if node not in (old, self.plain_node)])
        with old.connect() as client:
            reply = client.ask("CLUSTER", "FAILOVER", "TO", successor.name, "FORCE")
        if reply != "OK":
            raise AssertionError(f"{old.name} does not hand over: {reply}")

    def await_sync(self):
        """Waits until every standby follows the log, so that it may take over."""
        end = time.monotonic() + SYNC_SECONDS_MAX
        while time.monotonic() < end:
            try:
                if all(IN_SYNC.search(node.get("/metrics")) for node in self.fleet.nodes):
                    return
            except OSError:  # the node is starting
                pass
            time.sleep(0.1)
        raise AssertionError("not every node is in sync")

    def await_other_leader(self, old):
        end = time.monotonic() + LEADER_SECONDS_MAX
        while time.monotonic() < end:
            leader = self.fleet.logged_leader()
            if leader not in (None, old):
                return leader
            time.sleep(0.01)
        raise AssertionError(f"no node follows {old.name}")

    def await_worker(self, worker, kind, began, leads):
        grant = worker.await_grant(leads, self.arguments.seconds_max + START_SECONDS_MAX)
        if grant is None:
            raise AssertionError(f"{worker} was granted nothing after {kind}: "
                                 f"{worker.attempts[-3:]}")
        seconds = (grant["ended"] - began) / 1e6
        if seconds > self.arguments.seconds_max:
            self.findings.append(f"{worker} was granted a lock only {seconds:.1f} s after {kind}")
        gap = worker.longest_gap(began, grant["ended"]) / 1000
        self.gaps.setdefault(worker, {}).setdefault(kind, []).append(gap)

    def rows(self):
        """Returns what the table shows."""
        rows = []
        for worker in self.workers:
            gaps = self.gaps.get(worker, {})
            everything = [gap for kind in KINDS for gap in gaps.get(kind, [])]
            errors = collections.Counter(error_kind(one["error"])
                                         for one in worker.attempts if "error" in one)
            rows.append({
                "client": worker.name, "version": self.versions[worker.name], "mode": worker.mode,
                "fail_overs": len(everything), "operations": len(worker.answers()),
                "errors": errors.total(), "longest_ms": max(everything, default=0),
                **{f"median_{kind}_ms": statistics.median(gaps.get(kind, [0])) for kind in KINDS},
                "kinds_of_errors": dict(errors.most_common())})
        return rows

    def report(self):
        self.out(table_of(self.rows()))
        for name, package in self.missing.items():
            self.out(f"SKIPPED: {name}, which needs {package}")
        for row in self.rows():
            for error, count in row["kinds_of_errors"].items():
                self.out(f"  {row['client']}, {row['mode']}: {count} x {error}")
        for finding in self.findings[:FINDINGS_SHOWN]:
            self.out(f"FINDING: {finding}")
        self.out(f"{self.arguments.fail_overs} fail-overs, {len(self.workers)} clients, "
                 f"{len(self.missing)} skipped, {len(self.findings)} findings")
        if self.arguments.report:
            self.arguments.report.write_text(json.dumps(
                {"clients": self.rows(), "skipped": self.missing, "findings": self.findings},
                indent=1) + "\n")


def error_kind(text):
    """Returns the text without its numbers, such as ports."""
    return re.sub(r"\d+", "N", text)[:100]


def table_of(rows):
    lines = ["| client | version | mode | fail-overs | operations | errors | "
             "median gap, planned (ms) | killed (ms) | longest (ms) |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['client']} | {row['version']} | {row['mode']} | "
                     f"{row['fail_overs']} | {row['operations']} | {row['errors']} | "
                     f"{row['median_planned_ms']:.0f} | "
                     f"{row['median_killed_ms']:.0f} | {row['longest_ms']:.0f} |")
    return "\n".join(lines)


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fail-overs", type=int, default=4,
                        help="how many (default: %(default)s)")
    parser.add_argument("--clients", nargs="+", choices=list(stacks.ALL), metavar="CLIENT",
                        help="by default, all that are not in clients/; of "
                             + "; ".join(stacks.ALL))
    parser.add_argument("--own", action="store_true", help="drive the libraries of clients/")
    parser.add_argument("--seconds-max", type=float, default=10,
                        help="after a fail-over, until every client has been granted a lock "
                             "(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="decides the pauses and successors")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE",
                        help="for the figures, as JSON")
    arguments = parser.parse_args(words)
    if arguments.fail_overs < 1 or arguments.seconds_max <= 0:
        parser.error("--fail-overs and --seconds-max must be positive")
    if arguments.clients is None:
        arguments.clients = list(stacks.OWN if arguments.own else stacks.REDIS_CLIENTS)
    return arguments


def main(words):
    fail_overs = FailOvers(parsed(words), lambda text: print(text, flush=True))
    fail_overs.run()
    fail_overs.report()
    return 1 if fail_overs.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
