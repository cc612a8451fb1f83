"""The examples of the README run as they are, except for addresses and the work that they do."""

import asyncio
import pathlib
import re
import unittest

import support

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def blocks():
    """The Python examples of the README."""
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def run_block(text, replacements):
    """Runs it; returns what the work in it was given."""
    done = []

    async def charge_soon(*what):
        await asyncio.sleep(0)
        done.append(what)

    for before, after in replacements.items():
        if before not in text:
            raise AssertionError(f"the example does not contain {before}")
        text = text.replace(before, after)
    names = dict.fromkeys(("charge", "deploy", "write", "fetch", "move", "report"),
                          lambda *what: done.append(what))
    exec(compile(text, "README.md", "exec"), {"charge_soon": charge_soon, **names})
    return done


class Readme(support.Case):

    def test_every_example_on_one_server(self):
        counts = []
        for text in blocks():
            if any(word in text for word in ("Sentinel", "ssl", "Cluster", "signal")):
                continue  # fleet_test.py, tls_test.py, cluster_test.py, rules_test.py
            with self.subTest(text):
                counts.append(len(run_block(text, {"port=3247": f"port={self.server.port}"})))
        # The denied deployment does nothing, and the transfer needs no work.
        self.assertEqual(counts, [1, 0, 3, 5, 0, 1, 100])


if __name__ == "__main__":
    unittest.main()
