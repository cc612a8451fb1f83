"""The scripts in deploy/ say what they do, and refuse what would go wrong."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


class Scripts(unittest.TestCase):

    def test_help_of_run_cluster(self):
        for word in ("--help", "-h"):
            done = run(DEPLOY / "run-cluster.sh", word)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("deploy/run-cluster.sh [--partitions P] [BUILD_DIR]", done.stdout)
            self.assertNotIn("#", done.stdout)

    def test_a_linked_node_modules_is_neither_used_nor_emptied(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "deploy").mkdir()
        shutil.copy(DEPLOY / "install-node-modules.sh", folder / "deploy")
        (folder / "app").mkdir()
        (folder / "app/package-lock.json").write_text("{}")
        (folder / "elsewhere").mkdir()
        (folder / "elsewhere/.package-lock.json").write_text("{}")
        (folder / "app/node_modules").symlink_to(folder / "elsewhere")
        done = run(folder / "deploy/install-node-modules.sh", "app")
        self.assertEqual(done.returncode, 1)
        self.assertIn("app/node_modules is a symbolic link", done.stderr)
        self.assertTrue((folder / "elsewhere/.package-lock.json").exists())

    def test_a_go_is_found_if_it_is_new_enough(self):
        module = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "go.mod"
        module.write_text("module m\n\ngo 1.18\n")
        done = run(DEPLOY / "find_go.sh", module)
        self.assertEqual(done.returncode, 0)
        self.assertIn("go version go1.", run(done.stdout.strip(), "version").stdout)
        module.write_text("module m\n\ngo 9.1.0\n")
        done = run(DEPLOY / "find_go.sh", module)
        self.assertEqual((done.returncode, done.stdout), (1, "9.1.0\n"))


if __name__ == "__main__":
    unittest.main()
