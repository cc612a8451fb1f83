"""fairlockctl takes every argument literally: what it passes on is what it was given.

The commands and their arguments come from its help, which is generated from its tables.
"""

import os
import pathlib
import re
import shutil
import unittest

from fairlockctl import DONE, NO, PROGRAM, REFUSED, WRONG_USE, Fairlockctl
from own_server import Server
from proxy import Proxy

# Texts to which a parser of command lines might give a meaning of its own.
TEXTS = [os.fsdecode(text) for text in (
    b"", b"[a]", b"[a,b]", b'["a","b"]', b"[]", b"{}", b"%%", b"++", b"--", b"-", b"-d5",
    b"--key=b", b"=a", b"a=b", b"a,b", b" ", b"'a'", b'"a"', b"\\", b"a\nb", b"@a", b"lock",
    b"\xff[\xfe]")]
# Given as `--name text` and as `--name=text`; the others in turn as one of both.
IN_BOTH_FORMS = ("", "[a,b]", "{}", "-d5")

# What a command needs besides the arguments under test, so that it sends its request and ends.
ALSO = {"break": ["--yes", "--exact"], "cluster create": ["--partitions", "2"],
        "cluster copy": ["--partitions", "2"], "elect": ["--for", "300ms"], "observe": ["-n", "1"],
        "run": ["-n"], "wait": ["--timeout", "0"], "watch": ["--for", "300ms"]}
# Arguments that are no texts, by their names in the help, with a valid value.
FIXED = {"N": "3", "ID": "4711", "KIND": "keys", "SHELL": "bash", "--since": "2h", "--until": "1h",
         "--listen": "127.0.0.1:0"}
# These concern only the machine that the tool runs on.
LOCAL = ("--file",)
# `help` asks nobody, `top` needs a terminal, and `cluster failover` a fleet.
LEFT_OUT = ("help", "top", "cluster failover")


def help_of(*words):
    return Fairlockctl().text(*words, "--help")


def commands():
    """Returns the name of every command, such as `limit set`."""
    def names(text):
        return re.findall(r"^  ([a-z][a-z-]*)(?:  |$)", text, re.MULTILINE)
    for name in names(help_of()):
        inner = names(help_of(name))
        yield from (f"{name} {sub}" for sub in inner) if inner else (name,)


def arguments(command):
    """Returns the names of its positional arguments and of its options with a text."""
    text = help_of(*command.split())
    head, _, rest = text.partition("Positionals:\n")
    listed = rest.partition("\n\n")[0]
    positional = re.findall(r"^  ([A-Z][A-Z|*]*)(?: \.\.\.| [a-z|]+)?(?: REQUIRED)?(?:  |$)",
                            listed, re.MULTILINE)
    options = re.findall(r"^  (?:-\w,)?(--[a-z-]+) TEXT(?: |$)", text, re.MULTILINE)
    # In KEY|OWNER, the last of several words is the owner.
    words = [word for name in positional
             for word in (name.split("|") if name == "KEY|OWNER" else [name])]
    return words, [name for name in options if name not in LOCAL]


def variants(command):
    """Yields the names of arguments to give together."""
    positional, options = arguments(command)
    if "OWNER" in positional and "--owner" in options:
        yield positional
        # Of several keys, `cancel` sends the first.
        yield options if command == "cancel" else positional + options
    else:
        yield positional + options


class EveryArgument(unittest.TestCase):

    def setUp(self):
        self.server = self.enterContext(Server())
        self.own = self.enterContext(self.server.connect())
        self.proxy = self.enterContext(Proxy(self.server.port))
        # A fairlockd beside fairlockctl, which writes down its arguments.
        self.folder = pathlib.Path(self.server.directory)
        self.program = self.folder / "fairlockctl"
        shutil.copy(PROGRAM, self.program)
        fairlockd = self.folder / "fairlockd"
        fairlockd.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" >> {self.folder}/words\n")
        fairlockd.chmod(0o755)
        self.ctl = Fairlockctl(self.server, FAIRLOCK_PORT=str(self.proxy.port))

    def run_and_record(self, words):
        """Returns what it printed, and all words that it has passed on."""
        self.proxy.sent.clear()
        written = self.folder / "words"
        written.unlink(missing_ok=True)
        done = self.ctl.run(*words, program=self.program)
        passed = self.proxy.requests()
        if written.exists():
            passed += written.read_bytes().split(b"\0")
        return done, passed

    @staticmethod
    def is_among(text, passed):
        """Whether the text is one of the words, as it is, in a channel's name, or as a glob that
        matches what begins with it."""
        literal = os.fsencode(text)
        for word in passed:
            unescaped = re.sub(rb"\\(.)", rb"\1", word.removesuffix(b"*"), flags=re.DOTALL)
            if literal in (word, unescaped, word.rpartition(b"__:")[2]):
                return True
        return False

    def values(self, names, first):
        """A text for each argument, beginning with the given one, so that none has the text of its
        neighbour."""
        return {name: FIXED.get(name, TEXTS[(first + i) % len(TEXTS)])
                for i, name in enumerate(names)}

    @staticmethod
    def line(command, values, is_joined):
        """Returns the words of a command line, and the names of the arguments in it."""
        options = [name for name in values if name.startswith("--")]
        names = [name for name in values if name not in options]
        words = [*command.split(), *ALSO.get(command, ())]
        if command == "elect":
            # It has one name, which --key gives, too.
            names.clear()
            options.remove("--key")
            words += [f"--key={values['NAME']}"] if is_joined else ["--key", values["NAME"]]
        for name in options:
            words += [f"{name}={values[name]}"] if is_joined else [name, values[name]]
        if command == "elect":
            return [*words, "--", "true"], ["NAME", *options]
        if command == "run":
            # The `--` of `run` precedes the command, so a key with a dash can only be given with
            # --key.
            names = [name for name in names if not values[name].startswith("-")]
            return [*words, *(values[name] for name in names), "--", "true"], names + options
        return [*words, "--", *(values[name] for name in names)], names + options

    def prepare(self, command, values):
        """Makes the owner the only one that holds the key, so that there is something to break, and
        drains a glob, so that it can be resumed."""
        key, owner = values.get("KEY", values.get("KEY|GLOB")), values.get("--owner", "o")
        if key and owner:
            self.own.ask("BREAK", os.fsencode(key))
            self.own.ask("LOCK", os.fsencode(key), os.fsencode(owner), "PX", "60000")
        if values.get("GLOB"):
            drained = ("SET", os.fsencode(values["GLOB"]), "0")
            self.own.ask("LIMIT", *(drained if command == "resume" else ("DEL", drained[1])))

    def check(self, command, values, is_joined):
        self.prepare(command, values)
        line, given = self.line(command, values, is_joined)
        done, passed = self.run_and_record(line)
        # An empty key, owner or folder is refused, and an empty owner holds nothing to be broken.
        if "" in values.values() and done.returncode in (WRONG_USE, REFUSED, NO):
            return
        for name in set(given) - set(FIXED):
            self.assertTrue(self.is_among(values[name], passed),
                            f"{name} of {line}: {passed}, {done.stderr}")

    def test_reaches_the_server_or_the_program_as_it_was_given(self):
        checked = set()
        for command in sorted(set(commands()) - set(LEFT_OUT)):
            for names in variants(command):
                if not set(names) - set(FIXED):
                    continue
                checked.add(command)
                for first, text in enumerate(TEXTS):
                    values = self.values(names, first)
                    forms = (False, True) if text in IN_BOTH_FORMS else (first % 2 == 0,)
                    for is_joined in forms:
                        with self.subTest(command, text=text):
                            self.check(command, values, is_joined)
        self.assertGreater(len(checked), 20)

    def test_that_is_no_text_is_refused(self):
        for words in (["kill", "[1]"], ["kill", "{}"], ["limit", "set", "k", "[3]"],
                      ["complete", "[keys]"], ["completion", "{}"], ["lock", "k", "o", "--ttl="],
                      ["lock", "k", "o", "--ttl", "[1s]"], ["locks", "--sort", "[key]"],
                      ["--port=", "lock", "k", "o"], ["ping", "--db=", "--json"]):
            done = self.ctl.run(*words)
            self.assertEqual(done.returncode, WRONG_USE, (words, done.stderr))
            self.assertIn("must be", done.stderr)

    def test_after_two_dashes_is_no_option(self):
        for words in (["-d5"], ["o", "-d5"], ["-d5", "o"]):
            done = self.ctl.run("show", "k", "--", *words)
            self.assertEqual(done.returncode, WRONG_USE)
            self.assertIn("is an unexpected argument", done.stderr)
        self.assertEqual(self.ctl.run("lock", "k", "--", "-d5").returncode, DONE)
        self.assertEqual(self.own.ask("LOCKED", "k", "-d5"), 1)

    def test_in_the_environment(self):
        for text in TEXTS[1:]:
            ctl = Fairlockctl(self.server, FAIRLOCK_OWNER=text)
            self.assertEqual(ctl.run("lock", "k").returncode, DONE, text)
            self.assertEqual(self.own.ask("LOCKED", "k", os.fsencode(text)), 1, text)
            ctl.text("unlock", "k")

    def test_of_a_command_under_a_lock(self):
        for text in TEXTS[1:]:
            done = self.ctl.run("run", "--key", text, "--owner", text, "--", "sh", "-c",
                                'printf "%s\\n" "$FAIRLOCK_KEY" "$FAIRLOCK_OWNER" "$@"', "sh",
                                *TEXTS)
            self.assertEqual(done.stdout, "\n".join([text, text, *TEXTS]) + "\n", done.stderr)

    def test_of_the_settings(self):
        for text in TEXTS[1:]:
            for name in ("socket", "password-file", "config"):
                for words in ([f"--{name}", text], [f"--{name}={text}"]):
                    done = self.ctl.run(*words, "ping")
                    self.assertNotEqual(done.returncode, DONE, (words, done.stdout))
                    if text.isascii() and text.isprintable() and "\\" not in text:
                        self.assertIn(text, done.stderr)
            _, passed = self.run_and_record(["--user", text, "ping"])
            self.assertIn(os.fsencode(text), passed)


if __name__ == "__main__":
    unittest.main()
