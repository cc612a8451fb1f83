#!/usr/bin/python3
"""Plants the deliberate faults that tables describe in a copy of the sources.

    plant_faults.py --list TABLES                    prints each fault: its name, its first seed
    plant_faults.py TABLES SOURCES OUTPUT FILE...    writes a copy of each SOURCES/FILE to
                                                     OUTPUT/FILE, and OUTPUT/fault_names.cc

TABLES is a folder; each *.toml in it is a table.

A table describes each fault and the edits that plant it:

    [[fault]]
    name = "lost-timeout"
    does = "a WAIT limit is never reported"
    first_seed = 850              the tests search from here: shortly before a seed that finds it;
                                  1 if not given
    [[fault.edit]]
    file = "rules/places.cc"        below SOURCES
    present = '''exact text of the sources; it must occur exactly once in that file'''
    faulty = '''text that takes its place'''

In `faulty`, FAULTY is true while the fault itself is switched on, and FAULT(name) while another one
is. One program thus has all faults, and `--fault NAME` switches one of them on.

A seam is not a fault: its text always takes the place of the present one, in each of the places
that it names, so that the copy runs in the simulation.

    [[seam]]
    file = "storage/replicated/standby.cc"
    places = 1                                 1 if not given
    present = '''std::this_thread::sleep_for('''
    simulated = '''::fairlock::fleet::SleepFor('''

Exits with 1, and writes nothing, if a text does not occur exactly once, if two edits overlap, or if
a fault has no effect on any edit.
"""

import argparse
import pathlib
import re
import sys
import tomllib

HEADER = '#include "tests/simulation/faults/active_fault.h"\n'
SEAM_HEADER = '#include "tests/simulation/fleet/seams.h"\n'
NAMES = """// Written by plant_faults.py.

#include "tests/simulation/faults/active_fault.h"

namespace fairlock::simulation {{

std::span<const std::string_view> FaultNames() {{
  static constexpr std::string_view kNames[] = {{
      {names}}};
  return kNames;
}}

}}  // namespace fairlock::simulation
"""


class BadTable(Exception):
    pass


def read_tables(folder, kind):
    """Returns all descriptions of that kind, in the order of their tables."""
    found = []
    for table in sorted(folder.glob("*.toml")):
        found += tomllib.loads(table.read_text()).get(kind, [])
    return found


def read_faults(folder):
    """Returns all faults, in the order of their tables; the first has number 1."""
    faults = read_tables(folder, "fault")
    names = [fault["name"] for fault in faults]
    for name in names:
        if names.count(name) > 1:
            raise BadTable(f"{name}: described more than once")
        if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name) or name == "none":
            raise BadTable(f"{name}: a name is words in lower case joined by '-', and not 'none'")
    return faults


class Planter:
    """Turns the edits of all faults into new contents of the engine's files."""

    def __init__(self, faults, seams=()):
        self.faults = faults
        self.seams = seams
        self.numbers = {fault["name"]: number for number, fault in enumerate(faults, 1)}
        self.used = set()

    def edits_by_file(self):
        edits = {}
        for fault in self.faults:
            for edit in fault.get("edit", []):
                edits.setdefault(edit["file"], []).append((fault["name"], edit))
        return edits

    def condition(self, name, user):
        if name not in self.numbers:
            raise BadTable(f"{user}: FAULT({name}) is not described")
        self.used.add(name)
        return f"::fairlock::simulation::IsFaultActive({self.numbers[name]} /* {name} */)"

    def faulty_text(self, name, edit):
        text = re.sub(r"\bFAULTY\b", lambda _: self.condition(name, name), edit["faulty"])
        return re.sub(r"\bFAULT\(([a-z-]+)\)", lambda found: self.condition(found[1], name), text)

    def plant(self, file, text, edits):
        places = []
        for name, edit in edits:
            present = edit["present"]
            count = text.count(present)
            if count != 1:
                raise BadTable(f"{name}: in {file} this text occurs {count} times, not once:\n"
                               f"{present}")
            places.append((text.index(present), len(present), self.faulty_text(name, edit), name))
        end_before, name_before = 0, ""
        planted = HEADER
        for begin, length, faulty, name in sorted(places):
            if begin < end_before:
                raise BadTable(f"{name}: in {file} its text overlaps that of {name_before}")
            planted += text[end_before:begin] + faulty
            end_before, name_before = begin + length, name
        return planted + text[end_before:]

    def replace_seams(self, file, text):
        replaced = text
        for seam in self.seams:
            if seam["file"] != file:
                continue
            count, wanted = replaced.count(seam["present"]), seam.get("places", 1)
            if count != wanted:
                raise BadTable(f"a seam: in {file} this text occurs {count} times, not {wanted}:\n"
                               f"{seam['present']}")
            replaced = replaced.replace(seam["present"], seam["simulated"])
        return replaced if replaced == text else SEAM_HEADER + replaced

    def plant_all(self, sources, files):
        """Returns the new contents of each of these files, by its path below `sources`."""
        edits = self.edits_by_file()
        for file in [*edits, *(seam["file"] for seam in self.seams)]:
            if file not in files:
                raise BadTable(f"{file} is not one of the files to copy")
        texts = {}
        for file in sorted(files):
            text = self.replace_seams(file, (sources / file).read_text())
            texts[file] = self.plant(file, text, edits[file]) if file in edits else text
        unused = [name for name in self.numbers if name not in self.used]
        if unused:
            raise BadTable(f"no edit has an effect of {', '.join(unused)}")
        return texts


def write_if_changed(path, text):
    """Leaves an unchanged file alone: it keeps its time stamp and is not compiled again."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description="Plants faults in a copy of the sources.")
    parser.add_argument("--list", action="store_true", help="print all faults")
    parser.add_argument("tables", type=pathlib.Path, help="the folder of the tables")
    parser.add_argument("sources", nargs="?", type=pathlib.Path, help="the folder of the files")
    parser.add_argument("output", nargs="?", type=pathlib.Path, help="where the copies go")
    parser.add_argument("files", nargs="*", help="the files to copy, below the folder")
    arguments = parser.parse_args()
    try:
        faults = read_faults(arguments.tables)
        if arguments.list:
            print("\n".join(f"{fault['name']} {fault.get('first_seed', 1)}" for fault in faults))
            return 0
        if not arguments.files:
            parser.error("SOURCES, OUTPUT and files are needed, or --list")
        planter = Planter(faults, read_tables(arguments.tables, "seam"))
        texts = planter.plant_all(arguments.sources, arguments.files)
    except BadTable as error:
        print(f"plant_faults.py: {error}", file=sys.stderr)
        return 1
    for file, text in texts.items():
        write_if_changed(arguments.output / file, text)
    names = ",\n      ".join(f'"{fault["name"]}"' for fault in faults)
    write_if_changed(arguments.output / "fault_names.cc", NAMES.format(names=names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
