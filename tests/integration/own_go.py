"""Builds programs in Go with the modules that clients/go/go.mod names, and without a network."""

import os
import pathlib
import subprocess

MODULE = pathlib.Path(__file__).resolve().parents[2] / "clients/go"
REDIS = "github.com/redis/go-redis/v9"
BUILD_SECONDS_MAX = 300
GO = os.environ.get("GO", "/usr/bin/go")
# GOFLAGS may name another file with versions.
ENVIRONMENT = {"GO111MODULE": "on", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def run(*words, **options):
    environment = {**os.environ, "GOFLAGS": os.environ.get("FAIRLOCK_GO_FLAGS", "")}
    return subprocess.run([GO, *map(str, words)], cwd=MODULE, text=True, check=False,
                          timeout=BUILD_SECONDS_MAX, env={**environment, **ENVIRONMENT}, **options)


def redis_version():
    """The version of go-redis, or None if its module has not been downloaded."""
    try:
        done = run("list", "-f", "{{.Module.Version}}", REDIS, capture_output=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def why_not():
    """Why nothing can be built here; an empty text if it can."""
    if redis_version():
        return ""
    return ("the Go modules are not there; deploy/install-go-modules.sh downloads them, which "
            "needs a network")


def build(source, program, *words):
    """Builds a file, or a package of the module such as ./tests/fleet_worker."""
    run("build", "-o", program, *words, source, stdout=None).check_returncode()
