"""Clients whose machine vanishes silently: they are in a network namespace whose link goes down."""

import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

import measured
from resp import request
from socket_server import SocketServer, wait_until

# The clients in the namespace: one holds a lock with SESSION, one waits in a queue, the rest are
# idle.
CLIENTS = """
import sys
sys.path.append(sys.argv[1])
from resp import Connection, request
address = (sys.argv[2], int(sys.argv[3]))
idle = [Connection.to(address) for _ in range(50)]
session = Connection.to(address)
assert session.ask("LOCK", "bound", "gone", "SESSION") > 0
waiter = Connection.to(address)
waiter.send(request("LOCK", "line", "gone", "PX", 60000, "WAIT", "FOREVER"))
print("ready", flush=True)
sys.stdin.read()
"""


def run(*words):
    subprocess.run(words, check=True, capture_output=True)


class Network:
    """A network namespace, joined to this machine by one link."""

    def __init__(self):
        number = random.randrange(1 << 16)
        self.name = f"fl{number:x}"
        self.net = f"10.{200 + number % 50}.{number >> 8}"
        self.address = f"{self.net}.1"

    def __enter__(self):
        run("ip", "netns", "add", self.name)
        try:
            link = f"{self.name}a"
            run("ip", "link", "add", link, "type", "veth", "peer", "name", f"{self.name}b",
                "netns", self.name)
            run("ip", "addr", "add", f"{self.address}/24", "dev", link)
            run("ip", "link", "set", link, "up")
            run("ip", "-n", self.name, "addr", "add", f"{self.net}.2/24", "dev", f"{self.name}b")
            run("ip", "-n", self.name, "link", "set", f"{self.name}b", "up")
        except subprocess.CalledProcessError:
            run("ip", "netns", "del", self.name)
            raise
        return self

    def __exit__(self, *failure):
        run("ip", "netns", "del", self.name)

    def cut(self):
        run("ip", "-n", self.name, "link", "set", f"{self.name}b", "down")


def why_not():
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "it needs root and ip(8)"
    try:
        with Network():
            return ""
    except subprocess.CalledProcessError:
        return "no network namespace can be made here"


class NetworkServer(SocketServer):
    """A server that also listens in the network of the namespace."""

    def __init__(self, *options):
        self.network = Network()
        super().__init__(*options, "--bind", self.network.address,
                         "--allow-open-bind", "yes")

    def __enter__(self):
        self.network.__enter__()
        try:
            return super().__enter__()
        except BaseException:
            self.network.__exit__()
            raise

    def __exit__(self, *failure):
        super().__exit__(*failure)
        self.network.__exit__()


class HalfOpen(measured.Fault):
    name = "50 peers whose link went down"
    options = ("--tcp-keepalive", "1s", "--tcp-user-timeout", "2s", "--reconnect-grace", "0")

    def why_not(self):
        return why_not()

    def server(self):
        return NetworkServer(*self.options)

    @contextlib.contextmanager
    def beside(self, server):
        folder = pathlib.Path(measured.FOLDER.parent / "integration")
        process = subprocess.Popen(
            ["ip", "netns", "exec", server.network.name, sys.executable, "-B", "-c", CLIENTS,
             folder, server.network.address, str(server.port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            with server.connect() as holder, server.connect() as waiter:
                holder.ask("LOCK", "line", "holder", "PX", 60_000)
                assert process.stdout.readline() == "ready\n"
                wait_until(lambda: server.info("waiters") == 1, "it waits")
                waiter.send(request("LOCK", "line", "behind", "PX", 60_000, "WAIT", "FOREVER"))
                server.network.cut()
                yield
                self.await_end(server)
                holder.ask("UNLOCK", "line", "holder")
                # The lock is not granted to the vanished client.
                assert isinstance(waiter.reply(), int)
                assert holder.ask("LOCKED", "bound") == 0, "its session outlived the connection"
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

    @staticmethod
    def await_end(server):
        wait_until(lambda: server.info("waiters") == 1, "the dead one has left the line")
        wait_until(lambda: server.info("connected_clients") < measured.CONNECTIONS + 10,
                   "all the dead ones are closed")


FAULT = HalfOpen()


class HalfOpenTest(measured.ShortForm, unittest.TestCase):
    fault = FAULT


if __name__ == "__main__":
    unittest.main()
