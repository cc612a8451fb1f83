#!/usr/bin/python3
"""Breaks a fleet repeatedly under load, and judges everything that its clients were told.

    tests/fleet/campaign.py --faults 300 --seed 1

FAIRLOCKD is the server to test: by default, that of the release build.

Three nodes of fairlock on three members of etcd (with --partitions N, two nodes for each
partition); every connection between them, and from the clients, goes through a process that can cut
or delay it. The faults come in a random order that --seed determines. After every --segment faults,
the clients finish what they have started, and their history is judged: docs/HISTORIES.md lists the
rules. At the end, a table shows for each kind of fault how long no client was granted a lock.

The exit status is 0 if no promise was broken, and 1 otherwise.
"""

import argparse
import datetime
import json
import math
import pathlib
import random
import sys
import time

import sessions  # imported first, because it finds the modules of the histories
import commits
import fleet_checker
import fleet_faults
import linked_fleet
import probe
import restored_backup
import workload

assert sessions
# Both are longer than fleet_lines.GRACE, which the checker relies on.
OPTIONS = ("--reconnect-grace", "30s", "--restart-grace", "30s")
SERVICE_SECONDS_MAX = 120
FINISH_SECONDS_MAX = 90
GIVE_UP_SECONDS = 5
FINDINGS_SHOWN = 10


class Campaign:
    """One fleet, one probe, and one workload per segment."""

    def __init__(self, arguments, out=print):
        self.arguments = arguments
        self.out = out
        self.chance = random.Random(arguments.seed)
        self.fleet = None
        self.probes = []          # one for each partition
        self.gaps = {}
        self.quiet = []           # how long the probes' requests took without a fault, in seconds
        self.beside = []          # and while another partition had one
        self.findings = []
        self.history = None       # the history of the newest segment
        self.has_failed = False
        self.requests = 0
        self.logs = ""            # the logs of the nodes, if there are findings
        self.end = math.inf       # the time after which no fault begins, by the monotonic clock
        self.episodes = []        # (kind, notes, begin, end) of this segment, in nanoseconds

    def run(self, order):
        partitions = self.arguments.partitions
        with linked_fleet.LinkedFleet(
                *OPTIONS, partitions=partitions, nodes_each=2 if partitions > 1 else 3,
                past=self.arguments.etcd_data, start_etcd=self.start_etcd(),
                has_users=True) as self.fleet:
            if self.arguments.other_version:
                self.fleet.programs.append(str(self.arguments.other_version))
            self.probes = [probe.Probe(self.fleet.client_ports, tag) for tag in self.fleet.tags()]
            for one in self.probes:
                one.start()
            if self.arguments.minutes:
                self.end = time.monotonic() + 60 * self.arguments.minutes
            for number, first in enumerate(range(0, len(order), self.arguments.segment), 1):
                self.run_segment(number, order[first:first + self.arguments.segment])
                if self.has_failed or (self.findings and self.arguments.stop) or self.is_over():
                    break
            for one in self.probes:
                one.is_over.set()
                one.join()
                self.findings += [f"a probe was told {error}" for error in one.errors]
            self.logs = self.fleet.logs() if self.findings else ""
            if self.arguments.keep:
                self.keep_logs()
        return self.findings

    def start_etcd(self):
        count, folder = self.arguments.commits, self.arguments.etcd_data
        if not count:
            return None
        return lambda fleet: commits.start_etcd(fleet, count, folder, self.out)

    def run_segment(self, number, kinds):
        load = workload.Workload(self.fleet.client_ports, self.arguments.seed, number,
                                 self.fleet.tags())
        self.episodes = []
        try:
            for kind in kinds:
                if self.is_over():
                    break
                self.sleep()
                self.run_fault(kind)
            self.sleep()
        except AssertionError as failure:  # the fleet is no longer usable
            self.has_failed = True
            self.findings.append(failure)
            self.out(f"failed: {failure}")
        history = load.finish(GIVE_UP_SECONDS if self.has_failed else FINISH_SECONDS_MAX)
        if not self.has_failed:
            self.findings += load.failures
        self.judge(number, history)

    def is_over(self):
        return time.monotonic() > self.end

    def judge(self, number, history):
        self.history = history
        found = fleet_checker.judge(history)
        self.requests += len(history.requests)
        self.out(f"segment {number}: {len(history.requests)} requests, {len(history.closes)} lost, "
                 f"{len(found)} findings {fleet_checker.summary(found)}")
        for finding in found[:FINDINGS_SHOWN]:
            self.out(f"{finding}\n  {self.episode_at(finding.at)}")
        self.findings += found
        if found and self.arguments.keep:
            history.write(self.arguments.keep / f"segment{number}.history")

    def sleep(self):
        began = time.monotonic()
        time.sleep(self.arguments.seconds_between * self.chance.uniform(0.5, 1.5))
        for one in self.probes:
            self.quiet += one.durations_of(began, time.monotonic())

    def run_fault(self, kind):
        """Causes the fault, keeps it up and heals it; then waits until a lock is granted again."""
        self.fleet.notes = []
        self.fleet.struck = self.chance.randrange(self.fleet.partitions)
        struck = [self.probes[self.fleet.struck]]
        beside = [one for one in self.probes if one not in struck]
        if kind in fleet_faults.OF_ALL_PARTITIONS:
            struck, beside = self.probes, []
        began, began_at = sessions.now(), time.monotonic()
        clock = datetime.datetime.now(datetime.timezone.utc).strftime("%H:%M:%S.%f")[:-3]
        strike = {**fleet_faults.KINDS, **fleet_faults.OF_TWO_VERSIONS}[kind]
        for seconds in strike(self.fleet, self.chance):
            time.sleep(seconds)
        healed = time.monotonic()
        is_back = all(one.await_answer(healed, SERVICE_SECONDS_MAX) for one in self.probes)
        for one in beside:
            self.beside += one.durations_of(began_at, time.monotonic())
        time.sleep(self.arguments.seconds_between / 2)
        gap = max(one.longest_gap(began_at, healed) for one in struck)
        self.gaps.setdefault(kind, []).append(gap)
        self.episodes.append((kind, self.fleet.notes, began, sessions.now()))
        self.out(f"{clock} {kind:22} {gap:6.2f} s without a lock; {'; '.join(self.fleet.notes)}")
        if not is_back:
            raise AssertionError(f"no lock was granted within {SERVICE_SECONDS_MAX} s after "
                                 f"{kind}: {self.fleet.etcd_states()} {self.fleet.logs()}")

    def episode_at(self, at):
        for kind, notes, begin, end in reversed(self.episodes):
            if begin <= at:
                where = "during" if at <= end else "after"
                return (f"{where} {kind} ({'; '.join(notes)}), "
                        f"which began {(at - begin) / 1e9:.3f} s before")
        return "before the first fault of the segment"

    def keep_logs(self):
        for log in self.fleet.directory.glob("*.log"):
            (self.arguments.keep / log.name).write_bytes(log.read_bytes())

    def report(self):
        figures = probe.figures_of(self.gaps)
        self.out(probe.table_of(figures))
        if self.beside:
            self.out(probe.comparison_of(self.quiet, self.beside))
            ratio = probe.ratio_of(99, self.quiet, self.beside)
            if 0 < self.arguments.p99_ratio_max < ratio:
                self.findings.append(f"the p99 ratio {ratio:.2f} is above --p99-ratio-max "
                                     f"{self.arguments.p99_ratio_max:g}")
                self.out(self.findings[-1])
        self.out(f"{sum(map(len, self.gaps.values()))} faults, {self.requests} requests, "
                 f"{len(self.findings)} findings")
        if self.arguments.report:
            self.arguments.report.write_text(json.dumps({
                "seed": self.arguments.seed, "requests": self.requests,
                "findings": [str(finding) for finding in self.findings],
                "seconds_without_a_lock": figures, "gaps": self.gaps}, indent=1) + "\n")


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=300, help="how many (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=0, metavar="M",
                        help="begin no fault after this time, without that of --commits")
    parser.add_argument("--seed", type=int, default=1, help="decides the order and the details")
    parser.add_argument("--kinds", nargs="+", choices=[*fleet_faults.KINDS, restored_backup.KIND],
                        default=list(fleet_faults.KINDS), metavar="KIND",
                        help="of " + ", ".join(fleet_faults.KINDS) + "; and, only if it is named, "
                             f"{restored_backup.KIND}, which comes last")
    parser.add_argument("--other-version", type=pathlib.Path, metavar="FAIRLOCKD",
                        help="add a kind, " + fleet_faults.VERSION_CHANGED + ": the nodes are "
                             "restarted one after the other with this binary, or with the first "
                             "one again")
    parser.add_argument("--partitions", type=int, default=1, metavar="N",
                        help="more than 1: the fleet has this many, with two nodes each, and a "
                             "fault of nodes strikes those of one partition; the clients of the "
                             "others must not notice it")
    parser.add_argument("--p99-ratio-max", type=float, default=0, metavar="RATIO",
                        help="with several partitions: fail if the p99 of LOCK during a fault of "
                             "another partition is more than this times the p99 without a fault "
                             "(default: 0: the ratio is only printed, because on a small machine "
                             "the processes that a fault restarts take the processors)")
    parser.add_argument("--commits", type=int, default=0, metavar="N",
                        help="before the first fault, write N transactions into the log")
    parser.add_argument("--etcd-data", type=pathlib.Path, metavar="FOLDER",
                        help="with --commits: keep the data of etcd there after they were made, "
                             "and make none if it is there already; it can be used by the version "
                             "of etcd that wrote it")
    parser.add_argument("--seconds-between", type=float, default=2,
                        help="how long the fleet runs between two faults, on average")
    parser.add_argument("--segment", type=int, default=20,
                        help="judge the history after this many faults (default: %(default)s)")
    parser.add_argument("--stop", action="store_true", help="end with the first finding")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER",
                        help="for the logs of the processes, and histories with findings")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE",
                        help="for the figures, as JSON")
    arguments = parser.parse_args(words)
    if min(arguments.faults, arguments.segment, arguments.partitions) < 1 \
            or arguments.seconds_between <= 0:
        parser.error("--faults, --segment, --partitions and --seconds-between must be positive")
    if arguments.commits < 0 or (arguments.commits and arguments.partitions > 1):
        parser.error("--commits must not be negative, and is for one partition")
    if arguments.etcd_data and not arguments.commits:
        parser.error("--etcd-data is for --commits")
    if arguments.other_version:
        arguments.kinds.append(fleet_faults.VERSION_CHANGED)
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    return arguments


def main(words):
    arguments = parsed(words)
    campaign = Campaign(arguments, lambda text: print(text, flush=True))
    kinds = [kind for kind in arguments.kinds if kind != restored_backup.KIND]
    if kinds:
        campaign.run(fleet_faults.order_of(kinds, arguments.faults, arguments.seed))
    if restored_backup.KIND in arguments.kinds:
        campaign.findings += restored_backup.run(OPTIONS, campaign.out)
    campaign.report()
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
