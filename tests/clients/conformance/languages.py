"""How to start the driver of each client library."""

import dataclasses
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class Language:
    """A name for the tables, and a command."""

    name: str
    command: tuple

    def __str__(self):
        return self.name


# {name: (the driver, the words before its path, the words after it)}
_DRIVERS = {
    "python": ("clients/python/tests/conformance_driver.py", ("/usr/bin/python3", "-B"), ()),
    "asyncio": ("clients/python/tests/conformance_driver.py", ("/usr/bin/python3", "-B"),
                ("--asyncio",)),
    "node": ("clients/node/tests/conformance_driver.mjs", ("node",), ()),
    "ruby": ("clients/ruby/tests/conformance_driver.rb", ("/usr/bin/ruby",), ()),
}


def existing():
    """The languages whose driver is in the tree and can be started."""
    found = {}
    for name, (path, before, after) in _DRIVERS.items():
        if (ROOT / path).exists() and shutil.which(before[0]):
            found[name] = Language(name, (*before, str(ROOT / path), *after))
    return found
