"""Runs fairlockctl as its users do."""

import json
import os
import pathlib
import subprocess

PROGRAM = pathlib.Path(os.environ["FAIRLOCKCTL"]).resolve()

# The exit codes of fairlockctl, as docs/FAIRLOCKCTL.md lists them.
DONE, NO = 0, 1
WRONG_USE, REFUSED, UNREACHABLE, NOT_WRITTEN = 64, 65, 69, 74
NOT_OBTAINED, LOST, NOT_ALLOWED = 75, 76, 77


class Fairlockctl:
    """The tool with the settings of one server, isolated from the tester's own settings."""

    PATIENCE_SECONDS = 60

    def __init__(self, server=None, **variables):
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("FAIRLOCK_", "XDG_", "LC_"))}
        self.environment.update({"LANG": "C.UTF-8", "TZ": "UTC"})
        if server is not None:
            self.environment["HOME"] = str(server.directory)
            self.environment["FAIRLOCK_PORT"] = str(server.port)
        self.environment.update(variables)

    def run(self, *words, typed=None, program=PROGRAM):
        """Runs it until it ends, without a terminal."""
        return subprocess.run([program, *words], input=typed, capture_output=True, text=True,
                              errors="surrogateescape", timeout=self.PATIENCE_SECONDS,
                              env=self.environment, check=False,
                              stdin=subprocess.DEVNULL if typed is None else None)

    def start(self, *words, **options):
        """Starts it and returns the running process."""
        return subprocess.Popen([PROGRAM, *words], text=True, env=self.environment, **options)

    def text(self, *words):
        """Returns its output after success; any other exit code fails the test."""
        done = self.run(*words)
        assert done.returncode == DONE, f"{words}: {done.returncode}, {done.stderr}"
        assert done.stderr == "", done.stderr
        return done.stdout

    def json(self, *words):
        return json.loads(self.text(*words, "--json"))
