"""The package as it is shipped: the wheel, its types and its documentation."""

import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT.parents[1] / "tests" / "integration")]

import own_server  # noqa: E402

import fairlock  # noqa: E402
import fairlock.aio  # noqa: E402

LINES_MAX = 300
# Takes a lock, waits for it in a thread, and releases it.
PROGRAM = """
import sys, threading, time
import fairlock, fairlock.aio, redis
print(sys.prefix if fairlock.__file__.startswith(sys.prefix) else fairlock.__file__)
r = redis.Redis(port=int(sys.argv[1]))
hold = fairlock.lock(r, "k").acquire()
waiter = threading.Thread(target=lambda: print(
    fairlock.lock(r, "k", wait=60).acquire().release(), r.execute_command("LOCKED", "k")))
waiter.start()
while not r.execute_command("QUEUE", "k"):
    time.sleep(0.01)
was_held = hold.release()
waiter.join()
print(was_held)
"""


class Package(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_program(self, *words, **options):
        done = subprocess.run([sys.executable, *map(str, words)], cwd=self.folder, text=True,
                              capture_output=True, timeout=100, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def build(self):
        """Returns the wheel and the archive of sources. A build writes beside the sources, so it
        gets a copy of them."""
        copy = self.folder / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
        made = {}
        for kind in ("wheel", "sdist"):
            done = subprocess.run(
                [sys.executable, "-c", f"from setuptools import build_meta as it; "
                 f"print(it.build_{kind}({str(self.folder)!r}))"],
                cwd=copy, text=True, capture_output=True, timeout=100)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            made[kind] = self.folder / done.stdout.splitlines()[-1]
        self.assertEqual(made["wheel"].name, f"fairlock-{fairlock.__version__}-py3-none-any.whl")
        self.assertEqual(made["sdist"].name, f"fairlock-{fairlock.__version__}.tar.gz")
        return made

    def test_the_wheel_and_the_sources_contain_the_package_and_its_types(self):
        made = self.build()
        sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*")
                   if path.suffix in (".py", ".typed")}
        with zipfile.ZipFile(made["wheel"]) as archive:
            names = set(archive.namelist())
        self.assertEqual({name for name in names if ".dist-info" not in name}, sources)
        self.assertEqual([name for name in names if name.endswith("/LICENSE")],
                         [f"fairlock-{fairlock.__version__}.dist-info/LICENSE"])
        with tarfile.open(made["sdist"]) as archive:
            top = f"fairlock-{fairlock.__version__}/"
            names = {name.removeprefix(top) for name in archive.getnames()}
        self.assertLessEqual({"LICENSE", "README.md", "pyproject.toml",
                              *(f"src/{name}" for name in sources)}, names)
        self.assertEqual((ROOT / "LICENSE").read_text(), (ROOT.parents[1] / "LICENSE").read_text())
        self.run_program("-m", "twine", "check", "--strict", made["wheel"], made["sdist"])

    def test_what_was_built_is_installed_and_used(self):
        """In an empty environment, which has only Debian's redis-py besides."""
        server = self.enterContext(own_server.Server())
        for kind, package in self.build().items():
            with self.subTest(kind):
                place = self.folder / kind
                self.run_program("-m", "venv", "--system-site-packages", place)
                python = place / "bin/python"
                subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index",
                                "--no-deps", "--no-build-isolation",
                                "--disable-pip-version-check", package],
                               check=True, timeout=100, cwd=self.folder, capture_output=True)
                done = subprocess.run([python, "-B", "-c", PROGRAM, str(server.port)], text=True,
                                      capture_output=True, timeout=100, cwd=self.folder)
                self.assertEqual(done.stdout, f"{place}\nTrue 0\nTrue\n", done.stderr)

    def test_types(self):
        """The types of the package are complete, and a program that uses it is checked."""
        program = self.folder / "program.py"
        program.write_text(textwrap.dedent("""
            import redis
            import fairlock
            r = redis.Redis()
            with fairlock.lock(r, "k", wait=None) as hold:
                reveal_type(hold.token)
            reveal_type(fairlock.lock(r, "k").try_acquire())
            fairlock.lock(r, 42)
            """))
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"),
             "--cache-dir", os.devnull, "src", str(program)], text=True,
            capture_output=True, timeout=100, cwd=ROOT)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4, done.stdout + done.stderr)
        self.assertIn('Revealed type is "builtins.int"', lines[0])
        self.assertIn('Revealed type is "Union[fairlock._lock.Hold, None]"', lines[1])
        self.assertIn('incompatible type "int"; expected "Union[str, bytes]"', lines[2])
        self.assertRegex(lines[3], "^Found 1 error in 1 file .checked 32 source files.")

    def test_every_public_name_is_documented(self):
        missing = []
        for module in (fairlock, fairlock.aio):
            for name in module.__all__:
                thing = getattr(module, name)
                members = vars(thing) if inspect.isclass(thing) else {}
                public = {f"{name}.{member}": value for member, value in members.items()
                          if not member.startswith("_")
                          and (callable(value) or isinstance(value, (property, staticmethod)))}
                missing += [what for what, value in {name: thing, **public}.items()
                            if not inspect.getdoc(value)]
        self.assertEqual(missing, [])

    def test_files_are_short(self):
        lengths = {path.name: len(path.read_text().splitlines())
                   for path in ROOT.rglob("*.py")}
        self.assertGreater(len(lengths), 10)
        self.assertEqual({name for name, length in lengths.items() if length > LINES_MAX}, set())


if __name__ == "__main__":
    unittest.main()
