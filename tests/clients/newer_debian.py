#!/usr/bin/python3
"""Runs the tests of applications in Ruby with the gems of a newer Debian, in a root folder of it.

    tests/clients/newer_debian.py [--suite SUITE] [--root FOLDER] [--server FAIRLOCKD] [TEST...]

    SUITE     trixie (Rails 7.2, Sidekiq 7.3, the gem redis 5) or sid (newer ones); default: trixie
    FOLDER    where the root is, or is made; by default a new one, which is removed at the end
    TEST      for example job_mutex/mutex_job_test.rb; default: all of them

Needs root, debootstrap, unshare, redis-server, and a network that reaches Debian's packages if the
folder does not exist yet. The servers run outside of the root.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
SYSTEMS = ("job_mutex", "cache_semaphore", "unique_jobs", "event_mutex")
PACKAGES = ("ruby,ruby-redis,ruby-redis-namespace,ruby-connection-pool,ruby-sidekiq,"
            "ruby-activejob,ruby-activesupport,ruby-minitest,ruby-rack,ruby-webrick")
MIRROR = "http://deb.debian.org/debian"
INSIDE = ('mount --bind "$1" "$2/mnt" && exec chroot "$2" ruby "/mnt/tests/clients/$3"')
SECONDS_MAX = 600


def make(suite, root):
    print(f"Making a root folder of {suite} in {root}")
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, root,
                    MIRROR], check=True, stdout=subprocess.DEVNULL)


def versions(root):
    words = ["chroot", root, "dpkg-query", "-W", "-f", "${Package} ${Version}\n",
             *PACKAGES.split(",")]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def run(test, root, server):
    command = [sys.executable, "-B", HERE / "with_own_server.py", "--redis",
               "unshare", "--mount", "sh", "-c", INSIDE, "sh", TREE, root, test]
    return subprocess.run(command, env={**os.environ, "FAIRLOCKD": server},
                          timeout=SECONDS_MAX).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="trixie")
    parser.add_argument("--root")
    parser.add_argument("--server", default=str(TREE / "build/release/bin/fairlockd"))
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    tests = arguments.tests or sorted(str(test.relative_to(HERE)) for system in SYSTEMS
                                      for test in (HERE / system).glob("*_test.rb"))
    root = pathlib.Path(arguments.root or tempfile.mkdtemp(prefix="debian-"))
    try:
        if not (root / "usr").exists():
            make(arguments.suite, root)
        print(versions(root))
        failed = [test for test in tests if not run(test, root, arguments.server)]
    finally:
        if arguments.root is None:
            shutil.rmtree(root, ignore_errors=True)
    print(f"{len(tests) - len(failed)} programs of tests passed, {len(failed)} failed: "
          f"{' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
