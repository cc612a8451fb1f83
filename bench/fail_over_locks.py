#!/usr/bin/python3
"""Measures how long a fleet with many locks does not answer after its leader has been killed.

    bench/fail_over_locks.py [--locks N] [--of-unique-jobs]

Run it after a build of the release preset; FAIRLOCKD names another program. With --of-unique-jobs,
the locks are what sidekiq-unique-jobs stores: a hash each, and one sorted set of all.

Starts three members of etcd and two nodes on loopback, and takes N locks with leases of an hour. It
kills the leader with SIGKILL twice, and measures the time until the other node grants a lock:
first with a standby that has followed the log, then with one that is started at the moment of the
kill and reads the whole log while it waits. About two seconds of each measurement are the silence
after which a standby takes over. It also prints the memory of the standby and of the leader, and
the CPU time of both while the locks were taken.
"""

import argparse
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))
sys.path.insert(0, str(ROOT / "tests/integration"))

import resp  # noqa: E402
from own_fleet import Fleet  # noqa: E402

PIPELINE = 1_000
LEASE_MS = 3_600_000
SETTLE_S = 5  # the standby has loaded the newest snapshot


class Plain:
    """Locks that LOCK takes."""

    @staticmethod
    def request(n):
        return resp.request("LOCK", f"order:{n}", f"worker-{n % 977}", "PX", LEASE_MS)

    @staticmethod
    def is_held(client, n):
        return client.ask("LOCKED", f"order:{n}") == 1


class OfUniqueJobs:
    """Values as sidekiq-unique-jobs 9 stores them, by a script with its commands."""

    SCRIPT = ("redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) "
              "return redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])")

    @classmethod
    def request(cls, n):
        return resp.request("EVAL", cls.SCRIPT, 2, "uniquejobs:digests", f"uniquejobs:{n}:LOCKED",
                            f"{n:024x}", '{"type":"until_executed"}', n, f"uniquejobs:{n}")

    @staticmethod
    def is_held(client, n):
        return (client.ask("HEXISTS", f"uniquejobs:{n}:LOCKED", f"{n:024x}") == 1
                and client.ask("ZSCORE", "uniquejobs:digests", f"uniquejobs:{n}") == b"%d" % n)


def fill(leader, kind, locks):
    with leader.connect(60) as client:
        for first in range(0, locks, PIPELINE):
            numbers = range(first, min(first + PIPELINE, locks))
            client.send(b"".join(map(kind.request, numbers)))
            for n in numbers:
                reply = client.reply()
                if not isinstance(reply, int):
                    raise SystemExit(f"lock {n}: {reply}")


def rss_mb(node):
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def cpu_s(node):
    fields = pathlib.Path(f"/proc/{node.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def await_grant(node, began, name):
    """Returns the seconds from `began` until the node grants a lock."""
    while time.monotonic() < began + 120:
        try:
            with node.connect(10) as client:
                if isinstance(client.ask("LOCK", name, "prober", "PX", LEASE_MS), int):
                    return time.monotonic() - began
        except (OSError, resp.Ended):
            pass
        time.sleep(0.01)
    raise SystemExit(f"{node.name} did not take over")


def check(node, kind, locks):
    with node.connect(30) as client:
        for n in range(0, locks, max(locks // 100, 1)):
            if not kind.is_held(client, n):
                raise SystemExit(f"lock {n} is lost")


def measure(kind, locks):
    with Fleet(nodes=2) as fleet:
        leader, standby = fleet.leader(), fleet.standby()
        cpu = {node: cpu_s(node) for node in (leader, standby)}
        began = time.monotonic()
        fill(leader, kind, locks)
        print(f"locks: {locks}, taken in {time.monotonic() - began:.1f} s")
        time.sleep(SETTLE_S)
        for name, node in (("leader", leader), ("standby", standby)):
            print(f"{name}: RSS {rss_mb(node):.0f} MB, CPU {cpu_s(node) - cpu[node]:.1f} s")
        began = time.monotonic()
        leader.kill()
        warm = await_grant(standby, began, "probe:warm")
        check(standby, kind, locks)
        print(f"warm: {warm:.2f} s from the kill to the first lock")
        time.sleep(1)
        # The other node starts only when this one is killed, so the next leader has read nothing
        # before.
        began = time.monotonic()
        standby.kill()
        leader.start()
        cold = await_grant(leader, began, "probe:cold")
        check(leader, kind, locks)
        print(f"cold: {cold:.2f} s from the kill to the first lock, with the start of the process")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locks", type=int, default=200_000)
    parser.add_argument("--of-unique-jobs", action="store_true")
    arguments = parser.parse_args()
    measure(OfUniqueJobs if arguments.of_unique_jobs else Plain, arguments.locks)


if __name__ == "__main__":
    main()
