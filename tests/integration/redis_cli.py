"""Runs redis-cli as its users do."""

import subprocess


class RedisCli:
    """redis-cli on one server."""

    def __init__(self, server):
        self.words = ["redis-cli", "-h", "127.0.0.1", "-p", str(server.port)]

    def run(self, *words, typed=None):
        """Returns its output, without the line end."""
        done = subprocess.run([*self.words, *words], input=typed, capture_output=True, text=True,
                              timeout=20, check=False)
        return done.stdout.rstrip("\n")

    def start(self, *words, typed=None):
        """Starts it with `typed` as its whole input, and returns the running process."""
        process = subprocess.Popen([*self.words, *words], text=True, stdout=subprocess.PIPE,
                                   stdin=subprocess.PIPE if typed else subprocess.DEVNULL)
        if typed:
            process.stdin.write(typed)
            process.stdin.close()
            process.stdin = None
        return process
