#!/usr/bin/python3
"""Writes the software bill of materials of a program as SPDX 2.3.

    deploy/make_sbom.py PROGRAM FILE

Licences and compiled-in libraries come from docs/DEPENDENCIES.md, which has the names of Debian 12;
shared libraries, their own dependencies and all versions come from this machine. The same input
gives the same bytes: the date is that of the newest entry in deploy/debian/changelog.
"""

import datetime
import email.utils
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLUMNS = ("package", "version", "licence", "how", "in", "what for")


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True,
                          env={"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin:/usr/sbin"}).stdout


def listed():
    """Returns the rows of the table, by the stem of the package."""
    rows = {}
    for line in (ROOT / "docs" / "DEPENDENCIES.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == len(COLUMNS) and cells[0] != COLUMNS[0]:
            rows[stem(cells[0])] = dict(zip(COLUMNS, cells))
    return rows


def stem(package):
    """Returns the part of a package's name that is the same in other versions: librocksdb7.8,
    libssl3t64 and libboost1.81-dev without their numbers."""
    return re.sub(r"\d+(\.\d+)*(t64)?", "", package)


def needed(program):
    """Returns the shared libraries that the program links directly."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program))


def loaded(program):
    """Returns the path of every library that is loaded for the program, by name."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program), re.MULTILINE))


def packages_of(libraries):
    """Returns the Debian package of each file."""
    paths = {}
    for library in libraries:
        for path in (library, os.path.realpath(library)):
            paths[path] = paths[path.removeprefix("/usr")] = library
    # One call for all files; dpkg reports an error for paths that are aliases of a file.
    answer = subprocess.run(["dpkg", "-S", *paths], capture_output=True, text=True, check=False)
    found = {paths[path]: package for package, path
             in re.findall(r"^([^:\s]+)\S*: (/\S+)$", answer.stdout, re.MULTILINE)}
    unknown = set(libraries) - set(found)
    if unknown:
        sys.exit(f"{sorted(unknown)}: of no package; only libraries of Debian packages are allowed")
    return found


def named_packages(program):
    """Returns the packages of the libraries that the program links directly."""
    files = loaded(program)
    return set(packages_of([files[name] for name in needed(program) if name in files]).values())


@functools.cache
def versions():
    """Returns the versions of all installed packages."""
    return dict(line.split("\t") for line in
                output("dpkg-query", "-W", "-f", "${Package}\t${Version}\n").splitlines())


def version_of(package):
    return versions()[package]


def installed(package):
    """Returns the package itself, or another version of it that this machine has instead."""
    if package in versions():
        return package
    return next(other for other in sorted(versions(), reverse=True) if stem(other) == stem(package))


@functools.cache
def release():
    """Returns the number of this release of Debian."""
    return re.search(r'^VERSION_ID="?(\d+)', pathlib.Path("/etc/os-release").read_text(),
                     re.MULTILINE).group(1)


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def describe_package(name, licence):
    version = version_of(name)
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{name.replace('+', '%2B')}"
                                                  f"@{version.replace('+', '%2B')}"
                                                  f"?distro=debian-{release()}"}]}


def relations(name, direct, inside, others):
    yield {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
           "relatedSpdxElement": identifier(name)}
    for kind, packages in (("DYNAMIC_LINK", direct), ("CONTAINS", inside), ("DEPENDS_ON", others)):
        for package in sorted(packages):
            yield {"spdxElementId": identifier(name), "relationshipType": kind,
                   "relatedSpdxElement": identifier(package)}


def bill(program):
    name = pathlib.Path(program).name
    rows = listed()
    direct = named_packages(program)
    inside = {installed(row["package"]) for row in rows.values()
              if row["how"] == "inside" and name in row["in"].split()}
    others = set(packages_of(list(loaded(program).values())).values()) - direct
    version = output(program, "--version").split()[1]
    packages = [{"SPDXID": identifier(name), "name": name, "versionInfo": version,
                 "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                 "licenseConcluded": "BSD-3-Clause", "licenseDeclared": "BSD-3-Clause",
                 "copyrightText": "2026, The fairlock authors"}]
    for package in sorted(direct | inside | others):
        licence = rows[stem(package)]["licence"] if stem(package) in rows else "NOASSERTION"
        packages.append(describe_package(package, licence))
    return name, version, packages, list(relations(name, direct, inside, others))


def creation_time():
    dates = re.findall(r"^ -- .*>  (.*)$", (ROOT / "deploy/debian/changelog").read_text(),
                       re.MULTILINE)
    when = email.utils.parsedate_to_datetime(dates[0]).astimezone(datetime.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    name, version, packages, relationships = bill(arguments[1])
    content = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                "name": f"{name}-{version}",
                "documentNamespace": f"https://fairlock.invalid/spdx/{name}-{version}-{content}",
                "creationInfo": {"created": creation_time(),
                                 "creators": ["Organization: The fairlock maintainers",
                                              "Tool: make_sbom.py"]},
                "packages": packages, "relationships": relationships}
    pathlib.Path(arguments[2]).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv)
