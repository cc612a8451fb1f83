"""Tests unmodified third-party lock clients, those in the folder `shared/compat` beside the
project, against fairlockd. Skipped if the folder does not exist.

    compat_test.py DURABILITY FOLDER    keeps a copy with its JavaScript packages in FOLDER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77  # the exit code that CTest treats as skipped
PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = PROJECT.parent / "shared" / "compat"

if not SOURCE.is_dir():
    print(f"skipped: {SOURCE} is not there")
    sys.exit(SKIPPED)

sys.path.append(str(PROJECT / "tests" / "integration"))
from own_server import Server  # noqa: E402


def copy_with_packages(folder):
    """Copies the clients and fetches the packages that they need, once."""
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    js = folder / "js"
    if not (js / "node_modules").is_dir():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=js,
                       check=True)


def wait_until_loaded(server):
    with server.connect() as connection:
        while str(connection.ask("EXISTS", "key")).startswith("LOADING"):
            time.sleep(0.01)


def main(durability, folder):
    copy_with_packages(folder)
    options = ["--durability", durability]
    if durability != "none":
        options += ["--data-dir", "data"]
    with Server(*options) as server:
        wait_until_loaded(server)
        environment = {**os.environ, "PORT": str(server.port)}
        ran = subprocess.run(["bash", "./run-all.sh"], cwd=folder, env=environment,
                             stdout=subprocess.PIPE, text=True)
    print(ran.stdout)
    summary = re.fullmatch(r"(\d+) passed, 0 failed, 0 skipped", ran.stdout.split("\n")[-2])
    return 0 if ran.returncode == 0 and summary and int(summary[1]) > 400 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
