"""The package files can be generated from the programs, and document every option."""

import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FAIRLOCKD = os.environ["FAIRLOCKD"]
FAIRLOCKCTL = os.environ["FAIRLOCKCTL"]
MAKE = pathlib.Path(__file__).parents[2] / "deploy" / "make_package_files.py"


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class PackageFiles(unittest.TestCase):
    def test_the_page_of_the_configuration_has_every_option(self):
        options = re.findall(r"^([\w.]+): ", output(FAIRLOCKD, "--print-config"), re.MULTILINE)
        self.assertGreater(len(options), 50)
        with tempfile.TemporaryDirectory() as folder:
            output(sys.executable, "-B", MAKE, FAIRLOCKD, FAIRLOCKCTL, folder)
            page = gzip.decompress((pathlib.Path(folder) / "fairlock.yaml.5.gz").read_bytes())
        for option in options:
            self.assertIn(f".B {option}: ", page.decode())


if __name__ == "__main__":
    unittest.main()
