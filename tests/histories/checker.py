"""Judges a history only by what clients saw: checks every promise in docs/GUARANTEES.md that such a
history can show to be broken. Shares no code with the server, and only the file format with the
load.

  /usr/bin/python3 tests/histories/checker.py FILE.history

A request was executed at some instant between its sending and its answer. A finding is one that
holds for every possible choice of these instants: the checker never guesses.
"""

import collections
import dataclasses
import sys

import answer_rules
import hold_rules
import queue_rules
from records import History
from reconstruction import Reconstruction

FINDINGS_MAX = 50


@dataclasses.dataclass(frozen=True)
class Finding:
    rule: str
    key: str
    text: str

    def __str__(self):
        return f"{self.rule}: {self.key}: {self.text}"


def judge(history):
    """Returns all findings, and the reconstruction that they are based on."""
    findings = []

    def find(rule, key, text):
        findings.append(Finding(rule, key, text))

    reconstruction = Reconstruction(history, find)
    hold_rules.check(reconstruction, find)
    queue_rules.check(reconstruction, find)
    answer_rules.check(reconstruction, find)
    return findings, reconstruction


def story(reconstruction, key, most=40):
    """Describes what happened to a key, for human readers."""
    actions = [action for action in reconstruction.actions if key in action.keys]
    lines = [str(action) for action in sorted(actions, key=lambda action: action.sent)][-most:]
    lines += [f"  hold {hold.name}: [{hold.first / 1e6:.3f}, {hold.told / 1e6:.3f}] to "
              f"[{hold.sure_end / 1e6:.3f}, {hold.last_end / 1e6:.3f}]"
              for hold in list(reconstruction.book.holds_of(key))[-most:]]
    return lines


def summary(findings):
    """Returns how many times each rule was broken."""
    return collections.Counter(finding.rule for finding in findings)


def main(arguments):
    findings, _ = judge(History.read(arguments[1]))
    for finding in findings[:FINDINGS_MAX]:
        print(finding)
    print(f"{len(findings)} findings {dict(summary(findings))}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
