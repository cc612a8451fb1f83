"""The shipped programs have the walls that docs/DEPENDENCIES.md says they have."""

import os
import re
import subprocess
import unittest

PROGRAMS = (os.environ["FAIRLOCKD"], os.environ["FAIRLOCKCTL"])


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Hardening(unittest.TestCase):
    def check(self, what, pattern, *words):
        for program in PROGRAMS:
            with self.subTest(program=program):
                self.assertRegex(output(*words, program), re.compile(pattern, re.MULTILINE), what)

    def test_code_is_position_independent(self):
        self.check("PIE", r"Type:\s+DYN", "readelf", "-h", "-W")
        self.check("PIE", r"FLAGS_1.*\bPIE\b", "readelf", "-d", "-W")

    def test_relocations_are_read_only_before_main(self):
        self.check("RELRO", r"^\s*GNU_RELRO\b", "readelf", "-l", "-W")
        self.check("BIND_NOW", r"FLAGS_1.*\bNOW\b", "readelf", "-d", "-W")

    def test_the_stack_is_not_executable(self):
        self.check("stack", r"^\s*GNU_STACK\s.*\sRW\s", "readelf", "-l", "-W")


if __name__ == "__main__":
    unittest.main()
