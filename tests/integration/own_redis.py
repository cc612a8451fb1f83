"""A redis-server for comparison."""

import pathlib
import shutil
import subprocess
import tempfile
import time

from own_server import free_port
import resp

REDIS = shutil.which("redis-server")
REDIS_STARTS_MAX = 5


class Redis:
    """Persists nothing. Used in a with statement."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="redis-"))
        self.process = None
        self.port = 0

    def __enter__(self):
        for _ in range(REDIS_STARTS_MAX):
            if self._start():
                return self
        raise AssertionError("redis-server did not start")

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self):
        self.port = free_port()
        self.process = subprocess.Popen(
            [REDIS, "--bind", "127.0.0.1", "--port", str(self.port), "--save", ""],
            cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        give_up = time.monotonic() + 20
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                self.connect().close()
                return True
            except ConnectionRefusedError:
                time.sleep(0.01)
        return False

    def connect(self):
        return resp.Connection.to(("127.0.0.1", self.port))
