"""Stops a server under load repeatedly, and judges everything that its clients were told.

    FAIRLOCKD=build/release/bin/fairlockd /usr/bin/python3 tests/histories/run.py \\
        --stops 200 --kills 200 --durability async

A segment consists of `--segment` stops with one set of keys; its history is judged, and saved as a
file in `--keep` if it breaks a promise. Half of the clean stops use SIGTERM, half use SHUTDOWN.
`--seconds` is how long the load runs between two stops, on average.
"""

import argparse
import collections
import pathlib
import random
import sys
import time

import load  # imported first, because it finds the modules of the integration tests
import checker
import lost_power
from kept_server import KeptServer

FINDINGS_SHOWN = 10


def stops_of(arguments, chance):
    stops = ["SIGKILL"] * arguments.kills + ["power"] * arguments.power_cuts
    stops += [load.CLEAN[i % len(load.CLEAN)] for i in range(arguments.stops)]
    chance.shuffle(stops)
    return stops


def report(findings, reconstruction, history, arguments, number):
    for finding in findings[:FINDINGS_SHOWN]:
        print(finding)
        if arguments.story:
            for line in checker.story(reconstruction, finding.key, arguments.story):
                print(f"    {line}")
    print(f"segment {number}: {len(findings)} violations {dict(checker.summary(findings))}")
    if arguments.keep:
        pathlib.Path(arguments.keep).mkdir(parents=True, exist_ok=True)
        path = pathlib.Path(arguments.keep) / f"{arguments.durability}-{number}.history"
        history.write(path)
        print(f"its history: {path}")


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stops", type=int, default=200, help="clean ones")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--power-cuts", type=int, default=0,
                        help="kills that also lose what was not synced; with TRACED_DISK_LIBRARY")
    parser.add_argument("--durability", choices=("async", "sync"), default="async")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--segment", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for histories that break a promise")
    parser.add_argument("--story", type=int, default=0, help="lines about the key of a violation")
    return parser.parse_args()


def main():
    arguments = options()
    stops = stops_of(arguments, random.Random(arguments.seed))
    counts, broken, began = collections.Counter(), collections.Counter(), time.monotonic()
    server = KeptServer("--durability", arguments.durability, "--log-level", "error")
    disk = lost_power.traced(server) if arguments.power_cuts else None
    with server:
        running = load.Load(server, arguments.seed, disk)
        for at in range(0, len(stops), arguments.segment):
            part = stops[at:at + arguments.segment]
            history = running.run_segment(part, arguments.seconds)
            findings, reconstruction = checker.judge(history)
            counts.update(load.figures(history, reconstruction))
            broken.update(checker.summary(findings))
            if findings:
                report(findings, reconstruction, history, arguments, running.segments)
            print(f"{at + len(part)} stops, {time.monotonic() - began:.0f} s, {dict(counts)}, "
                  f"{sum(broken.values())} violations {dict(broken)}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
