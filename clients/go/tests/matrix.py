#!/usr/bin/python3
"""Tests the package with a Go and a go-redis other than those of go.mod.

    matrix.py [--go PROGRAM] [--redis VERSION]

By default, these are the newest: newest.mod pins go-redis, and the newest Go is the one in the PATH
or in /usr/local/go that is new enough. --redis downloads another version. It also runs staticcheck,
if that is of newest.mod. FAIRLOCKD is the server.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
NEWEST = FOLDER / "newest.mod"
MODULE = FOLDER.parent
REDIS = "github.com/redis/go-redis/v9"
GO_SECONDS_MAX = 900
SECONDS_MAX = 1000


def numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)]


def version_of(go):
    done = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False,
                          cwd="/", env={**os.environ, "GOTOOLCHAIN": "local"})
    return done.stdout.strip()


def programs():
    folders = [*os.environ.get("PATH", "").split(":"), "/usr/local/go/bin"]
    found = {os.path.realpath(f"{folder}/go") for folder in folders
             if shutil.which("go", path=folder)}
    return sorted(found, key=lambda go: numbers(version_of(go)))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(0)


class Go:
    """A Go with a file of versions."""

    def __init__(self, program, file):
        self.program = program
        self.environment = {
            **os.environ, "PATH": f"{pathlib.Path(program).parent}:{os.environ['PATH']}",
            "GO111MODULE": "on", "GOPROXY": "off", "GOWORK": "off", "GOTOOLCHAIN": "local",
            "GO": program, "GOFLAGS": f"-modfile={file}", "FAIRLOCK_GO_FLAGS": f"-modfile={file}"}
        # The Go that starts a test names its own folder, which another Go must not use.
        self.environment.pop("GOROOT", None)

    def run(self, *words, **options):
        return subprocess.run([self.program, *words], cwd=MODULE, env=self.environment, text=True,
                              timeout=SECONDS_MAX, check=False, **options)

    def redis_version(self):
        done = self.run("list", "-f", "{{.Module.Version}}", REDIS, capture_output=True)
        return done.stdout.strip()


def with_version(program, version, folder):
    """A copy of go.mod with another version of go-redis."""
    for ending in ("mod", "sum"):
        shutil.copy(MODULE / f"go.{ending}", folder / f"other.{ending}")
    go = Go(program, folder / "other.mod")
    del go.environment["GOPROXY"]
    go.run("get", f"{REDIS}@{version}").check_returncode()
    return Go(program, folder / "other.mod")


def staticcheck(go):
    """staticcheck knows no -modfile, so it sees a copy of the module with these versions. Names
    count as deprecated by the oldest Go."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "go"
        shutil.copytree(MODULE, copy)
        for ending in ("mod", "sum"):
            shutil.copy(NEWEST.with_suffix(f".{ending}"), copy / f"go.{ending}")
        return subprocess.run([go.program, "tool", "staticcheck", "-checks=inherit,-SA1019",
                               "./..."], cwd=copy, check=False,
                              env={**go.environment, "GOFLAGS": ""},
                              timeout=SECONDS_MAX).returncode


def main(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--go", metavar="PROGRAM")
    parser.add_argument("--redis", metavar="VERSION")
    arguments = parser.parse_args(words)
    program = arguments.go or programs()[-1]
    if arguments.redis:
        folder = pathlib.Path(tempfile.mkdtemp())
        go = with_version(program, arguments.redis, folder)
    else:
        needed = re.search(r"^go (.*)", NEWEST.read_text(), re.MULTILINE)[1]
        if numbers(version_of(program)) < numbers(needed):
            skip(f"the newest Go here is {version_of(program)}, and go-redis needs {needed}")
        go = Go(program, NEWEST)
        if not go.redis_version():
            skip("the Go modules are not there; deploy/install-go-modules.sh downloads them")
    print(f"{version_of(program)}, go-redis {go.redis_version()}", flush=True)
    status = go.run("test", "-count=1", f"-timeout={GO_SECONDS_MAX}s", ".").returncode
    if not arguments.redis:
        status = status or staticcheck(go)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
