#!/usr/bin/python3
"""Runs the same cases with the client libraries of all languages, and prints a table.

    tests/clients/conformance/conformance.py --on plain tls fleet --rotations all

Each case has up to three participants, and each of them is a program in one of the languages, which
take turns: with all rotations, each language plays each part. README.md describes the cases and the
drivers. FAIRLOCKD is the server: by default, that of the release build.

The exit status is 0 if every case passed.
"""

import argparse
import os
import pathlib
import shlex
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))

# pylint: disable=wrong-import-position
import case_file
import languages
import servers
from driver import Driver
from link import Link
from play import Failed, Play, Unsupported
from report import Report, parts_of


class Stage:
    """One server, and the drivers that are connected to it."""

    def __init__(self, server, logs, patience, stretch):
        self.server = server
        self.patience = patience
        self.stretch = stretch
        self.logs = logs
        self.drivers = {}  # {(language, participant, read time-out, whether it has a link)}

    def close(self):
        for driver in self.drivers.values():
            driver.close()

    def driver(self, language, participant, case):
        """Returns one that runs, or starts one."""
        key = (language.name, participant, case.read_timeout, case.direct)
        if key not in self.drivers:
            link = None if case.direct else Link(self.server.ports)
            environment = self.server.environment(link.ports if link else self.server.ports)
            environment["FAIRLOCK_READ_TIMEOUT"] = str(case.read_timeout)
            log = self.logs / "-".join(map(str, key))
            self.drivers[key] = Driver(language, environment, log, link)
        return self.drivers[key]

    def forget(self, drivers):
        """After a failure, the next case gets new ones."""
        for key in [key for key, driver in self.drivers.items() if driver in drivers]:
            self.drivers.pop(key).close()

    def play(self, case, run, cast):
        """Raises what went wrong; otherwise returns the figures of the run."""
        drivers = {name: self.driver(language, name, case) for name, language in cast.items()}
        played = Play(case, run, self.server, drivers, self.patience, self.stretch)
        try:
            played.run()
            return played.figures
        except (Failed, Unsupported):
            self.forget(list(drivers.values()))
            raise


def casts(case, chosen, number, rotations):
    """Which language plays which part, in each run of the case. One that lacks what a part needs
    leaves it to the next that has it, if there is one."""
    count = len(chosen)
    first = range(count) if rotations == "all" else [number % count]
    return [{name: player_of(case, name, chosen[(start + place) % count:]
                             + chosen[:(start + place) % count])
             for place, name in enumerate(case.participants)} for start in first]


def player_of(case, participant, languages_in_turn):
    return next((language for language in languages_in_turn
                 if language.can_play(case, participant)), languages_in_turn[0])


def run_case(stage, case, number, arguments, report):
    for run, cast in enumerate(casts(case, arguments.languages, number, arguments.rotations)):
        began = time.monotonic()
        problem, figures = None, []
        is_supported = all(language.can_play(case, name) for name, language in cast.items())
        try:
            figures = stage.play(case, run, cast) if is_supported else []
        except Unsupported:
            is_supported = False
        except Failed as failure:
            problem = str(failure)
        report.add(stage.server.name, case, cast, problem, is_supported,
                   time.monotonic() - began)
        if arguments.figures:
            for figure in figures:
                report.out(f"{case.name} on {stage.server.name} ({parts_of(cast)}) {figure}")


def run(arguments):
    report = Report([language.name for language in arguments.languages],
                    lambda text: print(text, flush=True))
    cases = case_file.parse((FOLDER / "cases.txt").read_text())
    with tempfile.TemporaryDirectory(prefix="fairlock-conformance-") as logs:
        for name in arguments.on:
            chosen = [(number, case) for number, case in enumerate(cases)
                      if name in case.environments
                      and (not arguments.cases or case.name in arguments.cases)]
            if not chosen:
                continue
            with servers.ALL[name]() as server:
                folder = pathlib.Path(logs) / name
                folder.mkdir()
                stage = Stage(server, folder, arguments.patience, arguments.stretch)
                try:
                    for number, case in chosen:
                        run_case(stage, case, number, arguments, report)
                finally:
                    stage.close()
    return report


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", nargs="+", choices=list(servers.ALL), default=["plain", "redis"],
                        metavar="SERVER", help="of " + ", ".join(servers.ALL)
                        + " (default: plain redis)")
    parser.add_argument("--cluster", dest="on", action="store_const", const=["cluster"],
                        help="the same as --on cluster: a fleet of several partitions")
    parser.add_argument("--languages", nargs="+", metavar="LANGUAGE",
                        help="by default, all whose driver exists")
    parser.add_argument("--driver", action="append", default=[], metavar="LANGUAGE=COMMAND",
                        help="another driver, or another one for this language")
    parser.add_argument("--rotations", choices=["one", "all"], default="one",
                        help="run each case once, or once for each language in each part "
                             "(default: one)")
    parser.add_argument("--patience", type=float, default=40, metavar="SECONDS",
                        help="for everything that must happen (default: 40)")
    parser.add_argument("--stretch", type=float, default=1, metavar="FACTOR",
                        help="multiply the leases and counted times of the cases that are marked "
                             "as stretched (default: 1)")
    parser.add_argument("--figures", action="store_true",
                        help="also print how many requests were counted")
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="by default, all")
    arguments = parser.parse_args(words)
    known = languages.existing()
    for text in arguments.driver:
        name, _, command = text.partition("=")
        known[name] = languages.make(name, tuple(shlex.split(command)))
    unknown = set(arguments.languages or ()) - set(known)
    if unknown:
        parser.error(f"no driver for {', '.join(sorted(unknown))}")
    arguments.languages = [known[name] for name in arguments.languages or known]
    return arguments


def main(words):
    report = run(parsed(words))
    report.print()
    return 0 if report.is_passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
