"""Every command of the table is documented, and is refused in the documented way if it has too few,
too many or wrong arguments.

All cases are generated from the COMMAND DOCS of the running server, so a new row of the table is
tested automatically.
"""

import pathlib
import re
import unittest

import resp
from own_server import Server

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "COMMANDS.md").read_text()

HUGE = "9" * 30
# For commands that Redis also has, Redis defines the errors.
REDIS_WORDS = [
    r"syntax error",
    r"This instance has cluster support disabled",
    r"value is not an integer or out of range",
    r"invalid expire time in '[a-z]+' command",
    r"value is out of range, must be positive",
    r"value is not a valid float",
    r"min or max is not a float",
    r"Invalid bitfield type\. .*",
]


def fields(flat):
    return dict(zip((name.decode() for name in flat[::2]), flat[1::2]))


class Argument:
    """A node of the tree in COMMAND DOCS."""

    def __init__(self, flat):
        described = fields(flat)
        self.name = described["name"].decode()
        self.type = described["type"].decode()
        self.token = described.get("token", b"").decode()
        flags = described.get("flags", [])
        self.is_optional = "optional" in flags
        self.is_repeated = "multiple" in flags
        self.parts = [Argument(part) for part in described.get("arguments", [])]

    def leaves(self):
        if not self.parts:
            return [self]
        return [leaf for part in self.parts for leaf in part.leaves()]

    def fewest(self, target=None, wrong=None):
        """Returns the shortest list of words that matches the node, with a wrong value for the leaf
        `target`."""
        words = [] if self.type == "pure-token" else [self.token] if self.token else []
        if self.type == "pure-token":
            return [self.token]
        if self.type == "oneof":
            chosen = next((part for part in self.parts if target in part.leaves()),
                          self.parts[0])
            return words + chosen.fewest(target, wrong)
        if self.type == "block":
            return words + all_fewest(self.parts, target, wrong)
        return words + [wrong if self is target else right_value(self)]


def all_fewest(arguments, target=None, wrong=None):
    words = []
    for argument in arguments:
        if not argument.is_optional or target in argument.leaves():
            words += argument.fewest(target, wrong)
    return words


def right_value(leaf):
    if leaf.type == "integer":
        return "3" if leaf.name == "protocol" else "1"
    if leaf.name == "duration":
        return "1s"
    if leaf.name.startswith("unix-"):
        return "1" + "0" * (10 if leaf.name == "unix-seconds" else 13)
    return {"time": "1", "numlocal": "0", "sha1": "0" * 40, "script": "return 1",
            "address": "127.0.0.1:1", "score": "1", "increment": "1", "min": "1",
            "max": "1"}.get(leaf.name, f"some-{leaf.name}")


def wrong_values(command, leaf):
    """Returns values that the documentation of all commands rules out for arguments of that
    name."""
    if leaf.type == "key":
        # Scripts check their keys themselves. The commands of Redis take the empty key.
        if command.group == "scripts":
            return []
        return ["", "k" * 1025] if command.group == "lock" else ["k" * 1025]
    if leaf.name == "timeout" and command.group == "list":
        return ["x", "-1", ""]
    if leaf.name == "cursor":
        return ["x", "1.5", HUGE, " 1"]
    if leaf.type == "integer":
        return ["x", "1.5", HUGE, ""] + (["0", "-1"] if leaf.token in ("EX", "PX") else [])
    if leaf.name == "duration":
        return ["x", "-1", "1w", HUGE, ""]
    if leaf.name in ("owner", "new-owner") or (leaf.name == "value" and command.group == "redis"):
        return ["", "o" * 8193]
    if leaf.token == "LABEL":
        return ["a/b", "l" * 65, ""]
    if leaf.token == "META":
        return ["m" * 4097]
    if leaf.token == "REASON":
        return ["r" * 257]
    if leaf.name == "time" or leaf.name.startswith("unix-"):
        return ["x", "", "1.5"]
    if leaf.name in ("first", "last"):
        return ["x", "1.5", HUGE]
    return []


class Command:

    def __init__(self, name, described):
        self.name = name.upper()
        self.words = self.name.split("|")
        self.group = described["group"].decode()
        self.summary = described["summary"].decode()
        self.arguments = [Argument(flat) for flat in described.get("arguments", [])]
        self.has_subcommands = "subcommands" in described

    @property
    def is_open(self):
        """Whether it takes any number of arguments, or arbitrary ones after those that it
        checks."""
        return any(leaf.is_repeated for argument in self.arguments
                   for leaf in [argument, *argument.leaves()])

    @property
    def has_options_only(self):
        """Whether each option that follows its required arguments begins with a word."""
        first = [argument.leaves()[0] for argument in self.arguments if argument.is_optional]
        return bool(first) and all(leaf.token for leaf in first)

    def most(self):
        """Returns all arguments; where there are alternatives, the longest."""
        def longest(argument):
            words = [argument.token] if argument.token else []
            if argument.type == "pure-token":
                return words
            if argument.type == "oneof":
                return words + max((longest(part) for part in argument.parts), key=len)
            if argument.type == "block":
                return words + [word for part in argument.parts for word in longest(part)]
            return words + [right_value(argument)]
        return [word for argument in self.arguments for word in longest(argument)]


def read_commands(server):
    with server.connect() as connection:
        flat = connection.ask("COMMAND", "DOCS")
    commands = []
    for name, described in zip(flat[::2], flat[1::2]):
        container = fields(described)
        commands.append(Command(name.decode(), container))
        subcommands = container.get("subcommands", [])
        for subname, subdescribed in zip(subcommands[::2], subcommands[1::2]):
            commands.append(Command(subname.decode(), fields(subdescribed)))
    return commands


# Commands that end the connection or the server, whatever their arguments are.
UNASKABLE = {"QUIT"}
# Commands that, as in Redis, read their other arguments only if there is a value, and how to create
# one.
FILLED = {"HSCAN": ["HSET", "some-key", "f", "v"], "SSCAN": ["SADD", "some-key", "m"],
          "ZSCAN": ["ZADD", "some-key", "1", "m"], "LINDEX": ["RPUSH", "some-key", "e"],
          "LSET": ["RPUSH", "some-key", "e"], "GETEX": ["SET", "some-key", "v"]}
# Commands of which Redis has another form, with this many arguments: WAIT with two numbers.
FOREIGN_FORMS = {"WAIT": 2}


class CommandRefusals(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.__enter__()
        cls.commands = read_commands(cls.server)
        cls.error_words = set(re.findall(r"^\| `([A-Z]+)` \|", PAGE, re.MULTILINE))

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def ask(self, words):
        with self.server.connect() as connection:
            if words[0] not in FILLED:
                return connection.ask(*words)
            connection.ask(*FILLED[words[0]])
            reply = connection.ask(*words)
            connection.ask("DEL", "some-key")
            return reply

    def check_refused(self, words, names=()):
        shown = [word if len(word) < 40 else word[:10] + "..." for word in words]
        try:
            reply = self.ask(words)
        except resp.Ended:
            self.fail(f"{shown} closes the connection")
        self.assertIsInstance(reply, resp.ErrorReply, f"{shown}: {reply!r}")
        self.assertIn(reply.split()[0], self.error_words, shown)
        if not names:
            return
        text = reply.split(" ", 1)[1]
        is_named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
                       for name in names if name)
        in_words_of_redis = any(re.fullmatch(form, text) for form in REDIS_WORDS)
        self.assertTrue(is_named or in_words_of_redis, f"{shown}: {reply}")

    def test_there_are_all_of_them(self):
        self.assertGreater(len(self.commands), 110)
        self.assertIn("LOCK", {command.name for command in self.commands})
        self.assertIn("ERR", self.error_words)

    def test_every_command_is_documented(self):
        for command in self.commands:
            if command.has_subcommands and not command.arguments:
                continue
            with self.subTest(command.name):
                title = " ".join(command.words)
                name = re.escape(title)
                found = re.search(rf"^### {name}\n\n```\n{name}(.*)\n```\n\n(.*)\n", PAGE,
                                  re.MULTILINE)
                self.assertIsNotNone(found)
                self.assertIn(command.summary, found.group(2))
                for argument in command.arguments:
                    for leaf in argument.leaves():
                        self.assertIn(leaf.token or leaf.name, found.group(1))

    def test_too_few(self):
        for command in self.commands:
            words = all_fewest(command.arguments)
            foreign = FOREIGN_FORMS.get(command.name)
            for count in range(len(words)):
                if count == foreign or command.name in UNASKABLE:
                    continue
                with self.subTest(command.name, count=count):
                    self.check_refused([*command.words, *words[:count]])

    def test_too_many(self):
        for command in self.commands:
            if command.has_subcommands or command.is_open or command.name in UNASKABLE:
                continue
            with self.subTest(command.name):
                words = [*command.words, *command.most(), "one-more", "and-more"]
                self.check_refused(words)

    def test_an_option_that_is_none(self):
        asked = 0
        for command in self.commands:
            if not command.has_options_only or command.is_open:
                continue
            asked += 1
            with self.subTest(command.name):
                words = [*command.words, *all_fewest(command.arguments), "NO-OPTION"]
                self.check_refused(words, ["NO-OPTION", *command.words])
        self.assertGreater(asked, 15)

    def test_wrong_values(self):
        asked = 0
        for command in self.commands:
            leaves = [leaf for argument in command.arguments for leaf in argument.leaves()]
            for leaf in leaves:
                for wrong in wrong_values(command, leaf):
                    with self.subTest(command.name, argument=leaf.token or leaf.name,
                                      value=wrong[:10]):
                        words = all_fewest(command.arguments, leaf, wrong)
                        self.check_refused([*command.words, *words],
                                           [leaf.name, leaf.token, leaf.name.replace("-", " "),
                                            "key" if leaf.type == "key" else ""])
                        asked += 1
        print(f"\n{asked} requests with a wrong value")
        self.assertGreater(asked, 300)

    def test_the_server_goes_on(self):
        self.assertEqual(self.ask(["PING"]), resp.Simple("PONG"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
