#!/usr/bin/python3
"""Installs and uses each client library as a new user does, in a root folder with only Debian 12.

    tests/clients/clean_root.py [LANGUAGE...]

The session is the console block in the README of the library: its commands run as they stand, and
their output must be the same, except for numbers, and for lines that the README replaces with
"...". The tree is in ~/fairlock, and a server listens on port 3247, as in the README.

Needs root, debootstrap, overlayfs, and a network that reaches the packages of Debian and npm.
FAIRLOCKD is the server: by default, that of the release build.
"""

import argparse
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = ("python", "node", "ruby", "go", "cpp", "php")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVER = os.environ.get("FAIRLOCKD", str(ROOT / "build/release/bin/fairlockd"))
PORT = 3247
START_SECONDS_MAX = 20
SESSION_SECONDS_MAX = 900
MARK = "\x01"  # between the outputs of two commands
HOME = "root"  # in a new root
ENVIRONMENT = {"HOME": f"/{HOME}", "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "LANG": "C.UTF-8", "TERM": "dumb", "DEBIAN_FRONTEND": "noninteractive"}


def session_of(language):
    """Returns [(command, expected output)] of the README."""
    text = (ROOT / "clients" / language / "README.md").read_text()
    steps = []
    for line in BLOCK.search(text)[1].splitlines():
        if line.startswith("$ "):
            steps.append(([line[2:]], []))
        elif line == ">" or line.startswith("> "):
            steps[-1][0].append(line[2:])
        else:
            steps[-1][1].append(line)
    return [("\n".join(command), expected) for command, expected in steps]


def is_expected(lines, expected):
    def pattern_of(line):
        return r"(?s:.*)" if line == "..." else re.sub(r"\d+", r"\\d+", re.escape(line)) + r"\n"

    pattern = "".join(map(pattern_of, expected))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def make_base(folder):
    """Makes a root with Debian's essential packages and the lists of what can be installed."""
    mirror = "http://deb.debian.org/debian"
    with open(folder.parent / "debootstrap.log", "w", encoding="utf-8") as log:
        run("debootstrap", "--variant=minbase", "bookworm", folder, mirror, stdout=log, stderr=log)
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    (folder / "etc/hosts").write_text("127.0.0.1 localhost\n")


def make_root(base, folder):
    """Lays a new folder over the base, and puts the libraries into it."""
    for name in ("upper", "work", "root"):
        (folder / name).mkdir(parents=True)
    root = folder / "root"
    run("mount", "-t", "overlay", "overlay", "-o",
        f"lowerdir={base},upperdir={folder / 'upper'},workdir={folder / 'work'}", root)
    run("mount", "-t", "proc", "proc", root / "proc")
    tree = root / HOME / "fairlock"
    tree.mkdir()
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "clients",
                cwd=ROOT, capture_output=True).stdout
    packed = run("tar", "--create", "--null", "--files-from=-", cwd=ROOT, input=names,
                 capture_output=True).stdout
    run("tar", "--extract", "--no-same-owner", cwd=tree, input=packed)
    return root


def environment_in(root):
    """In a network with an authority of its own, Node.js must know it, as outside."""
    authority = os.environ.get("NODE_EXTRA_CA_CERTS")
    if not authority:
        return ENVIRONMENT
    shutil.copy(authority, root / HOME / "authority.pem")
    return {**ENVIRONMENT, "NODE_EXTRA_CA_CERTS": f"/{HOME}/authority.pem"}


def play(root, steps):
    """Runs the commands in one shell; yields (command, output, expected)."""
    script = "".join(f"printf '{MARK}'\n{command}\n" for command, _ in steps)
    done = subprocess.run(["chroot", root, "bash", "-ec", f"exec 2>&1\ncd\n{script}"], text=True,
                          env=environment_in(root), stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, timeout=SESSION_SECONDS_MAX)
    for (command, expected), output in zip(steps, done.stdout.split(MARK)[1:]):
        yield command, output.splitlines(), expected
    if done.returncode != 0:
        raise AssertionError(f"the last command ended with {done.returncode}")


def is_passed(language, base, folder):
    began = time.monotonic()
    passed = True
    try:
        for command, output, expected in play(make_root(base, folder), session_of(language)):
            if not is_expected(output, expected):
                passed = False
                print(f"{language}: $ {command}", *output[-30:], sep="\n", flush=True)
    except AssertionError as failure:
        print(f"{language}: {failure}")
        passed = False
    finally:
        run("umount", "--recursive", folder / "root")
    print(f"{language}: {'as in the README' if passed else 'NOT as in the README'}, "
          f"{time.monotonic() - began:.0f} s", flush=True)
    return passed


def await_server():
    end = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            return socket.create_connection(("127.0.0.1", PORT), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE",
                        help="of " + ", ".join(LANGUAGES) + "; by default, all")
    arguments = parser.parse_args(words)
    if os.environ.get("FAIRLOCK_OWN_MOUNTS") is None:
        # The mounts end with the process.
        os.environ["FAIRLOCK_OWN_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, "-B", __file__, *words])
    failed = []
    with tempfile.TemporaryDirectory(prefix="fairlock-root-") as made:
        folder = pathlib.Path(made)
        make_base(folder / "base")
        with subprocess.Popen([SERVER, "--durability", "none", "--http-port", "0"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                await_server()
                failed = [language for language in arguments.languages or LANGUAGES
                          if not is_passed(language, folder / "base", folder / language)]
            finally:
                server.terminate()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
