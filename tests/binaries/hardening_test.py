"""The shipped programs have the hardening that docs/DEPENDENCIES.md documents."""

import os
import pathlib
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

    def test_stacks_are_protected(self):
        self.check("protector", r"__stack_chk_fail", "readelf", "--dyn-syms", "-W")

    def test_calls_of_the_c_library_are_fortified(self):
        self.check("fortify", r"UND __\w+_chk@GLIBC", "readelf", "--dyn-syms", "-W")

    def test_no_path_of_the_build_is_inside(self):
        for program in PROGRAMS:
            root = pathlib.Path(program).parents[3]
            with self.subTest(program=program), open(program, "rb") as file:
                is_inside = str(root).encode() + b"/" in file.read()
                self.assertFalse(is_inside, f"{program} tells of {root}")


if __name__ == "__main__":
    unittest.main()
