"""A fairlockd whose system calls strace delays or makes fail."""

import os
import shutil

import own_server
from kept_server import KeptServer


def can_trace():
    return shutil.which("strace") is not None and own_server.IS_MEASURED


def injected(what):
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={what.split(':')[0]}",
            "-e", f"inject={what}"]


class Traced(KeptServer):
    """The server is a child of strace, which exits with the server's exit code."""

    def kill(self):
        os.kill(int((self.data / "fairlock.lock").read_text()), 9)
        self.process.wait()

    def _clean_up(self):
        # If strace ended first, the server would continue without it.
        if self.process is not None and self.process.poll() is None:
            self.kill()
        super()._clean_up()
