"""The outputs quoted in the docs match real ones: runs the ```console blocks against a server.

Numbers, times, addresses, the spaces between columns and who runs fairlockctl may differ; other
words may not.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from fairlockctl import PROGRAM, Fairlockctl
from own_server import Server

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATIENCE_SECONDS = 60
# Gives background jobs time to get as far as they can.
SETTLE = "sleep 0.5"


def blocks():
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text()), 1):
            yield f"{page.relative_to(ROOT)}, block {number}", match.group(1)


def commands_of(block):
    """Yields (command, the output below it), in order."""
    commands = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(line)
    return commands


def comparable(lines):
    text = "\n".join(lines)
    text = re.sub(r"\(integer\) |\(nil\)", "", text)  # redis-cli prints these only on a terminal
    text = re.sub(r"\bfairlockctl/[!-~]+@[\w.-]+", "fairlockctl/USER@HOST", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", "#", text)
    text = re.sub(r"\d[\d.,:-]*(ms|us|s|m|h|d|\d)*\b", "#", text)
    return re.sub(r"[ \t]+", " ", text).replace(" \n", "\n").strip()


class Quotes(unittest.TestCase):

    def outputs(self, server, commands):
        mark = "@@ the next command @@"
        script = ["redis-cli() { shift 2; command redis-cli -p \"$FAIRLOCK_PORT\" \"$@\"; }"]
        for command, _ in commands:
            in_background = command.endswith("&")
            script.append(command[:-1] + ">/dev/null 2>&1 &" if in_background else command)
            script += [SETTLE] if in_background else []
            script.append(f"echo '{mark}'")
        environment = {**Fairlockctl(server).environment,
                       "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
        with tempfile.TemporaryDirectory() as folder:
            shell = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=folder, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env=environment, start_new_session=True)
            try:
                printed, _ = shell.communicate(timeout=PATIENCE_SECONDS)
            finally:
                # Background jobs end when the block does.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGTERM)
        return printed.split(mark + "\n")[:-1]

    def test_the_docs_quote_what_is_printed(self):
        found = list(blocks())
        self.assertGreater(len(found), 5)
        for name, block in found:
            with self.subTest(name), Server() as server:
                commands = commands_of(block)
                outputs = self.outputs(server, commands)
                self.assertEqual(len(outputs), len(commands))
                for (command, wanted), printed in zip(commands, outputs):
                    self.assertEqual(comparable(printed.splitlines()), comparable(wanted),
                                     f"{name}: {command}")


if __name__ == "__main__":
    unittest.main()
