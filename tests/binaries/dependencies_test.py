"""docs/DEPENDENCIES.md names the libraries that the programs link, and the bill of materials names
the same ones."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy"))
import make_sbom  # noqa: E402

PROGRAMS = (os.environ["FAIRLOCKD"], os.environ["FAIRLOCKCTL"])


def listed_for(program, how):
    name = pathlib.Path(program).name
    return {row["package"] for row in make_sbom.listed().values()
            if row["how"] == how and name in row["in"].split()}


class Dependencies(unittest.TestCase):
    def test_the_list_names_the_shared_libraries_of_each_program(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                self.assertEqual(make_sbom.named_packages(program), listed_for(program, "shared"))

    def test_each_row_says_how_and_in_what(self):
        rows = make_sbom.listed()
        self.assertGreater(len(rows), 10)
        for row in rows.values():
            self.assertIn(row["how"], ("shared", "inside"), row)
            self.assertTrue(set(row["in"].split()) <= {"fairlockd", "fairlockctl"}, row)
            self.assertTrue(all(row.values()), row)

    def test_versions_are_those_of_the_installed_packages(self):
        for row in make_sbom.listed().values():
            self.assertIn(row["version"], make_sbom.version_of(row["package"]))

    def test_the_bill_of_materials_has_every_library_with_its_licence(self):
        for program in PROGRAMS:
            with self.subTest(program=program), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "bill.json"
                tool = ROOT / "deploy" / "make_sbom.py"
                subprocess.run([sys.executable, "-B", tool, program, file], check=True)
                text = file.read_text()
                subprocess.run([sys.executable, "-B", tool, program, file], check=True)
                self.assertEqual(file.read_text(), text)
                self.check_bill(json.loads(text), program)

    def check_bill(self, bill, program):
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        licences = {package["name"]: package["licenseConcluded"] for package in bill["packages"]}
        identifiers = {package["SPDXID"] for package in bill["packages"]}
        self.assertEqual(len(identifiers), len(bill["packages"]))
        for relation in bill["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], identifiers)
        for package in listed_for(program, "shared") | listed_for(program, "inside"):
            row = make_sbom.listed()[make_sbom.stem(package)]
            self.assertEqual(licences[package], row["licence"])


if __name__ == "__main__":
    unittest.main()
