"""Installs the package; then builds and runs the tests and the examples with it.

    package_test.py FOLDER [BUILT]

    FOLDER  for all that is built; a second run builds only what has changed
    BUILT   where the library has been built; if it is not given, the package is built first
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent
OWN_SERVER = PACKAGE.parents[1] / "tests" / "clients" / "with_own_server.py"
EXAMPLE = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(*words, **options):
    subprocess.run([str(word) for word in words], check=True, **options)


def build(folder):
    """Optimizes, because g++ finds more to warn of then; assertions stay enabled."""
    run("cmake", "-S", PACKAGE, "-B", folder, "-DCMAKE_CXX_FLAGS=-O2 -Werror")
    run("cmake", "--build", folder)


def write_examples(folder):
    """The examples of the README, each in a namespace, as one file; written only if it changes."""
    texts = EXAMPLE.findall((PACKAGE / "README.md").read_text())
    assert texts, "the README has no examples"
    declarations = "void SendPayment(int, long);\nvoid Write(int, long);"
    lines = [f"#include <{header}>" for header in includes(texts)]
    lines.append(declarations)
    for number, text in enumerate(texts):
        body = "\n".join(line for line in text.splitlines() if not line.startswith("#include"))
        lines.append(f"namespace example_{number} {{\n{body}\n}}")
    made = "\n".join(lines) + "\n"
    target = folder / "readme.cc"
    if not target.exists() or target.read_text() != made:
        target.write_text(made)
    return target


def includes(texts):
    return sorted(set(re.findall(r"^#include <(.*)>$", "\n".join(texts), re.MULTILINE)))


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    prefix = folder / "prefix"
    built = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder / "library"
    if len(sys.argv) <= 2:
        build(built)
    run("cmake", "--install", built, "--prefix", prefix)
    tests = folder / "tests"
    run("cmake", "-S", HERE, "-B", tests, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DREADME={write_examples(folder)}")
    run("cmake", "--build", tests)
    for program in ("example", "client_test"):
        run(sys.executable, "-B", OWN_SERVER, "--redis", "--tls", tests / program,
            env=os.environ)
    run(sys.executable, "-B", OWN_SERVER, sys.executable, "-B", HERE / "with_own_cluster.py",
        tests / "cluster_test", env=os.environ)


main()
