"""The package as it is shipped: the wheel, its types and its documentation."""

import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import fairlock  # noqa: E402
import fairlock.aio  # noqa: E402

LINES_MAX = 300


class Package(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_program(self, *words, **options):
        done = subprocess.run([sys.executable, *map(str, words)], cwd=self.folder, text=True,
                              capture_output=True, timeout=100, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_wheel_contains_the_package_and_its_types(self):
        # A build writes beside the sources, so it gets a copy of them.
        copy = self.folder / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
        self.run_program("-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps",
                         "--no-index", "--disable-pip-version-check", "--wheel-dir", self.folder,
                         copy)
        (wheel,) = self.folder.glob("fairlock-*.whl")
        self.assertEqual(wheel.name, f"fairlock-{fairlock.__version__}-py3-none-any.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            archive.extractall(self.folder / "installed")
        sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*")
                   if path.suffix in (".py", ".typed")}
        self.assertEqual({name for name in names if ".dist-info" not in name}, sources)
        path = {"PYTHONPATH": str(self.folder / "installed")}
        where = self.run_program("-B", "-c", "import fairlock.aio; print(fairlock.__file__)",
                                 env=path)
        self.assertIn("installed", where)

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
