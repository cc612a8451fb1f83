"""Reads cases.txt into cases and their steps; README.md describes the language."""

import dataclasses
import json
import re

ENVIRONMENTS = ("plain", "tls", "fleet", "cluster", "redis")
PARTICIPANTS = ("a", "b", "c")
_COMPARISON = re.compile(r"([\w.]+)(>=|<=|=)(.+)")


@dataclasses.dataclass
class Step:
    """One line of a case."""

    line: int
    label: str | None  # the label of a request whose reply a later step awaits
    actor: str | None  # a participant, or None
    verb: str
    words: list[str]
    options: dict
    expected: list[str] | None

    def __str__(self):
        return f"line {self.line}: {self.text}"

    text: str = ""


@dataclasses.dataclass
class Case:
    """What a case shows, and the steps that show it."""

    name: str
    line: int
    shows: str = ""
    environments: tuple = ("plain", "tls", "fleet", "cluster")
    read_timeout: float = 5
    direct: bool = False
    stretched: bool = False
    one_slot: bool = False
    steps: list[Step] = dataclasses.field(default_factory=list)

    @property
    def participants(self):
        acting = {step.actor for step in self.steps}
        return [name for name in PARTICIPANTS if name in acting]


class Malformed(Exception):
    """A line of the file has no meaning."""


def value(word):
    """Numbers, true, false and null are those of JSON; all else is text."""
    try:
        return json.loads(word)
    except ValueError:
        return word


def parse_step(number, text):
    body, arrow, expected = text.partition("->")
    words = body.split()
    label = words.pop(0)[:-1] if words and words[0].endswith(":") else None
    actor = words.pop(0) if words and words[0] in PARTICIPANTS else None
    if not words or (label and not actor):
        raise Malformed(f"line {number}: {text}")
    pairs = [word.split("=", 1) for word in words[1:] if "=" in word]
    return Step(number, label, actor, words[0], [word for word in words[1:] if "=" not in word],
                {name: value(word) for name, word in pairs},
                expected.split() if arrow else None, text)


def _read_header(case, number, text):
    word, _, rest = text.partition(" ")
    if word == "shows":
        case.shows = f"{case.shows} {rest}".strip()
    elif word == "on" and set(rest.split()) <= set(ENVIRONMENTS):
        case.environments = tuple(rest.split())
    elif text == "without proxy":
        case.direct = True
    elif text == "stretched":
        case.stretched = True
    elif text == "one slot":
        case.one_slot = True
    elif word == "read_timeout":
        case.read_timeout = float(rest)
    else:
        raise Malformed(f"line {number}: {text}")


def parse(text):
    """Returns the cases."""
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if line.startswith("case "):
            cases.append(Case(bare.split()[1], number))
        elif not cases:
            raise Malformed(f"line {number}: {bare}")
        elif line.startswith("  "):
            cases[-1].steps.append(parse_step(number, bare))
        else:
            _read_header(cases[-1], number, bare)
    return cases


def mismatch(fields, words):
    """Says which of the words, such as `LostHold`, `reason=held` or `grants>=5`, is not true of a
    reply; None if all are. `or` separates alternatives."""
    if "or" in words:
        split = words.index("or")
        first = mismatch(fields, words[:split])
        return first and mismatch(fields, words[split + 1:])
    for word in words:
        comparison = _COMPARISON.fullmatch(word)
        if comparison is None:
            is_true = word == outcome(fields) or fields.get(word) is True
        else:
            is_true = _holds(fields, *comparison.groups())
        if not is_true:
            return f"not {word}"
    return None


def _holds(fields, name, operator, word):
    actual, wanted = fields.get(name), value(word)
    if isinstance(actual, list):
        wanted = word.split(",")
    if operator == "=":
        low, dots, high = word.partition("..")
        if dots:
            return actual is not None and float(low) <= actual <= float(high)
        return actual == wanted
    if actual is None:
        return False
    return actual >= wanted if operator == ">=" else actual <= wanted


def outcome(fields):
    """The reply in one word."""
    if "error" in fields:
        return fields["error"]
    if "token" in fields:
        return "none" if fields["token"] is None else "granted"
    return "done"
