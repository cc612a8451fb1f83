"""How to start the driver of each client library."""

import dataclasses
import os
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class Language:
    """A name for the tables, and a command."""

    name: str
    command: tuple
    # Locks per second, compared with the same loop of raw commands. What a library adds weighs most
    # there: the server answers in less time than an interpreter needs for a command.
    # docs/CLIENTS.md has what was measured.
    ratio_min: float = 0.5
    # Whether its library can wait over a channel.
    has_channels: bool = True
    # The names of cases that need what the language does not have.
    leaves_out: tuple = ()

    def can_play(self, case, participant):
        """Whether it has what this part of the case needs."""
        uses_channel = any(step.actor == participant and step.options.get("channel")
                           for step in case.steps)
        return case.name not in self.leaves_out and (self.has_channels or not uses_channel)

    def __str__(self):
        return self.name


_PYTHON = "clients/python/tests/conformance_driver.py"
# {name: (the driver, the words before its path, the words after it)}
_DRIVERS = {
    "python": (_PYTHON, ("/usr/bin/python3", "-B"), ()),
    "asyncio": (_PYTHON, ("/usr/bin/python3", "-B"), ("--asyncio",)),
    "node": ("clients/node/tests/conformance_driver.mjs", ("node",), ()),
    "node-redis": ("clients/node/tests/conformance_driver.mjs", ("node",), ("node-redis",)),
    "ruby": ("clients/ruby/tests/conformance_driver.rb", ("/usr/bin/ruby",), ()),
    "php": ("clients/php/tests/conformance_driver.php", ("/usr/bin/php",), ()),
    # deploy/build-java-client.sh makes it.
    "java": ("clients/java/target/program", ("/bin/sh",), ("Driver",)),
    "java-jedis": ("clients/java/target/program", ("/bin/sh",), ("Driver", "jedis")),
}
# {name: the driver, a program that the build puts beside fairlockd}
# A process of PHP does one thing at a time: it asks nothing while a request is not answered.
# docs/CLIENTS.md says so, too.
# With redis-py's cluster client for asyncio, a transfer without a reply is confirmed after all by a
# later question, so the case of one that nothing confirms cannot be played.
_LACKS = {"php": {"has_channels": False, "leaves_out": ("renew_late",)},
          "asyncio": {"leaves_out": ("transfer_unconfirmed",)}}
_BUILT = {"cpp": "cpp_conformance_driver", "go": "go_conformance_driver"}


def existing():
    """The languages whose driver is in the tree and can be started."""
    found = {}
    for name, (path, before, after) in _DRIVERS.items():
        if (ROOT / path).exists() and shutil.which(before[0]):
            found[name] = make(name, (*before, str(ROOT / path), *after))
    programs = pathlib.Path(os.environ["FAIRLOCKD"]).parent
    for name, program in _BUILT.items():
        if (programs / program).exists():
            found[name] = make(name, (str(programs / program),))
    return found


def make(name, command):
    return Language(name, command, **_LACKS.get(name, {}))
