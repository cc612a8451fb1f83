"""The table of limits in docs/SECURITY.md matches the options."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `(?P<option>[a-z_.]+)` \| `(?P<default>[^`]+)` \| (?P<refused>[^|]+) \| "
                 r"(?P<error>[^|]+) \|$", re.MULTILINE)
# The names of options that are limits match this pattern; the exceptions are below.
NAMES = re.compile(
    r"(^|_)max_|_max$|_limit$|_timeout$|_deadline$|^script_|^output_limit|^input_limit")
NO_LIMITS = {"tcp_user_timeout"}  # about the network, not about clients


def limits_section():
    page = (ROOT / "docs" / "SECURITY.md").read_text()
    return page.split("\n## Limits\n", 1)[1].split("\n## ", 1)[0]


def options():
    printed = subprocess.run([os.environ["FAIRLOCKD"], "--print-config"], capture_output=True,
                             text=True, check=True, timeout=20).stdout
    found = re.findall(r"^([a-z_.]+): *(.*)$", printed, re.MULTILINE)
    return {name: value.strip("\"'") for name, value in found}


def first_words():
    """Returns the words that an error message may begin with."""
    text = (ROOT / "protocol" / "wire_error.cc").read_text()
    return set(re.findall(r"\{ErrorCode::\w+, \"([A-Z]+)\"", text))


class Limits(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.rows = [match.groupdict() for match in ROW.finditer(limits_section())]
        cls.options = options()

    def test_every_line_of_the_table_is_read(self):
        lines = [line for line in limits_section().splitlines() if line.startswith("| `")]
        self.assertEqual(len(lines), len(self.rows))
        self.assertGreater(len(lines), 20)

    def test_options_and_defaults_are_those_of_the_server(self):
        for row in self.rows:
            with self.subTest(row["option"]):
                self.assertIn(row["option"], self.options)
                self.assertEqual(row["default"], self.options[row["option"]])

    def test_every_limit_has_one_row(self):
        limits = sorted(name for name in self.options
                        if NAMES.search(name) and name not in NO_LIMITS)
        self.assertEqual(sorted(row["option"] for row in self.rows), limits)

    def test_errors_begin_with_words_of_the_list(self):
        words = first_words()
        self.assertGreater(len(words), 10)
        for row in self.rows:
            for error in re.findall(r"`-([A-Z]+)", row["error"]):
                with self.subTest(row["option"]):
                    self.assertIn(error, words)


if __name__ == "__main__":
    unittest.main()
