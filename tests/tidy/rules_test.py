#!/usr/bin/python3
"""Plants violations of every rule, and similar clean code, and checks the findings."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import check_tree
import cpp_classes
import cpp_functions
import rules
import source_file

_N = "NDE" "BUG"
_LONG_BODY = "  Step();\n" * (rules.FUNCTION_LINES_MAX - 1)
_FULL_BODY = "  Step();\n" * (rules.FUNCTION_LINES_MAX - 2)
_MANY_FUNCTIONS = "  void F(int a = 1) const;\n" * (rules.PUBLIC_FUNCTIONS_MAX + 1)
_MANY_MEMBERS = "  std::function<void(int)> a_{1};\n" * (rules.MEMBERS_MAX + 1)
_IN_ENGINE = "namespace fairlock::engine {\n%s\n}\n"


def _file(path, text):
    return source_file.SourceFile(path, text, frozenset([path, "docs/decisions/0001-a.md"]))


def _lines(count):
    return "// A line.\n" * count


# Rule, then (path, text, line of the only finding).
PLANTED = {
    "include-direction": [
        ("protocol/a.cc", '#include "server/engine/types.h"\n', 1),
        ("server/engine/a.h", '#include <vector>\n#include "protocol/limits.h"\n', 2),
        ("server/command/a.cc", '#include "server/net/turn.h"\n', 1),
        ("server/net/a.cc", '#include "server/engine/types.h"\n', 1),
        ("server/net/a.cc", '#  include "server/config/config.h"\n', 1),
        ("storage/a.cc", '#include "server/engine/types.h"\n', 1),
        ("cli/a.cc", '#include "server/command/client.h"\n', 1),
        ("server/a.cc", '#include "bench/load.h"\n', 1),
        ("server/engine/a.cc", '#include "types.h"\n', 1),
        ("tests/unit/a.cc", '#include "tests/../protocol/limits.h"\n', 1),
    ],
    "part-direction": [
        ("server/engine/api/a.h", '#include "server/engine/state/claim.h"\n', 1),
        ("server/engine/rules/a.h", '#include "server/engine/lock_engine.h"\n', 1),
        ("server/engine/rules/a.h", '#include "server/engine/types.h/x.h"\n', 1),
        ("cli/views/a.h", '#include "cli/commands/b.h"\n', 1),
        ("cli/top/a.cc", 'int x;\n#include "cli/main.h"\n', 2),
        ("cli/elsewhere/a.cc", "", 1),
        ("storage/log/a.h", '#include "storage/rocksdb/b.h"\n', 1),
        ("storage/status.h", 'int x;\n#include "storage/records/b.h"\n', 2),
        ("storage/log/a.cc", '#include "storage/elsewhere/b.h"\n', 1),
        ("storage/elsewhere/a.cc", "", 1),
        ("storage/etcd/a.h", '#include "storage/records/b.h"\n', 1),
        ("server/command/client/a.h", '#include "server/command/auth/b.h"\n', 1),
        ("server/command/auth/a.cc", 'int x;\n#include "server/command/server_parts.h"\n', 2),
        ("server/command/server_parts.h", '#include "server/command/handlers/b.h"\n', 1),
        ("server/command/elsewhere/a.cc", "", 1),
    ],
    "class-size": [
        ("server/command/a.h", "class A {\n public:\n" + _MANY_FUNCTIONS + "};\n", 1),
        ("server/command/a.h", "struct A {\n" + _MANY_FUNCTIONS + "};\n", 1),
        ("server/command/a.h", "int x;\nclass A : public B {\n" + _MANY_MEMBERS + "};\n", 2),
        ("server/net/a.h", "class RespConnection {\n public:\n" + 2 * _MANY_FUNCTIONS + "};\n", 1),
    ],
    "outside-world": [
        ("protocol/a.cc", "#include <sys/socket.h>\n", 1),
        ("server/engine/a.cc", "#include <chrono>\n", 1),
        ("server/engine/a.cc", "#include <boost/asio/buffer.hpp>\n", 1),
        ("server/command/a.cc", "#include <spdlog/spdlog.h>\n", 1),
        ("server/net/a.cc", "#include <rocksdb/db.h>\n", 1),
        ("server/a.cc", "#include <grpcpp/grpcpp.h>\n", 1),
        ("storage/a.cc", "#include <boost/asio.hpp>\n", 1),
        ("server/command/a.cc", '#include "text/file.h"\n', 1),
    ],
    "link-direction": [
        ("protocol/CMakeLists.txt", "fairlock_add_library(protocol fairlock_engine)\n", 1),
        ("server/net/CMakeLists.txt", "# x\nfairlock_add_library(net\n  fairlock_server)\n", 2),
    ],
    "clock-read": [
        ("server/engine/a.cc", "auto n = std::chrono::steady_clock::now();\n", 1),
        ("server/a.cc", "int x;\nclock_gettime(CLOCK_BOOTTIME, &t);\n", 2),
        ("server/command/a.cc", "long n = time(nullptr);\n", 1),
        ("protocol/a.cc", "gettimeofday (&tv, nullptr);\n", 1),
        ("cli/a.cc", "auto n = system_clock::now();\n", 1),
        ("storage/a.cc", "auto n = std::time(&t);\n", 1),
    ],
    "file-length": [
        ("server/a.cc", _lines(rules.FILE_LINES_MAX + 1), rules.FILE_LINES_MAX + 1),
        ("tests/a.py", "# A line.\n" * (rules.FILE_LINES_MAX + 1), rules.FILE_LINES_MAX + 1),
        ("bench/a.h", _lines(rules.HEADER_LINES_MAX + 1), rules.HEADER_LINES_MAX + 1),
    ],
    "line-length": [
        ("server/a.cc", "\n//" + "x" * (rules.LINE_COLUMNS_MAX - 1) + "\n", 2),
        ("deploy/a.sh", "#" + "x" * rules.LINE_COLUMNS_MAX + "\n", 1),
        ("bench/CMakeLists.txt", "#" + "x" * rules.LINE_COLUMNS_MAX + "\n", 1),
    ],
    "function-length": [
        ("bench/a.cc", "void F() {\n" + _LONG_BODY + "}\n", 1),
        ("bench/a.cc", "namespace a {\nclass B : public C<D> {\n public:\n"
                       "  int F(Options o = {}) const {\n" + _LONG_BODY + "  }\n};\n}\n", 4),
        ("bench/a.cc", "B::B(int c) : c_{c}, d_(1) {\n" + _LONG_BODY + "}\n", 1),
        ("tests/unit/a.cc", "TEST(A, B) {\n  if (x) {\n" + _LONG_BODY + "  }\n}\n", 1),
        ("tests/a.py", "def f():\n" + "    step()\n" * rules.FUNCTION_LINES_MAX, 1),
        ("deploy/a.sh", "Do() {\n" + _LONG_BODY + "}\n", 1),
    ],
    "empty-name": [
        ("server/string_util.cc", "", 1),
        ("server/common/text.h", "", 1),
        ("tests/helpers.py", "", 1),
        ("server/a.cc", "\nclass LockManager final {\n", 2),
        ("server/a.cc", "namespace util {\n", 1),
    ],
    "foreign-word": [
        ("docs/A.md", "Some words.\nSee iss" "ue #3.\n", 2),
        ("server/a.cc", "// As iss" "ue 12 says.\n", 1),
        ("deploy/a.sh", "cd /wo" "rk/main\n", 1),
        ("docs/A.md", "as in DES" "IGN.md\n", 1),
    ],
    "stilted-prose": [
        ("docs/A.md", "Words.\n\n```text\nx\n```\n\n64 would\nbe right.\n", 7),
        ("docs/recipes/a.md", "`INCR` and its kin.\n", 1),
        ("docs/OPERATIONS.md", "| `SET` | `EXPIRE` and their kin | 1 |\n", 1),
        ("README.md", "# So many\n\nSo many connections wait.\n", 3),
        ("CHANGELOG.md", "- What a connection has cost of late.\n", 1),
        ("docs/A.md", "more than its share of late (`FairShareMeter`)\n", 1),
        ("CONTRIBUTING.md", "A reply that tells of a change.\n", 1),
        ("docs/A.md", "It is refused, as far\nas `deadlock_search` reaches.\n", 1),
        ("docs/A.md", "Nobody waits. Who polls has no place.\n", 1),
        ("docs/A.md", "A row.\n\n| a | b |\n| Whoever asks | `c`? |\n", 4),
        ("docs/A.md", "- Whoever waits\n  is granted.\n", 1),
    ],
    "unfinished-mark": [
        ("server/a.cc", "// TO" "DO: the rest\n", 1),
        ("deploy/a.sh", "# FIX" "ME\n", 1),
    ],
    "late-handler": [
        ("server/services/a.cc", "\n  timer_.async_wait([this](const auto& error) {\n", 2),
        ("server/server.cc", "  signals_.async_wait([&](const auto& error, int signal) {\n", 1),
    ],
    "ndebug": [
        ("CMakeLists.txt", f'set(CMAKE_CXX_FLAGS_RELEASE "-O2 -D{_N}")\n', 1),
        ("bench/CMakeLists.txt", f"target_compile_definitions(a PRIVATE {_N})\n", 1),
        ("server/a.cc", f"#ifndef {_N}\n", 1),
        ("server/a.cc", f"#define {_N}\n", 1),
    ],
    "header-form": [
        ("bench/a.h", "// A role.\n\n#ifndef FAIRLOCK_A_H\n", 1),
        ("bench/a.h", "#pragma once\n\n#include <vector>\n\nint F();\n", 1),
    ],
    "namespace": [
        ("protocol/a.cc", "namespace fairlock {\n}\n", 1),
        ("server/engine/a.h", "// namespace fairlock::engine\nnamespace fairlock {\n}\n", 1),
    ],
    "banned-construct": [
        ("server/a.cc", "void F() {\n  throw 1;\n}\n", 2),
        ("server/net/a.cc", "  co_await x;\n", 1),
    ],
    "disabled-check": [
        (".clang-tidy", "# misc-a: so it is\nChecks: >-\n  misc-*,\n  -misc-a,\n  -misc-b.C\n", 5),
    ],
    "locked-package": [
        ("tests/a/package-lock.json", '"node": ">=18"\n"node": ">=20"\n', 2),
        ("tests/a/package-lock.json", '"node": "^20.1.0 || >= 22.0.0"\n', 1),
        ("tests/a/package-lock.json",
         '"node_modules/a-newest": {\n"node": ">=20"\n"node_modules/b": {\n"node": ">=20"\n', 4),
    ],
    "interpreter": [
        ("tests/a.py", "#!/usr/bin/env python3\n", 1),
        ("tests/a.rb", "#!/usr/bin/env -S ruby -w\n", 1),
    ],
    "hasty-test": [
        ("tests/a_test.py", "x\n    self.assertLess(time.monotonic() - begun, 1)\n", 2),
        ("clients/python/tests/a_test.py",
         "self.assertLessEqual(time.monotonic() - t, 0.5, 'words')\n", 1),
    ],
    "dead-link": [
        ("docs/A.md", "Some words.\n[b](B.md)\n", 2),
        ("README.md", "[a](decisions/0001-a.md#price)\n", 1),
    ],
}

# Rule, then (path, text) without a finding.
CLEAN = {
    "include-direction": [
        ("server/command/a.cc", '#include "protocol/limits.h"\n#include "server/engine/types.h"\n'),
        ("server/net/a.cc", '#include "server/command/client.h"\n#include "storage/store.h"\n'),
        ("server/main.cc", '#include "server/net/turn.h"\n#include "server/config/config.h"\n'),
        ("bench/a.cc", '#include "server/net/turn.h"\n'),
    ],
    "part-direction": [
        ("cli/top/a.h", '#include "cli/top/b.h"\n#include "cli/views/b.h"\n'),
        ("cli/main.cc", '#include "cli/commands/b.h"\n#include "json/json_text.h"\n'),
        ("storage/log/a.h", '#include "storage/log/b.h"\n#include "storage/records/b.h"\n'
                            '#include "storage/status.h"\n'),
        ("server/persist/a.cc", '#include "storage/rocksdb/b.h"\n'),
        ("server/command/auth/a.h", '#include "server/command/auth/b.h"\n'
                                    '#include "server/command/client/b.h"\n'),
        ("server/command/handlers/a.cc", '#include "server/command/server_parts.h"\n'),
        ("server/net/a.cc", '#include "server/command/handlers/b.h"\n'),
    ],
    "class-size": [
        ("server/command/a.h", "class A {\n" + _MANY_FUNCTIONS + "};\n"),
        ("server/command/a.h", "struct A {\n" + _MANY_MEMBERS + "};\n"),
        ("server/net/a.h", "class RespConnection {\n public:\n" + _MANY_FUNCTIONS + "};\n"),
        ("server/command/a.h", "class A {\n public:\n  A();\n  ~A();\n"
                               + "  A(const A&) = delete;\n  void operator()();\n" * 10 + "};\n"),
        ("tests/unit/a.h", "class A {\n public:\n" + _MANY_FUNCTIONS + "};\n"),
    ],
    "outside-world": [
        ("server/net/a.cc", "#include <sys/socket.h>\n#include <boost/asio.hpp>\n"),
        ("server/engine/a.cc", "#include <boost/intrusive/list.hpp>\n"),
        ("storage/a.cc", "#include <rocksdb/db.h>\n"),
    ],
    "link-direction": [
        ("server/net/CMakeLists.txt", "fairlock_add_library(net fairlock_command boost)\n"),
        ("bench/CMakeLists.txt", "fairlock_add_library(load fairlock_net)\n"),
    ],
    "clock-read": [
        ("server/net/a.cc", "clock_gettime(CLOCK_BOOTTIME, &t);\n"),
        ("bench/a.cc", "auto n = std::chrono::steady_clock::now();\n"),
        ("server/engine/a.cc", "// steady_clock::now() is not for us\nauto t = entry.time(0);\n"),
        ("server/engine/a.cc", 'auto s = "time(nullptr)";\nwait_time(0);\n'),
    ],
    "file-length": [("server/a.cc", _lines(rules.FILE_LINES_MAX)),
                    ("bench/a.h", _lines(rules.HEADER_LINES_MAX)),
                    ("docs/A.md", _lines(rules.FILE_LINES_MAX + 1))],
    "line-length": [("server/a.cc", "x" * rules.LINE_COLUMNS_MAX + "\n"),
                    ("server/a.cc", "é" * rules.LINE_COLUMNS_MAX + "\n"),
                    ("docs/A.md", "x" * 200 + "\n")],
    "function-length": [
        ("bench/a.cc", "void F() {\n" + _FULL_BODY + "}\nvoid G() {\n" + _FULL_BODY + "}\n"),
        ("bench/a.cc", "constexpr Row kRows[] = {\n" + "    {1, F()},\n" * 80 + "};\n"),
        ("bench/a.cc", "class A {\n" + "  int F() { return '{'; }\n" * 80 + "};\n"),
        ("bench/a.cc", 'const char* kText = R"(\nF() {\n' + "\n" * 80 + ')";\n'),
    ],
    "empty-name": [("server/utility_poles.cc", ""), ("server/commonly.h", "class Managed {\n")],
    "foreign-word": [("docs/A.md", "A tissue 3, an issue, /var/lib/fairlock, net/wo" "rk/\n")],
    "stilted-prose": [
        ("docs/A.md", "```text\n64 would be right\nWho is it.\n```\n    `--a would be right`\n"),
        ("docs/A.md", "## Who may connect\n\nWho is it, who waits, and since when? Nobody.\n"),
        ("docs/A.md", "The risk of late writes. It tells `a` of `b`. Not so; many wait.\n"),
        ("docs/A.md", "A \"Who has it?\" table for clients who poll, like whoever\nasks.\n"),
        ("docs/COMMANDS.md", "Who holds the lock, and its kin.\n"),
        ("server/a.cc", "// Who would be right.\n"),
        ("tests/a.md", "Who would be right.\n"),
    ],
    "unfinished-mark": [("server/a.cc", 'mkstemp("aXX' 'XXXX");  // to do\n')],
    "late-handler": [
        ("server/services/a.cc", "  timer_.async_wait([this, alive = std::weak_ptr(a_)](E e) {\n"),
        ("server/net/loop/a.cc", "  timer_.async_wait([this](const auto& error) {\n"),
    ],
    "ndebug": [("CMakeLists.txt", f"add_compile_options(-U{_N})\n")],
    "header-form": [("bench/a.h", "// A role.\n\n#pragma once\n"),
                    ("bench/a.h", "#pragma once\n\n// A role.\n"), ("bench/a.cc", "")],
    "namespace": [("protocol/a.cc", "namespace fairlock::protocol {\n}\n"),
                  ("server/main.cc", "int main() {}\n"),
                  ("tests/unit/a.cc", "int main() {}\n")],
    "banned-construct": [("server/a.cc", "// throw nothing\nauto s = \"throw\";\n"),
                         ("tests/a.cc", "throw 1;\n")],
    "disabled-check": [(".clang-tidy", "# misc-a: so it is\nChecks: >-\n  -misc-a,\n"),
                       ("docs/A.md", "  -misc-a,\n")],
    "locked-package": [
        ("tests/a/package-lock.json",
         '"node": ">=18"\n"node": "^14.13.1 || >=20.0.0"\n"node": ">= 18.19.0"\n"node": "*"\n'),
        ("tests/a/package-lock.json",
         '"node_modules/a-newest/node_modules/b": {\n"node": ">=20"\n'),
        ("tests/a/package.json", '"node": ">=20"\n'),
    ],
    "interpreter": [("tests/a.py", "#!/usr/bin/python3\n"), ("a.sh", "#!/usr/bin/env bash\n")],
    "hasty-test": [("tests/a_test.py", "self.assertLess(time.monotonic() - begun, 10)\n"),
                   ("bench/a.py", "assertLess(time.monotonic() - begun, 1)\n")],
    "dead-link": [("docs/A.md", "[a](decisions/0001-a.md#price) [b](decisions/) [c](A.md)\n"),
                  ("docs/A.md", "[a](https://example.org/b) [b](#words)\n")],
}


class RulesTest(unittest.TestCase):

    def test_every_rule_has_something_planted_and_something_clean(self):
        self.assertEqual(set(PLANTED), set(rules.RULES))
        self.assertEqual(set(CLEAN), set(rules.RULES))

    def test_every_planted_violation_is_found_once_where_it_is(self):
        for name, cases in PLANTED.items():
            for path, text, line in cases:
                with self.subTest(rule=name, path=path, text=text[:80]):
                    found = list(rules.RULES[name](_file(path, text)))
                    self.assertEqual([number for number, _ in found], [line])

    def test_clean_code_is_left_alone(self):
        for name, cases in CLEAN.items():
            for path, text in cases:
                with self.subTest(rule=name, path=path, text=text[:80]):
                    found = list(rules.RULES[name](_file(path, text)))
                    self.assertEqual(found, [])

    def test_a_finding_names_file_line_and_rule(self):
        file = source_file.SourceFile("protocol/a.cc", _IN_ENGINE % "throw 1;")
        self.assertEqual(
            [str(finding) for finding in rules.findings_in([file])],
            ["protocol/a.cc:1: namespace: nothing is in namespace fairlock::protocol",
             "protocol/a.cc:2: banned-construct: throw: no exceptions of ours"])


class FunctionsTest(unittest.TestCase):

    def _names(self, text):
        found = cpp_functions.functions_of(source_file.SourceFile("a.cc", text))
        return [(function.name, function.lines) for function in found]

    def test_forms_of_definitions(self):
        for text, expected in [
                ("static int F(int a, char b = '{') noexcept {\n}\n", [("F", 2)]),
                ("template <typename T = int>\nauto A<T>::G() const -> T {\n}\n", [("G", 3)]),
                ("bool operator==(const A& a) const { return a == b; }\n", [("operator==", 1)]),
                ("A::A() : b_{1},\n         c_(2) {}\n", [("A::A", 2)]),
                ("struct A { int x{0}; void F() { auto l = [] { return 1; }; } };", [("F", 1)]),
                ("#define F() {\nint G() {\n  return 1'000'000;\n}\n", [("G", 3)]),
                ("enum class A : int { kB = 1 };\nint x[] = {1, 2};\nusing B = C<D>;\n", []),
                ('extern "C" int F(const char* d) {\n}\n', [("F", 2)])]:
            with self.subTest(text=text):
                self.assertEqual(self._names(text), expected)


class ClassesTest(unittest.TestCase):

    def test_what_counts(self):
        for body, functions, members in [
                (" public:\n  int F() const { return a_; }\n  void G();\n", 2, 0),
                (" public:\n  A(int a) : a_(a) {}\n  A& operator=(const A&) = delete;\n", 0, 0),
                ("  void F();\n  int a_ = G();\n  B b_{1};\n  static const int kC = 1;\n", 0, 2),
                (" public:\n  struct B { int x; };\n  using C = D<int()>;\n  E<F()> e;\n", 0, 1),
                (" public:\n  bool F() override {\n    if (x) { y(); }\n  }\n private:\n"
                 "  void G();\n  std::function<void(int)> h_;\n", 1, 1)]:
            with self.subTest(body=body):
                text = "class A final : public Z {\n" + body + "};\n"
                found = cpp_classes.classes_of(source_file.SourceFile("a.h", text))[0]
                self.assertEqual((found.public_functions, found.members), (functions, members))


class TreeTest(unittest.TestCase):

    def test_the_exit_status_says_whether_the_rules_are_kept(self):
        for text, expected in [("int x;\n", 0), ("#define " + _N + "\n", 1), (None, 2)]:
            with self.subTest(text=text), tempfile.TemporaryDirectory() as folder:
                if text is not None:
                    (pathlib.Path(folder) / "a.cc").write_text(text, encoding="utf-8")
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(check_tree.main(["check_tree.py", folder]), expected)

    def test_reads_the_sources_and_not_what_a_build_leaves(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ["server/a.cc", "build/b.cc", "docs/A.md", ".git/c.cc", "deploy/run"]:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("x\n", encoding="utf-8")
            (root / "server/picture").write_bytes(b"\xff\xfe\x00")
            self.assertEqual([file.path for file in source_file.read_tree(root)],
                             ["deploy/run", "docs/A.md", "server/a.cc"])


if __name__ == "__main__":
    unittest.main()
