"""The rules of the tree: each takes a SourceFile and yields (line number, what is wrong)."""

import ast
import dataclasses
import posixpath
import re

import cpp_classes
import cpp_functions

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 500
HEADER_LINES_MAX = 250
FUNCTION_LINES_MAX = 60
NODE_MAJOR = 18  # Debian's
HASTY_SECONDS = 5

# A folder of the tree: which folders its files may include, and which of our libraries it links. A
# folder that is not listed (tests, bench) may include and link everything.
MAY_INCLUDE = {
    "contracts": {"contracts"},
    "text": {"text"},
    "rows": {"rows"},
    "protocol": {"protocol", "text"},
    "json": {"json", "protocol", "text"},
    "storage": {"storage", "rows", "text"},
    "server/engine": {"server/engine", "rows"},
    "server/access": {"server/access", "server/engine", "protocol", "text"},
    "server/record": {"server/record", "server/engine"},
    "server/script": {"server/script", "protocol", "text"},
    "server/values": {"server/values", "server/engine", "rows", "text", "contracts"},
    "server/persist": {"server/persist", "server/engine", "server/values", "storage", "rows",
                       "contracts"},
    "server/command": {"server/command", "server/access", "server/record", "server/engine",
                       "server/values", "server/script", "json", "protocol", "text",
                       "contracts"},
    "server/http": {"server/http", "server/command", "server/record", "server/engine", "json",
                    "protocol"},
    "server/sentinel": {"server/sentinel", "server/command", "server/access", "server/engine",
                        "protocol"},
    "server/net": {"server/net", "server/http", "server/sentinel", "server/command",
                   "server/persist", "storage", "text", "contracts"},
    "server": {"server", "server/net", "server/http", "server/sentinel", "server/command",
               "server/persist", "server/access", "server/record", "server/engine",
               "server/values", "server/script", "json", "protocol", "storage", "dashboard",
               "text", "contracts"},
    "cli": {"cli", "json", "protocol", "text"},
    "dashboard": {"dashboard"},
}
MAY_LINK = {
    "text": set(),
    "protocol": {"text"},
    "json": {"protocol"},
    "storage": {"storage", "etcd", "json", "text"},  # nodes describe themselves in JSON
    "server/engine": set(),
    "server/access": {"engine", "protocol"},
    "server/record": {"engine"},
    "server/script": {"protocol"},
    "server/values": {"engine", "text"},
    "server/persist": {"engine", "values", "storage"},
    "server/command": {"access", "record", "script", "values", "json"},
    "server/http": {"command"},
    "server/sentinel": {"command"},
    "server/net": {"http", "sentinel", "command", "persist"},
    "server": {"net", "dashboard", "replicated"},
    "cli": {"json"},
    "dashboard": set(),
}

# The parts of a folder, lowest first: a part may include itself and the parts before it. "" is the
# folder itself.
PARTS = {
    "cli": ("base", "output", "connection", "views", "arguments", "run", "election", "top", "bench",
            "commands", ""),
    "storage": ("", "etcd", "records", "log", "replicated", "rocksdb", "data_folder"),
    "server/engine": ("containers", "api", "state", "rules", ""),
    "server": ("logging", "process", "config", "services", ""),
    "server/command": ("environment", "table", "statistics", "locks", "client", "cluster", "pubsub",
                       "transactions", "values", "delivery", "auth", "execution", "scripting", "",
                       "handlers"),
    "server/net": ("", "sockets", "turn", "relay", "tls", "resp", "loop", "http", "sentinel"),
}

# How large a class may be: public functions and members. A larger one is listed with its size,
# which it must not exceed, and the reason.
PUBLIC_FUNCTIONS_MAX = 12
MEMBERS_MAX = 10
LARGE_CLASSES = {
    "ArgumentReader": (25, 10, "one function for each kind of argument"),
    "Arguments": (14, 10, "one function for each kind of argument"),
    "AsyncConnection": (17, 24, "connects, logs in, asks and reconnects: one state after another"),
    "Availability": (16, 10, "what is refused now, and in the middle of a step"),
    "Budget": (12, 11, "steps, time, memory and bytes of one run"),
    "Channels": (22, 11, "names, patterns and shard channels: subscribed, published on, counted"),
    "Claim": (12, 14, "what a place or hold is; what few of them have is in ClaimExtras"),
    "Client": (15, 10, "one connection: what is asked, and what is known about the server"),
    "ClusterHome": (19, 12, "a standby and a leader, and the interface of a log home"),
    "CommandCaller": (20, 10, "one function for each way in which a route asks a command"),
    "Election": (12, 20, "a candidate: its hold, its hook, its page, and who leads"),
    "CommandStatistics": (14, 10, "one function for each event that is counted"),
    "ConnectionLog": (12, 13, "one throttle for each kind of line"),
    "Hash": (17, 10, "reading, changes, walks and the log of one type of value"),
    "History": (14, 10, "one history in three rings: recorded, restored, searched"),
    "HistoryRecord": (16, 10, "one function for each part of a packed record"),
    "HoldState": (16, 11, "what is known about a hold, and what may change it"),
    "HttpConnection": (12, 19, "the request that is read and the answer that is written"),
    "Journal": (15, 31, "the batch being filled, the one being written, the snapshot and the log"),
    "Leadership": (16, 10, "one function for each event that a standby or leader learns of"),
    "Link": (12, 13, "connects, asks, listens and reconnects: one state after another"),
    "List": (15, 10, "reading, changes, walks and the log of one type of value"),
    "LoadedRows": (12, 14, "one table for each kind of row"),
    "LockEngine": (43, 10, "the facade: one function for each request, and one for each part"),
    "LockEntry": (13, 10, "both forms of a lock, with and without members"),
    "LockSession": (12, 22, "the life of one lock that a command keeps"),
    "LockTable": (14, 10, "lookup, growth and walks of one table"),
    "PersistenceService": (12, 13, "opens the data folder, and follows what becomes of it"),
    "Places": (13, 10, "one function for each thing that may happen to a place"),
    "QueueWatch": (12, 12, "one waiter's queue as its command shows it"),
    "RecordRing": (18, 14, "one ring for all kinds of record, and the walks through it"),
    "Repartition": (12, 12, "one table for each kind of row"),
    "ReplicatedStore": (13, 11, "the interface of a store, and what its leader asks of it"),
    "ReplyWriter": (19, 10, "one function for each type of reply"),
    "RespConnection": (20, 14, "reads, executes and writes: one socket, in turns"),
    "Runner": (12, 11, "one child process and the lock that it runs under"),
    "Sandbox": (16, 10, "one function for each thing that a script is given"),
    "Server": (12, 23, "composes the server: one member for each part"),
    "ServerList": (14, 10, "the listed servers, a redirect, and the round that tries them"),
    "Set": (17, 10, "reading, changes, walks and the log of one type of value"),
    "SortedSet": (18, 10, "reading, changes, walks and the log of one type of value"),
    "Standby": (12, 14, "one thread that waits, and what others tell it and ask it meanwhile"),
    "StateLog": (14, 25, "the order of a turn: what is decided, handed over, complete, told"),
    "TlsHandshakes": (12, 13, "the thread of the handshakes and what it shares with the loop"),
    "Top": (12, 21, "one screen: its keys, its views and their data"),
    "ValueStore": (26, 12, "lookup, expiry, walks and the log of one table"),
    "WaitQueue": (15, 10, "one function for each thing that may happen in a queue"),
    "WebSocketConnection": (12, 12, "one socket, its feed and what is being written"),
}

# Headers that give access to the outside world (sockets, files, clocks, threads, randomness, logs).
_SOCKETS = r"boost/(asio|beast)\b.*|sys/(socket|epoll|un)\.h|netinet/.*|arpa/inet\.h|netdb\.h" \
           r"|openssl/ssl\.h"
_STORES = r"rocksdb/.*|grpc(pp)?/.*|etcd(\.grpc)?\.pb\.h"
_FILES = rf"fstream|filesystem|fcntl\.h|unistd\.h|sys/stat\.h|text/file\.h|{_STORES}"
_AMBIENT = r"iostream|cstdio|chrono|ctime|time\.h|sys/time\.h|random|thread|mutex|atomic|future" \
           r"|text/local_time\.h"
_LIBRARIES = r"spdlog/.*|yaml-cpp/.*|CLI/.*|systemd/.*"
OUTSIDE_HEADERS = {
    "rows": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "protocol": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "json": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/engine": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/access": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/record": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/script": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/persist": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/values": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/command": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/http": "|".join([_SOCKETS, _FILES, _AMBIENT, _LIBRARIES]),
    "server/net": rf"{_STORES}|yaml-cpp/.*|CLI/.*",
    "server": _STORES,
    "storage": "|".join([_SOCKETS, r"yaml-cpp/.*|CLI/.*|systemd/.*"]),
}

# Folders where a clock may be read. A single file may be added with a reason.
CLOCK_FOLDERS = ("server/net/", "bench/", "tests/", "clients/")
CLOCK_FILES = {
    "storage/etcd/endpoint.cc": "a call to etcd is bounded over all its attempts",
    "cli/base/clock.cc": "a client has its own time: how long it waits, when it renews",
}
_CLOCK = re.compile(
    r"\b(clock_gettime|gettimeofday|timespec_get|ftime|__rdtsc|_rdtsc)\s*\("
    r"|\b(steady_clock|system_clock|high_resolution_clock|utc_clock)::now\b"
    r"|(?<![\w.>])(std::|::)?time\s*\(\s*(nullptr|NULL|0|&\s*\w+)\s*\)"
    r"|\bstd::clock\s*\(")

_EMPTY_NAMES = r"utils?|common|misc|managers?|helpers?"
_NAME_IN_PATH = re.compile(rf"(?:^|[_.-])({_EMPTY_NAMES})(?=$|[_.-])", re.IGNORECASE)
_NAME_OF_TYPE = re.compile(r"\b(?:class|struct|namespace)\s+((?:\w*_)?(?:util|utils|common|misc"
                           r"|helper|manager)|\w*(?:Utils?|Common|Misc|Managers?|Helpers?))\b")

# Words from the machine where the code was written, spelt so that this file does not contain them.
_WORKPLACE = re.compile(
    "|".join([r"\biss" r"ues? #?\d", r"\bwork" r"place\b", r"(?<![\w./])/wo" r"rk/",
              r"(?<![\w./])/ro" r"ot/", r"(?<![\w./])/ho" r"me/\w+/", r"/tmp/bui" r"ld-",
              r"\bDES" r"IGN\.md", r"\bSTY" r"LE\.md", r"\bSYS" r"TEMS\.md"]), re.IGNORECASE)

# Pages of prose. docs/COMMANDS.md is generated from commands_intro.md and texts in the code.
_PROSE_PAGE = re.compile(r"(?:README|CHANGELOG|CONTRIBUTING|tests/docs/commands_intro)\.md|"
                         r"docs/(?!COMMANDS\.md$).+\.md")
_NOT_PROSE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*(?:\n[^`\n]+)?`|^#+ [^\n]*$",
                        re.MULTILINE | re.DOTALL)
# Phrases that read like a translation. "of late" may not end a clause; "of late writes" is fine.
_STILTED_PHRASE = re.compile(
    r"\b(?:would\s+be\s+right|(?:its|their)\s+kin|so\s+many|tells?\s+of|as\s+far\s+as)\b"
    r"|\bof\s+late(?=\s*(?:[^\w\s-]|\Z)|\s+(?:and|or|but)\b)", re.IGNORECASE)
# A sentence that begins with "Who" or "Whoever" and is not a question.
_SUBJECTLESS = re.compile(r"\b(?:Who|Whoever)\s(?=[^.?!|]*(?:[.!|]|\Z))")

_UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
_OUTLIVED = re.compile(r"server/(?:services/|process/|[^/]+$)")
_BARE_WAIT = re.compile(r"async_wait\(\[(?:this|&)\]")
_NDEBUG = re.compile(r"-DNDE" r"BUG|(define|ifn?def|defined\s*\(|elifn?def)\s*NDE" r"BUG\b"
                     r"|DEFINITIONS[^)#]*\bNDE" r"BUG\b|_definitions\([^)#]*\bNDE" r"BUG\b")


def folder_of(path):
    """Returns the folder of the tree that a file belongs to, or None."""
    parts = path.split("/")
    for depth in (2, 1):
        if "/".join(parts[:depth]) in MAY_INCLUDE and len(parts) > depth:
            return "/".join(parts[:depth])
    return None


def include_direction(file):
    allowed = MAY_INCLUDE.get(folder_of(file.path))
    for number, line in enumerate(file.lines if file.is_cpp else [], 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if not match:
            continue
        target = match.group(1)
        if file.path.startswith("clients/"):  # a project of its own, with a root of its own
            continue
        if "/" not in target or ".." in target.split("/"):
            yield number, f'"{target}" is not a path from the root of the project'
        elif allowed is not None and folder_of(target) not in allowed:
            yield number, f"{folder_of(file.path)} may not include {target}"


def part_of(path):
    """Returns the folder with parts that a file belongs to and its part, or None."""
    folder = folder_of(path)
    if folder not in PARTS:
        return None
    part = posixpath.dirname(path[len(folder) + 1:])
    return folder, PARTS[folder].index(part) if part in PARTS[folder] else None


def part_direction(file):
    own = part_of(file.path)
    if own is None or not file.is_cpp:
        return
    if own[1] is None:
        yield 1, f"{posixpath.dirname(file.path)} is no part of {own[0]}"
        return
    for number, line in enumerate(file.lines, 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        target = part_of(match.group(1)) if match else None
        if target and target[0] == own[0] and (target[1] is None or target[1] > own[1]):
            yield number, f"{posixpath.dirname(file.path)} may not include {match.group(1)}"


def class_size(file):
    if not file.is_cpp or file.path.startswith(("tests/", "bench/")):
        return
    for each in cpp_classes.classes_of(file):
        functions_max, members_max, _ = LARGE_CLASSES.get(
            each.name, (PUBLIC_FUNCTIONS_MAX, MEMBERS_MAX, ""))
        if each.public_functions > functions_max:
            yield (each.line, f"{each.name} has {each.public_functions} public functions, at most "
                              f"{functions_max}")
        if each.members > members_max and not each.is_struct:
            yield each.line, f"{each.name} has {each.members} members, at most {members_max}"


def outside_world(file):
    banned = OUTSIDE_HEADERS.get(folder_of(file.path))
    for number, line in enumerate(file.lines if file.is_cpp and banned else [], 1):
        match = re.match(r"\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", line)
        if match and re.fullmatch(banned, match.group(1)):
            yield number, f"{folder_of(file.path)} does without <{match.group(1)}>"


def link_direction(file):
    allowed = MAY_LINK.get(folder_of(file.path))
    if allowed is None or not file.path.endswith("/CMakeLists.txt"):
        return
    for call in re.finditer(r"fairlock_add_library\(\s*\w+([^)]*)\)", file.text):
        for linked in re.findall(r"\bfairlock_(\w+)", call.group(1)):
            if linked not in allowed | {"boost"}:
                yield file.line_of(call.start()), f"{folder_of(file.path)} may not link {linked}"


def clock_read(file):
    if not file.is_cpp or file.path.startswith(CLOCK_FOLDERS) or file.path in CLOCK_FILES:
        return
    for match in _CLOCK.finditer(file.code):
        yield file.line_of(match.start()), f"only server/net reads a clock: {match.group().strip()}"


def file_length(file):
    limit = HEADER_LINES_MAX if file.suffix == ".h" else FILE_LINES_MAX
    if file.is_code and len(file.lines) > limit:
        yield limit + 1, f"{len(file.lines)} lines, at most {limit}"


def line_length(file):
    for number, line in enumerate(file.lines if file.is_code else [], 1):
        if len(line) > LINE_COLUMNS_MAX:
            yield number, f"{len(line)} columns, at most {LINE_COLUMNS_MAX}"


def _python_functions(file):
    for node in ast.walk(ast.parse(file.text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield cpp_functions.Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)


def _shell_functions(file):
    for match in re.finditer(r"^(\w+)\(\) [{(]\n(?:.*\n)*?[})]", file.text, re.MULTILINE):
        lines = match.group().count("\n") + 1
        yield cpp_functions.Function(match.group(1), file.line_of(match.start()), lines)


def function_length(file):
    functions = []
    if file.is_cpp:
        functions = cpp_functions.functions_of(file)
    elif file.suffix == ".py":
        functions = _python_functions(file)
    elif file.is_code:
        functions = _shell_functions(file)
    for function in functions:
        if function.lines > FUNCTION_LINES_MAX:
            yield (function.first_line,
                   f"{function.name} has {function.lines} lines, at most {FUNCTION_LINES_MAX}")


def empty_name(file):
    for part in file.path.split("/"):
        match = _NAME_IN_PATH.search(part)
        if match:
            yield 1, f"'{match.group(1)}' in a name says nothing of what is in {part}"
    for match in _NAME_OF_TYPE.finditer(file.code if file.is_cpp else ""):
        yield file.line_of(match.start()), f"{match.group(1)} says nothing of what it does"


def foreign_word(file):
    for match in _WORKPLACE.finditer(file.text):
        yield file.line_of(match.start()), f"'{match.group()}' is not of this project"


def stilted_prose(file):
    if not _PROSE_PAGE.fullmatch(file.path):
        return
    # Masks code with backquotes of the same length, which preserves the positions of the rest.
    prose = _NOT_PROSE.sub(lambda code: re.sub(r"[^\n]", "`", code.group()), file.text)
    for match in _STILTED_PHRASE.finditer(prose):
        yield file.line_of(match.start()), f"'{match.group()}': use plain English"
    for match in _SUBJECTLESS.finditer(prose):
        yield file.line_of(match.start()), f"'{match.group().strip()}': name the subject"


def unfinished_mark(file):
    for match in _UNFINISHED.finditer(file.text if file.is_code else ""):
        yield file.line_of(match.start()), f"{match.group()}: finish it or leave it out"


# A loop runs the handlers that are ready when it is destroyed, after those who wait are gone.
def late_handler(file):
    if not _OUTLIVED.match(file.path):
        return
    for match in _BARE_WAIT.finditer(file.text):
        yield file.line_of(match.start()), "wait with a net::Alarm, or capture a weak pointer, too"


def ndebug(file):
    for match in _NDEBUG.finditer(file.text):
        yield file.line_of(match.start()), "assertions are on in every build"


def header_form(file):
    if file.suffix != ".h":
        return
    opening = [line for line in file.lines if line.strip()][:3]
    if not any(line.startswith("//") for line in opening):
        yield 1, "a header opens with a comment of one sentence: its role"
    if "#pragma once" not in file.lines:
        yield 1, "no #pragma once"


def namespace(file):
    folder = folder_of(file.path)
    if not file.is_cpp or folder is None or file.path == f"{folder}/main.cc":
        return
    expected = f"namespace fairlock::{folder.split('/')[-1]}"
    if not re.search(rf"^{expected}\b", file.code, re.MULTILINE):
        yield 1, f"nothing is in {expected}"


def banned_construct(file):
    if not file.is_cpp or folder_of(file.path) is None:
        return
    for match in re.finditer(r"\bthrow\b|\bco_(?:await|return|yield)\b", file.code):
        what = "no exceptions of ours" if match.group() == "throw" else "no coroutines"
        yield file.line_of(match.start()), f"{match.group()}: {what}"


def disabled_check(file):
    if not file.path.endswith(".clang-tidy"):
        return
    for match in re.finditer(r"^\s*-([\w.-]+\w),?$", file.text, re.MULTILINE):
        if not re.search(rf"^# {re.escape(match.group(1))}: \S", file.text, re.MULTILINE):
            yield file.line_of(match.start(1)), f"{match.group(1)} is disabled without a reason"


def dead_link(file):
    if file.suffix != ".md":
        return
    for match in re.finditer(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", file.text):
        target = match.group(1)
        if re.match(r"\w+:", target):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), target))
        if path not in file.tree and not any(other.startswith(f"{path}/") for other in file.tree):
            yield file.line_of(match.start()), f"there is no {path}"


def locked_package(file):
    """Debian 12 has Node.js 18.20; with a newer one, developers would not notice a package that
    needs more. What is named newest is tested with a newer one."""
    if not file.path.endswith("package-lock.json"):
        return
    for match in re.finditer(r'"node": "([^"]*)"', file.text):
        package = file.text[file.text.rfind('"node_modules/', 0, match.start()):match.start()]
        if re.match(r'"node_modules/[^"/]*-newest["/]', package):
            continue
        majors = [int(major) for major in re.findall(r"(?:^|[>=^~|\s])(\d+)", match.group(1))]
        if majors and min(majors) > NODE_MAJOR:
            yield file.line_of(match.start()), f"Node.js {NODE_MAJOR} is not {match.group(1)}"


def interpreter(file):
    """Debian's interpreters find Debian's modules; another one may come first in the PATH."""
    match = re.match(r"#!.*\benv (?:-\S+ )*(?!bash\b)(\w+)", file.text)
    if match:
        yield 1, f"{match.group(1)}: name it by its path, /usr/bin/..."


def hasty_test(file):
    """How long something takes depends on the machine; see CONTRIBUTING.md."""
    if not re.search(r"(?:^|/)tests/(?!tidy/).*\.py$", file.path):
        return
    for match in re.finditer(r"assertLess(?:Equal)?\(\s*time\.monotonic\(\) - \w+,\s*([\d.]+)[,)]",
                             file.text):
        if float(match.group(1)) < HASTY_SECONDS:
            yield file.line_of(match.start()), f"a busy machine may take {match.group(1)} s"


RULES = {
    "include-direction": include_direction,
    "part-direction": part_direction,
    "class-size": class_size,
    "outside-world": outside_world,
    "link-direction": link_direction,
    "clock-read": clock_read,
    "file-length": file_length,
    "line-length": line_length,
    "function-length": function_length,
    "empty-name": empty_name,
    "foreign-word": foreign_word,
    "stilted-prose": stilted_prose,
    "unfinished-mark": unfinished_mark,
    "late-handler": late_handler,
    "ndebug": ndebug,
    "header-form": header_form,
    "namespace": namespace,
    "banned-construct": banned_construct,
    "disabled-check": disabled_check,
    "dead-link": dead_link,
    "locked-package": locked_package,
    "interpreter": interpreter,
    "hasty-test": hasty_test,
}


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    what: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.what}"


def findings_in(files):
    """Returns all violations of the rules in `files`."""
    return [Finding(file.path, line, name, what)
            for file in files for name, rule in RULES.items() for line, what in rule(file)]
