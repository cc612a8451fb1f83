#!/usr/bin/python3
"""Runs the tests of the client on a version of redis-py other than Debian's.

    clients/python/tests/on_redis_py.py 8                               all tests
    clients/python/tests/on_redis_py.py 8 --tests lock_test aio_test
    clients/python/tests/on_redis_py.py 8 --conformance --on plain fleet
    clients/python/tests/on_redis_py.py 7 --python python3.13

The version is that of a file in versions/, which pins the packages. They are installed from pip's
registry into a virtual environment. If that fails, the exit status is 77, and the last line says
why. FAIRLOCKD is the server.
"""

import argparse
import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parents[2]
SKIPPED = 77
# Tests that are not about redis-py, and need packages that are not installed there.
OTHERS = {"package_test"}
# If the packages could not be installed for one test, the tests after it do not try again for this
# long.
GIVE_UP_SECONDS = 600


def versions():
    return sorted(path.stem.removeprefix("redis-") for path in (TESTS / "versions").glob("*.txt"))


def skip(reason):
    print(f"skipped: redis-py could not be installed: {reason}")
    sys.exit(SKIPPED)


def install(version, python, folder):
    """Returns the interpreter of the environment, which is made by one process at a time."""
    wanted = TESTS / "versions" / f"redis-{version}.txt"
    folder.mkdir(parents=True, exist_ok=True)
    done, failed = folder / "installed.txt", folder / "failed.txt"
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if failed.exists() and failed.stat().st_mtime > time.time() - GIVE_UP_SECONDS:
            skip(failed.read_text())
        if not done.exists() or done.read_text() != wanted.read_text():
            pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet",
                   "--disable-pip-version-check", "--no-input", "-r", wanted]
            for words in ([python, "-m", "venv", "--clear", folder / "venv"], pip):
                made = subprocess.run(words, capture_output=True, text=True, check=False)
                if made.returncode != 0:
                    lines = (made.stderr or made.stdout).strip().splitlines() or ["no output"]
                    failed.write_text(lines[-1])
                    skip(lines[-1])
            done.write_text(wanted.read_text())
    return str(folder / "venv/bin/python")


def run_conformance(python, words):
    """Runs both drivers of this client, and no other."""
    driver = f"{python} -B {TESTS / 'conformance_driver.py'}"
    return subprocess.run(
        [sys.executable, "-B", ROOT / "tests/clients/conformance/conformance.py",
         "--driver", f"python={driver}", "--driver", f"asyncio={driver} --asyncio",
         "--languages", "python", "asyncio", *words], check=False).returncode


def run_tests(python, names):
    failures = 0
    for name in names:
        print(f"--- {name}", flush=True)
        done = subprocess.run([python, "-B", TESTS / f"{name}.py"], check=False)
        failures += done.returncode != 0
    if len(names) > 1:
        print(f"{len(names) - failures} passed, {failures} failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", choices=versions())
    parser.add_argument("--python", default="/usr/bin/python3", help="another interpreter")
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the environment here")
    parser.add_argument("--tests", nargs="+", metavar="NAME", help="by default, all")
    parser.add_argument("--conformance", action="store_true",
                        help="run the cases of tests/clients/conformance; what follows is for it")
    arguments, words = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="fairlock-redis-py-") as folder:
        python = install(arguments.version, arguments.python,
                         arguments.folder or pathlib.Path(folder))
        about = "import redis, sys; print('redis-py', redis.__version__, 'Python', sys.version)"
        subprocess.run([python, "-c", about], check=True)
        if arguments.conformance:
            return run_conformance(python, words)
        if words:
            parser.error(f"unknown: {' '.join(words)}")
        return run_tests(python, arguments.tests or sorted(
            path.stem for path in TESTS.glob("*_test.py") if path.stem not in OTHERS))


if __name__ == "__main__":
    os.environ.setdefault("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))
    sys.exit(main())
