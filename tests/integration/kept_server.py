"""A fairlockd with persistence in a temporary folder, which can be killed and restarted."""

import os
import subprocess
import time

import own_server
import resp


class KeptServer(own_server.Server):
    """Used in a with statement. The server need not end by a clean stop."""

    def __init__(self, *options, wrapper=(), environment=None):
        super().__init__(*options)
        self.data = self.directory / "data"
        self.wrapper = list(wrapper)
        self.environment = environment

    def __exit__(self, *failure):
        self._clean_up()

    def command_line(self, *more):
        return [own_server.PROGRAM, "--bind", "127.0.0.1", "--port", str(self.port),
                "--unix-socket", str(self.unix_socket), "--data-dir", str(self.data),
                "--min-free-disk", "0", "--http-port", "0", *self.options, *more]

    def _start(self):
        self.port = self.port or own_server.free_port()
        self.start_process()
        try:
            self.await_ready()
        except AssertionError:
            self.port = 0
            return False
        return True

    def start_process(self, *more):
        with open(self.directory / "output", "ab") as output:
            self.process = subprocess.Popen(
                self.wrapper + self.command_line(*more), cwd=self.directory,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, **(self.environment or {})})

    def await_ready(self):
        """Waits until it answers PING with PONG; until then, it answers -LOADING."""
        give_up = time.monotonic() + own_server.START_SECONDS_MAX
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                with self.connect_unix() as client:
                    if client.ask("PING") == "PONG":
                        return
            except (OSError, resp.Ended):
                pass
            time.sleep(0.002)
        raise AssertionError(f"not ready: {self.output()}")

    def kill(self):
        """Kills the process, without notice."""
        self.process.kill()
        self.process.wait()

    def start_again(self, *more):
        self.start_process(*more)
        self.await_ready()

    def kill_and_start_again(self):
        self.kill()
        self.start_again()

    def stop_and_start_again(self):
        code = self.stop()
        if code != 0:
            raise AssertionError(f"ended with {code}: {self.output()}")
        self.start_again()

    def run(self, *arguments):
        """Runs the program with other arguments until it ends."""
        return subprocess.run([own_server.PROGRAM, "--data-dir", str(self.data), "--http-port", "0",
                               *arguments],
                              cwd=self.directory, capture_output=True, text=True, timeout=60,
                              check=False)

    def end_code(self, seconds=own_server.STOP_SECONDS_MAX):
        return self.process.wait(seconds)
