"""Runs a program, with a fairlockd of its own at FAIRLOCK_PORT.

with_own_server.py PROGRAM [ARGUMENT...]
"""

import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))
from own_server import Server  # noqa: E402

with Server() as server:
    environment = {**os.environ, "FAIRLOCK_PORT": str(server.port)}
    sys.exit(subprocess.run(sys.argv[1:], env=environment).returncode)
