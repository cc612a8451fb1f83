"""How long one client can delay another, and how much memory it can take, by every command of the
table with its worst arguments: alone in pipelines, in EXEC and in scripts, by several attackers.

    FAIRLOCKD=build/release/bin/fairlockd python3 tests/faults/worst_command_test.py table

prints a table, with 1, 10 and 50 attackers, and what exceeds the bounds; it takes half an hour on
an otherwise idle machine. `table QUEUE HISTORY` does it for these commands only. The attackers may
do everything but @admin. The test itself is a short form with generous bounds. It judges waits by
the processor time that the server spent meanwhile, which does not depend on other programs.
"""

import base64
import collections
import contextlib
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

import resp  # noqa: E402
from own_server import IS_MEASURED  # noqa: E402
from socket_server import SocketServer  # noqa: E402
from worst_neighbour_test import ask_all  # noqa: E402

ATTEMPTS = 3
USERS = """user default on nopass ~* &* owner:* +@all
user attacker on nopass ~* &* owner:* +@all -@admin
"""
MAX_MEMORY = 300 << 20
COUNTS = (1, 10, 50)  # of attackers, in the table
SCRIPT_MS = 100
WAIT_MS_MAX = 50
# Bounds for the short form, which also runs with builds that are not optimised.
SHORT_MS_MAX = 250
MEMORY_MAX = MAX_MEMORY * 11 // 10
LOCKS = 20_000
ROOM_SECONDS_MAX = 20
QUEUED = 1_000
ELEMENTS = 1_000
MANY_KEYS = 2_000
LONG = "x" * 50_000

# The arguments that make a command do the most; for all others, see generic_arguments.
WORST = {
    "COMMAND": [], "COMMAND|DOCS": [], "COMMAND|LIST": [],
    "ECHO": [LONG], "PING": [LONG],
    "EVAL": ["local s = ('x'):rep(1e6) while true do redis.sha1hex(s) end", "0"],
    "EVAL_RO": ["local t = {} while true do t[#t % 1e5 + 1] = ('x'):rep(1e4) end", "0"],
    "HGETALL": ["hash"], "HISTORY": ["queue", "COUNT", "10000"], "HKEYS": ["hash"],
    "HSCAN": ["hash", "0", "COUNT", "100000"],
    "HSET": ["hash", *(f"f{i}" for i in range(ELEMENTS) for _ in range(2))],
    "HVALS": ["hash"], "INFO": ["everything"], "KEYS": ["*"],
    "LOCK": ["queue", "another", "PX", "60000", "KEEP", "60s", "META", "m" * 4000],
    "LOCKINFO": ["queue"], "LOCKS": ["0", "COUNT", "100000"], "LRANGE": ["list", "0", "-1"],
    "MLOCK": ["owner", str(MANY_KEYS), *(f"new:{i}" for i in range(MANY_KEYS)), "PX", "50"],
    "PUBLISH": ["news", LONG], "QUEUE": ["queue", "COUNT", "1000"],
    "SCAN": ["0", "COUNT", "100000", "MATCH", "*a*b*c*"],
    "SCRIPT|LOAD": ["return " + "a and " * 9000 + "a"],
    "SMEMBERS": ["set"], "SSCAN": ["set", "0", "COUNT", "100000"], "STATS": [],
    "SUBSCRIBE": [f"channel:{i}" for i in range(MANY_KEYS)],
    "PSUBSCRIBE": [f"*pattern*{i}*" for i in range(MANY_KEYS)],
    "ZRANGE": ["zset", "0", "-1", "WITHSCORES"], "ZSCAN": ["zset", "0", "COUNT", "100000"],
}
KEY_OF_GROUP = {"hash": "hash", "list": "list", "set": "set", "sorted-set": "zset"}

Command = collections.namedtuple("Command", "name words")
Measured = collections.namedtuple("Measured", "wait_ms cpu_ms peak")


def text_of(word):
    return word.decode() if isinstance(word, bytes) else str(word)


def generic_arguments(row, names, group):
    """Returns arguments of the right number: values or locks where keys belong, as many as are
    allowed, and numbers elsewhere."""
    _, arity, _, first, last, step = row[:6]
    count = abs(arity) - names
    if first > 0 and last == -1:
        count = max(count, MANY_KEYS // step * step)
    words = ["1"] * count
    if first > 0:
        end = names + count + last if last < 0 else last
        for at in range(first - names, min(end - names + 1, count), step):
            words[at] = KEY_OF_GROUP.get(group, f"k{at}")
    return words


def commands_of(connection):
    """Returns every command and subcommand of the server that needs no @admin, with arguments."""
    docs = connection.ask_map("COMMAND", "DOCS")
    groups = {text_of(name): text_of(dict(zip(about[::2], about[1::2]))[b"group"])
              for name, about in docs.items()}
    found = []

    def add(row, group):
        name = text_of(row[0]).upper()
        for subcommand in row[9]:
            add(subcommand, group)
        if "@admin" in map(text_of, row[6]) or (row[9] and name not in WORST):
            return
        names = name.split("|")
        arguments = WORST.get(name)
        if arguments is None:
            arguments = generic_arguments(row, len(names), group)
        found.append(Command(name, [*names, *arguments]))

    for row in connection.ask("COMMAND"):
        add(row, groups.get(text_of(row[0]), ""))
    missing = set(WORST) - {command.name for command in found}
    assert not missing, f"not in the table: {missing}"
    return sorted(found)


def in_pipeline(words, count):
    return resp.request(*words) * count


def in_transaction(words, count):
    return resp.request("MULTI") + resp.request(*words) * count + resp.request("EXEC")


def in_script(words, count):
    del count
    text = "while true do redis.pcall(unpack(ARGV)) end"
    return resp.request("EVAL", text, 0, *words)


FORMS = {"pipeline": in_pipeline, "EXEC": in_transaction, "script": in_script}


def attack_forever():
    """The process of the attackers: each line of its input names what to send from now on."""
    os.nice(10)
    order = None
    streams = {}
    poll = select.epoll()

    def connect():
        stream = socket.create_connection((order["host"], order["port"]))
        stream.sendall(resp.request("AUTH", "attacker", "any"))
        stream.setblocking(False)
        poll.register(stream, select.EPOLLIN | select.EPOLLOUT)
        streams[stream.fileno()] = [stream, 0]

    def close(descriptor):
        poll.unregister(descriptor)
        streams.pop(descriptor)[0].close()

    while True:
        if order is None or select.select([sys.stdin], [], [], 0)[0]:
            line = sys.stdin.readline()
            for descriptor in list(streams):
                close(descriptor)
            if not line:
                return
            order = json.loads(line)
            data = memoryview(base64.b64decode(order["data"]))
            for _ in range(order["count"]):
                connect()
            print("ready", flush=True)
        for descriptor, events in poll.poll(0.05):
            stream, at = streams[descriptor]
            try:
                if events & select.EPOLLIN and stream.recv(1 << 20) == b"":
                    raise ConnectionResetError
                if events & select.EPOLLOUT:
                    sent = stream.send(data[at:at + (1 << 18)])
                    streams[descriptor][1] = (at + sent) % len(data)
            except BlockingIOError:
                pass
            except OSError:
                close(descriptor)
                with contextlib.suppress(OSError):
                    connect()


class Attackers:
    """Used in a with statement."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, "attack"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *failure):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def attack(self, count, data):
        self.process.stdin.write(json.dumps({
            "host": "127.0.0.1", "port": self.server.port, "count": count,
            "data": base64.b64encode(data).decode()}) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ready\n"

    def rest(self):
        self.attack(0, b"-")


class Victim:
    """An honest holder, and a server that has much of everything. Used in a with statement."""

    def __init__(self, locks=LOCKS):
        self.locks = locks
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        users = folder / "users"
        users.write_text(USERS)
        self.server = self.stack.enter_context(SocketServer(
            "--acl-file", str(users), "--max-memory", str(MAX_MEMORY), "--max-keep",
            "1h", "--script-time", f"{SCRIPT_MS}ms"))
        resp.Connection.TIMEOUT_SECONDS = 120
        self.operator = self.stack.enter_context(self.server.connect_unix())
        self.holder = self.stack.enter_context(self.server.connect_unix())
        self.attackers = self.stack.enter_context(Attackers(self.server))
        self.restore()
        assert self.holder.ask("LOCK", "honest", "holder", "PX", 600_000) > 0
        return self

    def __exit__(self, *failure):
        if self.server.process.poll() is not None:
            print(f"the server has ended with {self.server.process.returncode}: "
                  f"{self.server.output()[-500:]}", flush=True)
        self.stack.__exit__(*failure)

    def restore(self):
        """Creates what a command may have removed."""
        ask = self.operator.ask
        if ask("LLEN", "list") != ELEMENTS:
            ask_all(self.operator, [("DEL", "list")] + [("RPUSH", "list", "v" * 40 + str(i))
                                                        for i in range(ELEMENTS)])
        for many, add in ((("HLEN", "hash"), lambda i: ("HSET", "hash", f"f{i}", "v" * 40)),
                          (("SCARD", "set"), lambda i: ("SADD", "set", "v" * 40 + str(i))),
                          (("ZCARD", "zset"), lambda i: ("ZADD", "zset", i, "v" * 40 + str(i)))):
            if ask(*many) < ELEMENTS:
                ask_all(self.operator, [add(i) for i in range(ELEMENTS)])
        if ask("DBSIZE") < self.locks:
            ask_all(self.operator, [("LOCK", f"k{i}", "o", "PX", 3_600_000)
                                    for i in range(self.locks)])
        if len(ask("QUEUE", "queue", "COUNT", QUEUED)) < QUEUED - 1:
            ask_all(self.operator, [("LOCK", "queue", f"o{i}", "PX", 3_600_000, "KEEP", "1h",
                                     "META", "m" * 1000) for i in range(QUEUED)])

    def await_room(self):
        """The connections of the attackers end, and free what they have used."""
        end = time.monotonic() + ROOM_SECONDS_MAX
        while isinstance(self.operator.ask("SET", "room", "v", "PX", 1), resp.ErrorReply):
            assert time.monotonic() < end, "memory stays short"
            time.sleep(0.02)

    def processor_ms(self):
        """Returns the processor time of the loop so far."""
        path = f"/proc/{self.server.process.pid}/task/{self.server.process.pid}/schedstat"
        return int(pathlib.Path(path).read_text().split()[0]) / 1e6

    def peak_bytes(self):
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def measure(self, seconds):
        """Renews the lock again and again; returns the longest wait and the peak of memory."""
        pathlib.Path(f"/proc/{self.server.process.pid}/clear_refs").write_text("5")
        wait_ms = cpu_ms = 0.0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.monotonic()
            cpu_begun = self.processor_ms()
            # Some of the commands end the lock.
            if self.holder.ask("RENEW", "honest", "holder", "PX", 600_000) != 1:
                self.holder.ask("LOCK", "honest", "holder", "PX", 600_000)
            cpu_ms = max(cpu_ms, self.processor_ms() - cpu_begun)
            wait_ms = max(wait_ms, (time.monotonic() - begun) * 1000)
            time.sleep(0.002)
        return Measured(wait_ms, cpu_ms, self.peak_bytes())

    def attack(self, command, form, count, seconds, repeats):
        self.attackers.attack(count, FORMS[form](command.words, repeats))
        measured = self.measure(seconds)
        self.attackers.rest()
        return measured

    def recover(self):
        self.await_room()
        self.restore()


def wait_max(form, command, ms):
    return ms + SCRIPT_MS if form == "script" or command.name.startswith("EVAL") else ms


@unittest.skipUnless(IS_MEASURED, "the build is made to find mistakes")
class EveryCommand(unittest.TestCase):

    def check(self, form):
        victim = self.enterContext(Victim(locks=2_000))
        commands = commands_of(victim.operator)
        self.assertGreater(len(commands), 150)
        worst = Measured(0, 0, 0)
        for command in commands:
            bound = wait_max(form, command, SHORT_MS_MAX)
            with self.subTest(command.name):
                for _ in range(ATTEMPTS):
                    found = victim.attack(command, form, 3, 0.05, 50)
                    victim.recover()
                    if found.cpu_ms <= bound:
                        break
                worst = Measured(*map(max, zip(worst, found)))
                self.assertLessEqual(found.cpu_ms, bound)
                self.assertLessEqual(found.peak, MEMORY_MAX)
        print(f"{form}: {len(commands)} commands, longest wait {worst.cpu_ms:.1f} ms of the "
              f"server's processor time, at most {worst.peak >> 20} MB", flush=True)

    def test_in_pipelines(self):
        self.check("pipeline")

    def test_in_transactions(self):
        self.check("EXEC")

    def test_in_scripts(self):
        self.check("script")


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_table(names):
    """Returns True if all bounds are kept."""
    print_row("form", "attackers", "longest RENEW", "by", "memory", "by")
    print_row(*["---"] * 6)
    is_kept = True
    exceeded = []
    for form in FORMS:
        for count in COUNTS:
            waits, peaks = {}, {}
            remaining = None
            while remaining is None or remaining:
                with Victim() as victim:
                    if remaining is None:
                        remaining = [command for command in commands_of(victim.operator)
                                     if not names or command.name in names]
                    while remaining:
                        command = remaining.pop()
                        try:
                            found = victim.attack(command, form, count, 0.5, 500)
                        except (OSError, resp.Ended, AssertionError) as failure:
                            found = Measured(float("inf"), 0, 0)
                            print(f"{command.name}: {failure!r}", flush=True)
                        waits[command.name] = found.wait_ms
                        peaks[command.name] = found.peak
                        if (found.wait_ms > wait_max(form, command, WAIT_MS_MAX) or
                                found.peak > MEMORY_MAX):
                            exceeded.append((command.name, form, count, found))
                        if found.wait_ms == float("inf"):
                            victim.server.process.kill()
                            break
                        # What the attackers have stored may fill the memory. The next command
                        # begins with a new server.
                        try:
                            victim.recover()
                        except AssertionError as failure:
                            print(f"a new server after {command.name}: {failure}", flush=True)
                            break
            slowest, largest = max(waits, key=waits.get), max(peaks, key=peaks.get)
            print_row(form, count, f"{waits[slowest]:.0f} ms", slowest,
                      f"{peaks[largest] >> 20} MB", largest)
    for name, form, count, found in exceeded:
        is_kept = False
        print(f"NOT KEPT: {name} in {form} by {count}: {found.wait_ms:.0f} ms "
              f"({found.cpu_ms:.0f} ms of the server's processor time), {found.peak >> 20} MB")
    return is_kept


if __name__ == "__main__":
    if sys.argv[1:2] == ["attack"]:
        attack_forever()
    elif sys.argv[1:2] == ["table"]:
        sys.exit(0 if print_table(sys.argv[2:]) else 1)
    else:
        unittest.main()
