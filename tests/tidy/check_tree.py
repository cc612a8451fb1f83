#!/usr/bin/python3
"""Checks that the tree below a folder follows the rules; prints every violation.

    tests/tidy/check_tree.py [FOLDER]      FOLDER is the root of the project by default
"""

import pathlib
import sys

import rules
import source_file


def main(arguments):
    root = pathlib.Path(arguments[1] if len(arguments) > 1 else __file__).resolve()
    if len(arguments) < 2:
        root = root.parents[2]
    files = source_file.read_tree(root)
    if not any(file.is_cpp for file in files):
        print(f"no source below {root}: nothing was checked")
        return 2
    findings = rules.findings_in(files)
    for finding in findings:
        print(finding)
    print(f"{len(files)} files, {len(rules.RULES)} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
