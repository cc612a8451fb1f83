"""Every code block in the README and in docs/ runs, or is checked in a way that suits its language.

A block with a critical section (one that calls charge or handle) runs against a free key and
against a held one: it must enter with a token that holds the key, leave the key free, and never
enter without a token. Blocks marked `before` show the code of other libraries: only their syntax is
checked. Blocks that use a library in clients/ run where it has been built.
"""

import atexit
import hashlib
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "integration"))
import own_go  # noqa: E402
from own_server import PROGRAM, Server  # noqa: E402
from resp import ErrorReply  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\S*)( before)?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PATIENCE_SECONDS = 60
HELD_KEYS = re.compile(r"\b(?:lock:)?(?:order|conversation):\d+\b")
NODE_MODULES = ROOT / "tests" / "clients" / "node" / "node_modules"

# What the critical section does in the test: prints the token with which it was entered.
PRELUDES = {
    "python": "def charge(order, token):\n    print('ENTERED', token, flush=True)\n",
    "js": "globalThis.charge = async (order, token) => console.log('ENTERED', token);\n",
    "ruby": "def handle(conversation, token)\n  puts \"ENTERED #{token}\"\nend\n"
            "def log(text) = warn(text)\n",
    "php": "<?php\nrequire '/usr/share/php/Symfony/Component/Lock/autoload.php';\n"
           "require getenv('FAIRLOCK_PHP_LIBRARY');\n"
           "function charge($order, $token = null) { echo \"ENTERED $token\\n\"; }\n",
}
# A block in Go is the body of a function.
GO_FRAME = """package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func charge(_ context.Context, _ int, token interface{}) error {
	fmt.Println("ENTERED", token)
	return nil
}

func work(ctx context.Context, client *redis.Client) error {
%s}

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Getenv("FAIRLOCK_PORT")})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := work(ctx, client); err != nil {
		log.Fatal(err)
	}
}
"""
COMMANDS = {"python": ["/usr/bin/python3", "-B"], "js": ["node"], "ruby": ["/usr/bin/ruby"],
            "php": ["/usr/bin/php"]}
SYNTAX_CHECKS = {"python": ["/usr/bin/python3", "-B", "-m", "ast"], "js": ["node", "--check"],
                 "ruby": ["/usr/bin/ruby", "-c"], "php": ["/usr/bin/php", "-l"]}
CLIENTS = ROOT / "clients"
# {language: (how a block uses the library, a file that exists if it has been built)}
LIBRARIES = {
    "python": ("import fairlock", CLIENTS / "python/src/fairlock/__init__.py"),
    "js": ('from "fairlock"', CLIENTS / "node/build/index.mjs"),
    "ruby": ('require "fairlock"', CLIENTS / "ruby/lib/fairlock.rb"),
}
GO_IS_MISSING = own_go.why_not()
if GO_IS_MISSING:
    print(f"skipped, all examples in Go: {GO_IS_MISSING}")
ENDINGS = {"python": ".py", "js": ".mjs", "ruby": ".rb", "php": ".php"}

# Code that is added after a block that only defines something.
EPILOGUES = {
    "class ReturningJob": "ActiveJob::Base.queue_adapter = :test\n"
                          "ActiveJob::Base.logger = nil\nReturningJob.perform_now(42)\n",
    "class AnswerJob": "require 'sidekiq/testing'\nSidekiq::Testing.fake!\n"
                       "AnswerJob.new.perform(42)\n",
    "class WebhookJob": "ActiveJob::Base.queue_adapter = :test\n"
                        "ActiveJob::Base.logger = nil\n"
                        "def handle(conversation, event, token) = puts(\"ENTERED #{token}\")\n"
                        "WebhookJob.perform_now(42, 'created')\n",
    "class ImportWorker": "raise 'none' unless ImportWorker.get_sidekiq_options['unique']\n",
}
PROLOGUES = {
    "Facades\\Cache": """
require '/usr/share/php/Illuminate/Cache/autoload.php';
require '/usr/share/php/Illuminate/Container/autoload.php';
$app = new Illuminate\\Container\\Container();
$url = 'redis://127.0.0.1:' . getenv('FAIRLOCK_PORT');
$app['config'] = new ArrayObject([
    'cache.stores.locks' => ['driver' => 'fairlock', 'url' => $url],
]);
$app->singleton('cache', fn ($own) => new Illuminate\\Cache\\CacheManager($own));
(new Fairlock\\Laravel\\FairlockServiceProvider($app))->boot();
Illuminate\\Support\\Facades\\Facade::setFacadeApplication($app);
""",
    "Fairlock::Semaphore": "uuid = '6f1c'\ndef create(uuid) = warn(uuid)\n",
}

# Debian does not package .NET; programs in Java only show what others do. The examples in C++ are
# compiled with the library for it.
NOT_RUN = {"cpp", "csharp", "java"}
# COMMANDS.md is generated from the command table, except for its introduction.
PRINTED = ROOT / "docs" / "COMMANDS.md"
# The reader's own programs in shell blocks.
READERS_PROGRAMS = ("backup.sh", "deploy.sh", "fetch-tile", "migrate", "scheduler")
GO_FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="fairlock-go-"))
atexit.register(shutil.rmtree, GO_FOLDER, ignore_errors=True)
EX_USAGE = 64
EX_NOT_FOUND = 127


class Block:
    def __init__(self, page, line, language, text, is_before=False):
        self.page = page
        self.name = f"{page.relative_to(ROOT)}:{line} ({language or 'no language'})"
        self.language = language
        self.text = text
        self.is_before = is_before

    @property
    def is_built(self):
        """False if the library that it uses has not been built."""
        if self.language == "go":
            return not GO_IS_MISSING
        use, file = LIBRARIES.get(self.language, ("", ROOT))
        return use not in self.text or file.exists()

    @property
    def has_section(self):
        return "charge(" in self.text or "handle(" in self.text


def blocks():
    for page in PAGES:
        text = page.read_text()
        for match in FENCE.finditer(text):
            indent, language, before, body = match.groups()
            body = re.sub(f"^{indent}", "", body, flags=re.MULTILINE)
            yield Block(page, text.count("\n", 0, match.start()) + 1, language, body, bool(before))


def first_with(marked, text):
    return next((value for mark, value in marked.items() if mark in text), "")


class CodeBlocks(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        modules = self.folder / "node_modules"
        modules.mkdir()
        for module in [*NODE_MODULES.iterdir(), CLIENTS / "node"]:
            (modules / ("fairlock" if module.parent == CLIENTS else module.name)).symlink_to(module)

    def of(self, *languages):
        found = [block for block in blocks()
                 if block.language in languages and not block.is_before and block.is_built]
        self.assertTrue(found, languages)
        return found

    def programs(self):
        return self.of(*PRELUDES, "go")

    def test_every_block_says_what_it_is(self):
        known = {"console", "redis", "sh", "sql", "yaml", "text", "mermaid", "go", *PRELUDES,
                 *NOT_RUN}
        for block in blocks():
            if block.page == PRINTED:
                continue
            with self.subTest(block.name):
                self.assertIn(block.language, known)

    def test_other_peoples_code_has_no_syntax_errors(self):
        befores = [block for block in blocks() if block.is_before]
        self.assertTrue(befores)
        for block in befores:
            if block.language not in SYNTAX_CHECKS:
                continue
            with self.subTest(block.name):
                file = self.folder / f"before{ENDINGS[block.language]}"
                file.write_text(("<?php\n" if block.language == "php" else "") + block.text)
                checked = subprocess.run([*SYNTAX_CHECKS[block.language], str(file)], text=True,
                                         capture_output=True, timeout=PATIENCE_SECONDS, check=False)
                self.assertEqual(checked.returncode, 0, checked.stderr)

    def go_program(self, text):
        """Builds the program, unless the same text has been built before."""
        folder = GO_FOLDER / hashlib.sha256(text.encode()).hexdigest()
        if not (folder / "program").exists():
            folder.mkdir()
            (folder / "main.go").write_text(GO_FRAME % text)
            own_go.build(folder / "main.go", folder / "program")
        return [str(folder / "program")]

    def run_program(self, server, block):
        environment = {**os.environ, "FAIRLOCK_PORT": str(server.port),
                       "PYTHONPATH": str(CLIENTS / "python/src"),
                       "RUBYLIB": str(CLIENTS / "ruby/lib"),
                       "FAIRLOCK_PHP_LIBRARY": str(CLIENTS / "php/src/autoload.php")}
        command = (self.go_program(block.text) if block.language == "go"
                   else [*COMMANDS[block.language], str(self.program_file(server, block))])
        return subprocess.run(command, cwd=self.folder, text=True, capture_output=True,
                              env=environment, timeout=PATIENCE_SECONDS, check=False)

    def program_file(self, server, block):
        text = block.text.replace("3247", str(server.port))
        # Shortens the waits in the documentation's examples.
        text = re.sub(r'("WAIT", )"\d+s"', r'\1"500ms"', text)
        text = text.replace("wait: 10_000", "wait: 500")
        text = re.sub(r"\bwait(=|: )10\b", r"wait\g<1>0.5", text)
        file = self.folder / f"block{ENDINGS[block.language]}"
        file.write_text(PRELUDES[block.language] + first_with(PROLOGUES, text) + text +
                        first_with(EPILOGUES, text))
        return file

    def entered(self, run):
        return [line.split()[1] for line in run.stdout.splitlines() if line.startswith("ENTERED")]

    def test_programs_enter_with_a_token_and_leave_the_key_free(self):
        for block in self.programs():
            with self.subTest(block.name), Server() as server:
                run = self.run_program(server, block)
                self.assertEqual(run.returncode, 0, run.stderr)
                if not block.has_section:
                    continue
                tokens = self.entered(run)
                self.assertGreater(len(tokens), 0, run.stdout + run.stderr)
                with server.connect() as client:
                    for key in set(HELD_KEYS.findall(block.text)) or {"conversation:42"}:
                        self.assertEqual(client.ask("LOCKED", key), 0, key)
                for token in tokens:
                    self.assertRegex(token, r"^\d{10,}$")

    def test_programs_do_not_enter_while_the_key_is_held(self):
        for block in self.programs():
            if not block.has_section:
                continue
            with self.subTest(block.name), Server() as server:
                keys = set(HELD_KEYS.findall(block.text)) or {"conversation:42"}
                with server.connect() as client:
                    tokens = {key: client.ask("LOCK", key, "somebody", "EX", 600) for key in keys}
                    run = self.run_program(server, block)
                    self.assertEqual(self.entered(run), [], run.stdout)
                    for key, token in tokens.items():
                        self.assertEqual(client.ask("CHECK", key, token), 1, key)

    def test_a_program_that_goes_on_without_a_token_is_found(self):
        careless = Block(PAGES[0], 0, "python",
                         "import redis\nclient = redis.Redis(port=3247)\n"
                         "charge(42, client.execute_command('LOCK', 'order:42', 'o', 'EX', 30))\n")
        with Server() as server, server.connect() as client:
            client.ask("LOCK", "order:42", "somebody", "EX", 600)
            self.assertEqual(self.entered(self.run_program(server, careless)), ["None"])

    def test_requests_are_understood(self):
        """Checks blocks of language redis: one request per line, with a remark after two spaces."""
        with Server() as server:
            for block in self.of("redis"):
                for line in block.text.splitlines():
                    request = re.sub(r"<[^>]*>", "x", re.split(r"  +|^-", line)[0]).strip()
                    if not request:
                        continue
                    with self.subTest(block.name, request=request), server.connect() as client:
                        words = [word.strip('"\'') for word in
                                 re.findall(r'"[^"]*"|\'[^\']*\'|\S+', request)]
                        # Shortens a wait that nothing ends: only its syntax is tested.
                        words = ["1ms" if word == "FOREVER" else word for word in words]
                        reply = client.ask(*words)
                        if isinstance(reply, ErrorReply):
                            self.assertNotRegex(reply, "^ERR|^NOPERM", block.name)

    def test_requests_in_csharp_are_understood(self):
        """Literals are sent as they stand, other arguments as a word or a number."""
        requests = 0
        for block in self.of("csharp"):
            for call in re.findall(r"ExecuteAsync\(((?:[^()]|\([^()]*\))*)\)", block.text):
                words = [self.word_of(argument) for argument in re.split(r",\s*", call)]
                with self.subTest(block.name, words=words), Server() as server, \
                        server.connect() as subscriber, server.connect() as client:
                    subscriber.ask("SUBSCRIBE", "word")
                    self.assertNotIsInstance(client.ask(*words), ErrorReply)
                    requests += 1
        self.assertGreater(requests, 2)

    @staticmethod
    def word_of(argument):
        literal = re.match(r'"([^"]*)"', argument)
        if literal:
            return literal[1]
        return "1000" if re.search(r"\d|Milliseconds", argument) else "word"

    def test_shell_blocks_name_what_exists(self):
        """Checks only the syntax, files and presets, because some blocks start builds or long
        runs."""
        for block in self.of("sh"):
            with self.subTest(block.name):
                checked = subprocess.run(["bash", "-n"], input=block.text, text=True,
                                         capture_output=True, check=False)
                self.assertEqual(checked.returncode, 0, checked.stderr)
                for path in re.findall(r"(?<![\w/.-])((?:deploy|tests|bench)/[\w./-]+)",
                                       block.text):
                    self.assertTrue((ROOT / path).exists(), path)
                for preset in re.findall(r"--preset (\w+)", block.text):
                    self.assertIn(f'"name": "{preset}"', (ROOT / "CMakePresets.json").read_text())

    def test_commands_of_the_tool_are_understood(self):
        """Runs lines of shell blocks that call fairlockctl or redis-cli; stops those that wait."""
        for name in READERS_PROGRAMS:
            (self.folder / name).write_text("#!/bin/sh\n")
            (self.folder / name).chmod(0o755)
        with Server() as server:
            environment = {**os.environ, "FAIRLOCK_PORT": str(server.port),
                           "PATH": f"{self.folder}:{PROGRAM.parent}:{os.environ['PATH']}"}
            for block in self.of("sh"):
                assigned = ""
                for line in block.text.splitlines():
                    if re.match(r"owner=", line):
                        assigned = f"{line}; "
                    if not re.match(r"fairlockctl |redis-cli -p|token=", line):
                        continue
                    with self.subTest(block.name, line=line):
                        line = line.replace("3247", str(server.port))
                        self.run_line(assigned + line, environment)

    def run_line(self, line, environment):
        line = line.replace("redis-cli ", "redis-cli -e ")
        run = subprocess.run(["timeout", "2", "bash", "-c", line], cwd=self.folder, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, env=environment,
                             timeout=PATIENCE_SECONDS, check=False)
        self.assertNotIn(run.returncode, (EX_USAGE, EX_NOT_FOUND), run.stderr)
        if line.startswith("redis-cli"):
            self.assertIn(run.returncode, (0, 124), run.stdout + run.stderr)

    def test_options_are_accepted(self):
        for block in self.of("yaml"):
            with self.subTest(block.name):
                file = self.folder / "fairlock.yaml"
                file.write_text(block.text)
                printed = subprocess.run([PROGRAM, "--config", str(file), "--print-config"],
                                         text=True, capture_output=True, timeout=20, check=False)
                self.assertEqual(printed.returncode, 0, printed.stderr)

    def test_sql_refuses_a_late_writer(self):
        for block in self.of("sql"):
            with self.subTest(block.name):
                database = sqlite3.connect(":memory:")
                database.execute("CREATE TABLE orders (id INTEGER, state TEXT, token INTEGER)")
                database.execute("INSERT INTO orders VALUES (42, 'new', 32)")
                self.assertEqual(database.execute(block.text).rowcount, 1)
                database.execute("UPDATE orders SET token = 34")
                self.assertEqual(database.execute(block.text).rowcount, 0)


if __name__ == "__main__":
    if shutil.which("node") is None or not os.path.isdir(NODE_MODULES):
        raise SystemExit("no node or node_modules: deploy/install-node-modules.sh")
    unittest.main()
