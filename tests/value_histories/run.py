"""Ends a server under a load of small values repeatedly, and reports each acknowledged change that
is lost or was made twice.

    FAIRLOCKD=build/release/bin/fairlockd /usr/bin/python3 tests/value_histories/run.py \\
        --stops 50 --kills 200 --durability async --seed 1

A third of the kills wait for a snapshot of the log to be in progress. Half of the clean stops use
SIGTERM, half use SHUTDOWN. `--power-cuts` needs TRACED_DISK_LIBRARY, `--fleet` needs etcd: there,
the leader is ended, and the next leader is asked.
"""

import argparse
import collections
import random
import sys
import time

import value_load  # imported first, because it finds the modules of other tests
import lost_power
from kept_server import KeptServer
from value_fleet import FleetOfNodes

FINDINGS_SHOWN = 5
TEXT_SHOWN = 1500


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stops", type=int, default=50, help="clean ones")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--power-cuts", type=int, default=0)
    parser.add_argument("--durability", choices=("async", "sync"), default="async")
    parser.add_argument("--fleet", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.6, help="of load between two ends")
    parser.add_argument("--segment", type=int, default=10, help="ends with the same keys")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def ends_of(arguments, chance):
    ends = ["power"] * arguments.power_cuts
    ends += ["snapshot" if at % 3 == 2 and not arguments.fleet else "SIGKILL"
             for at in range(arguments.kills)]
    ends += ["SHUTDOWN" if at % 2 and not arguments.fleet else "SIGTERM"
             for at in range(arguments.stops)]
    chance.shuffle(ends)
    return ends


def run(place, arguments, with_snapshots):
    load = value_load.Load(place, arguments.seed, with_snapshots)
    ends = ends_of(arguments, random.Random(arguments.seed))
    began, broken = time.monotonic(), collections.Counter()
    for at in range(0, len(ends), arguments.segment):
        load.run_segment(ends[at:at + arguments.segment], arguments.seconds)
        for finding in load.findings[:FINDINGS_SHOWN]:
            print(str(finding)[:TEXT_SHOWN])
        broken.update(finding.rule for finding in load.findings)
        load.findings.clear()
        print(f"{min(at + arguments.segment, len(ends))} ends, "
              f"{time.monotonic() - began:.0f} s, {dict(load.counts)}, "
              f"{sum(broken.values())} violations {dict(broken)}", flush=True)
    return 1 if broken else 0


def main():
    arguments = options()
    if arguments.fleet:
        with FleetOfNodes() as place:
            return run(place, arguments, False)
    server = KeptServer("--durability", arguments.durability, "--log-level", "error",
                        "--value-bytes-max", "768kb")
    disk = lost_power.traced(server) if arguments.power_cuts else None
    with server:
        place = value_load.OneServer(server, disk, random.Random(arguments.seed))
        return run(place, arguments, arguments.kills > 0)


if __name__ == "__main__":
    sys.exit(main())
