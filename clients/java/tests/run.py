"""Runs the tests of a module of clients/java against a server of their own.

    run.py MODULE [jedis]    fairlock, or fairlock-spring-boot-starter

With the word jedis, Lettuce and what it needs is not on the class path.

Exits with 77 if deploy/build-java-client.sh has not built it. FAIRLOCKD is the server.
"""

import os
import pathlib
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER.parents[1] / "tests/integration"))
from own_server import Server  # noqa: E402

SECONDS_MAX = 600
LETTUCE = ("lettuce-", "netty-", "reactor-")


def class_path(target, transport):
    jars = sorted(jar for jar in (target / "jars").glob("*.jar")
                  if transport != "jedis" or not jar.name.startswith(LETTUCE))
    return ":".join(map(str, [target / "classes", target / "test-classes", *jars]))


def main(module, transport=None):
    target = FOLDER / module / "target"
    if shutil.which("java") is None or not (FOLDER / "target/complete").exists():
        print("skipped: deploy/build-java-client.sh has not built clients/java")
        return 77
    tests = target / "test-classes"
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
               "-cp", class_path(target, transport),
               "org.junit.platform.console.ConsoleLauncher", "execute",
               f"--scan-classpath={tests}", "--disable-banner", "--details=tree",
               "--disable-ansi-colors"]
    with Server() as server:
        return subprocess.run(command, timeout=SECONDS_MAX, check=False, cwd=FOLDER,
                              env={**os.environ, "FAIRLOCK_PORT": str(server.port)}).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
