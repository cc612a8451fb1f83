"""Every option of every lock command, in every wrong form: the error names the option and says what
is wrong with it.

The requests are generated from the COMMAND DOCS of the running server, so a new option is tested
automatically. With --table the errors are printed as a table.
"""

import re
import sys
import unittest

import command_refusals_test as refusals
import resp
from own_server import Server

# A valid value for each of these arguments, because their names alone do not determine one.
RIGHT = {"COUNT": "10", "DB": "0", "NOTIFY": "channel", "BY": "MINUTE", "BEFORE": "1",
         "EVENT": "granted"}


class Option:
    """One option: its word, whether it takes a value, and which option must come before it."""

    def __init__(self, word, leaf=None, needs=None, may_be_bare=False):
        self.word = word
        self.leaf = leaf  # None if it takes no value
        self.needs = needs
        self.may_be_bare = may_be_bare  # the value may be omitted

    @property
    def right(self):
        if self.leaf is None:
            return [self.word]
        return [self.word, RIGHT.get(self.word, refusals.right_value(self.leaf))]

    @property
    def is_number(self):
        return self.leaf is not None and self.leaf.type == "integer"

    @property
    def is_duration(self):
        return self.leaf is not None and self.leaf.name == "duration"


def options_of(node, needs=None):
    """Returns the options in one optional argument; `needs` is the option that must come before
    them."""
    if node.type == "oneof":
        found = [option for part in node.parts for option in options_of(part, needs)]
        return found
    if node.type == "pure-token":
        return [Option(node.token, needs=needs)]
    if node.type == "block":
        head, *rest = node.parts
        first = options_of(head, needs)
        if not first:
            return []
        for part in rest:
            if part.type == "pure-token" and not part.is_optional:
                first[0].leaf = part  # BY MINUTE
            elif part.is_optional and not part.token:
                first[0].leaf, first[0].may_be_bare = part, True  # WAITING [duration]
            else:
                first += options_of(part, first[0])
        return first
    return [Option(node.token, node, needs)] if node.token else []


class Case:

    def __init__(self, command, kind, words, pattern):
        self.command, self.kind, self.words, self.pattern = command, kind, words, pattern


def swapped(word):
    """The word with two letters swapped."""
    return word[:-2] + word[-1] + word[-2]


def cases_of(command):
    begin = [*command.words, *refusals.all_fewest(command.arguments),
             # These come before the options; otherwise an option's word would be read as one of
             # them.
             *(refusals.right_value(argument) for argument in command.arguments
               if argument.is_optional and not argument.parts and not argument.token)]
    groups = [options_of(argument) for argument in command.arguments
              if argument.is_optional and argument.type != "string" or argument.token]
    groups = [[option for option in group if option.word.isupper()] for group in groups]
    alone = {}
    for group in groups:
        for option in group:
            alone.setdefault(option.word, option)
    words = set(alone)
    for group in groups:
        yield from conflicts(command, begin, [option for option in group if option.needs is None])
    for option in alone.values():
        before = [*begin, *(option.needs.right if option.needs else [])]
        name = re.escape(option.word)
        if option.needs:
            yield Case(command, "alone", [*begin, *option.right],
                       rf"syntax error: '{name}' .*{name} needs {option.needs.word} .*")
            yield Case(command, "no value", [*before, option.word],
                       rf"syntax error: {name} needs a value: .+") if option.leaf else Case(
                           command, "twice", [*before, option.word, option.word],
                           rf"syntax error: '{name}' .*")
            if option.is_duration:
                yield from wrong_durations(command, before, option)
            continue
        yield Case(command, "twice", [*begin, *option.right, *option.right],
                   rf"syntax error: {name} is given twice")
        misspelled = swapped(option.word)
        if len(option.word) > 2 and misspelled not in words and misspelled != option.word:
            yield Case(command, "misspelled", [*begin, misspelled],
                       rf"syntax error: '{misspelled}' is not an option of "
                       rf"{' '.join(command.words)} \(did you mean {name}\?\); it takes .+")
        if option.leaf is None:
            continue
        if not option.may_be_bare:
            yield Case(command, "no value", [*begin, option.word],
                       rf"syntax error: {name} needs a value(: .+)?")
        if option.is_number:
            for kind, wrong in (("no number", "abc"), ("a unit", "10s"), ("below 0", "-1"),
                                ("a fraction", "1.5"), ("empty", ""), ("huge", "9" * 30)):
                unit = ".*, without a unit" if option.word in ("EX", "PX") else ".*"
                yield Case(command, kind, [*begin, option.word, wrong],
                           rf"{name} must be a whole number .*from \d+ to \d+{unit}, got '{wrong}'")
        elif option.is_duration and not option.may_be_bare:
            yield from wrong_durations(command, begin, option)
    yield Case(command, "no option", [*begin, "NOSUCHTHING"],
               r"syntax error: 'NOSUCHTHING' is .+|"
               rf"wrong number of arguments for '.*' command; usage: {' '.join(command.words)}.*")


def wrong_durations(command, before, option):
    for kind, wrong in (("no duration", "abc"), ("no unit of ours", "1w"), ("below 0", "-1s"),
                        ("a fraction", "1.5s"), ("empty", "")):
        yield Case(command, kind, [*before, option.word, wrong],
                   rf"{option.word} must be a duration such as 30s, with ms, s, m, h or d .*, got "
                   rf"'{re.escape(wrong)}'")


def conflicts(command, begin, group):
    by_word = {option.word: option for option in group}
    for first in by_word.values():
        for second in by_word.values():
            if first is second:
                continue
            yield Case(command, "conflict", [*begin, *first.right, *second.right],
                       rf"syntax error: ({first.word} and {second.word}|"
                       rf"{second.word} and {first.word}) are mutually exclusive")


# Wrong forms that people write by habit or from other systems.
BY_HAND = [
    (["LOCK", "k", "me", "NX"],
     r"syntax error: 'NX' is not an option of LOCK; LOCK never takes .+ WAIT 30s is given; NEW .+"),
    (["LOCK", "k", "me", "NX", "EX", "30"], r"syntax error: 'NX' is not an option of LOCK; .+"),
    (["LOCK", "k", "EX", "30"], r"syntax error: '30' .*'EX' is read as the owner.*"),
    (["LOCK", "k", "me", "30"], r"syntax error: '30' .*EX 30 or PX 30000.*"),
    (["LOCK", "k", "me", "TIMEOUT", "5"], r"syntax error: 'TIMEOUT' .*WAIT 30s.*"),
    (["LOCK", "k", "me", "WAIT", "EX", "30"], r"WAIT must be a duration .*, got 'EX'"),
    (["LOCK", "k", "me", "EX", "10s"],
     r"EX must be a whole number of seconds .*without a unit, got '10s'"),
    (["LOCK", "k", "me", "KEEP", "2h"], r"KEEP must be at most 1m \(max_keep\), got 2h"),
    (["LOCK", "k", "me", "SESSION", "GRACE", "366d"], r"GRACE must be at most 365d, got 366d"),
    (["LOCK", "k", "me", "SHARED", "LIMIT", "2"],
     r"syntax error: SHARED and LIMIT are mutually exclusive"),
    (["WAIT", "k", "30s"], r"syntax error: '30s' is not an option of WAIT; it takes TIMEOUT 30s.*"),
    (["WAIT", "k", "TIMEOUT"], r"syntax error: TIMEOUT needs a value: .+"),
    (["WAIT", "k", "TIMEOUT", "1s", "TIMEOUT", "1s"], r"syntax error: TIMEOUT is given twice"),
    (["UNLOCK", "k", "me", "EX", "1"],
     r"syntax error: 'EX' is not an option of UNLOCK; it takes TOKEN"),
    (["BREAK", "k", "me", "REASON"], r"syntax error: REASON needs a value: at most 256 bytes"),
    (["CHECK", "k", "1", "2"],
     r"wrong number of arguments for 'check' command; usage: CHECK key token"),
    (["MLOCK", "2", "a", "b"], r"syntax error: owner is missing"),
]


class OptionErrors(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.__enter__()
        cls.connection = cls.server.connect()

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()
        cls.server.__exit__(None, None, None)

    def error(self, words):
        reply = self.connection.ask(*words)
        self.assertIsInstance(reply, resp.ErrorReply, words)
        self.assertTrue(reply.startswith("ERR "), reply)
        return str(reply)[4:]

    def test_every_option_of_every_command(self):
        rows = []
        for command in refusals.read_commands(self.server):
            if command.group != "lock" or command.has_subcommands and not command.arguments:
                continue
            for case in cases_of(command):
                with self.subTest(" ".join(case.words), kind=case.kind):
                    error = self.error(case.words)
                    rows.append((case.kind, " ".join(word or "''" for word in case.words), error))
                    self.assertRegex(error, rf"^(?:{case.pattern})$")
        print(f"\n{len(rows)} wrong requests")
        if "--table" in sys.argv:
            for kind, request, error in rows:
                print(f"{kind:14} {request:55} {error}")
        self.assertGreater(len(rows), 250)

    def test_by_hand(self):
        for words, pattern in BY_HAND:
            with self.subTest(" ".join(words)):
                self.assertRegex(self.error(words), rf"^(?:{pattern})$")

    def test_nothing_changed(self):
        self.assertEqual(self.connection.ask("DBSIZE"), 0)


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--table"])
