"""Runs harmful clients of one kind until standard input ends. Prints `ready` when they have
started.

    attackers.py KIND ADDRESS COUNT [idle]

ADDRESS is HOST:PORT. They run at a low priority, or only when the processor is idle, because in
production they would have machines of their own.
"""

import os
import pathlib
import select
import socket
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

from resp import request  # noqa: E402

CHUNK = 1 << 18
KIND_OF = {}


def kind(function):
    KIND_OF[function.__name__] = function
    return function


def pairs(number):
    """Returns requests for one connection to repeat: locks that are taken and released."""
    one = b"".join(request("LOCK", f"flood:{number}:{i}", f"owner-{number}", "PX", 60000) +
                   request("UNLOCK", f"flood:{number}:{i}", f"owner-{number}") for i in range(16))
    return one * (CHUNK // len(one))


def connect(address, receives=None):
    stream = socket.socket(socket.AF_INET)
    if receives is not None:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    stream.connect(address)
    stream.setblocking(False)
    return stream


def has_ended():
    return bool(select.select([sys.stdin], [], [], 0)[0])


class Sender:
    """A connection that sends the same bytes repeatedly, as fast as it can."""

    def __init__(self, address, data, receives=None):
        self.address = address
        self.data = memoryview(data)
        self.receives = receives
        self.at = 0
        self.stream = connect(address, receives)

    def fileno(self):
        return self.stream.fileno()

    def send(self, size=CHUNK):
        """Returns False if the server has closed the connection."""
        try:
            sent = self.stream.send(self.data[self.at:self.at + size])
            self.at = (self.at + sent) % len(self.data)
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def receive(self, size=CHUNK):
        try:
            return self.stream.recv(size) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def connect_again(self):
        self.stream.close()
        self.at = 0
        self.stream = connect(self.address, self.receives)


def keep_sending(senders, after_send):
    """Runs until standard input ends; after_send(sender) returns False if that connection is
    closed."""
    waits = select.epoll()
    by_descriptor = {}

    def enter(sender, flags):
        waits.register(sender, flags)
        by_descriptor[sender.fileno()] = sender

    flags = select.EPOLLIN | select.EPOLLOUT
    for sender in senders:
        enter(sender, flags)
    print("ready", flush=True)
    while not has_ended():
        for descriptor, _ in waits.poll(0.1):
            sender = by_descriptor[descriptor]
            if sender.send() and after_send(sender):
                continue
            waits.unregister(descriptor)
            del by_descriptor[descriptor]
            sender.connect_again()
            enter(sender, flags)


@kind
def flood(address, count):
    """Sends endless pipelines, and reads all replies."""
    keep_sending([Sender(address, pairs(number)) for number in range(count)], Sender.receive)


@kind
def never_read(address, count):
    """Sends requests for as long as the sockets accept them; never reads a reply."""
    senders = [Sender(address, pairs(number)[:32 * 1024], receives=4096) for number in range(count)]
    print("ready", flush=True)
    while not has_ended():
        # Sends on a timer, without waiting for readiness: that would not reveal a closed connection
        # to a client that does not read.
        for sender in senders:
            if not sender.send():
                sender.connect_again()
        time.sleep(0.05)


@kind
def slow_read(address, count):
    """Requests long replies, and reads one byte per second."""
    asks = request("LOCKS", 0, "COUNT", 1000) * 20
    senders = [Sender(address, asks, receives=4096) for _ in range(count)]
    print("ready", flush=True)
    while not has_ended():
        for sender in senders:
            if not (sender.send() and sender.receive(1)):
                sender.connect_again()
        time.sleep(1)


@kind
def slowloris(address, count):
    """Sends, byte by byte, requests that never end."""
    data = request("LOCK", "slow" * 1000, "owner", "PX", 1000)
    senders = [Sender(address, data) for _ in range(count)]
    print("ready", flush=True)
    while not has_ended():
        for sender in senders:
            if not (sender.send(1) and sender.receive()):
                sender.connect_again()
        time.sleep(0.2)


@kind
def storm(address, count):
    """Opens `count` connections per second and closes each at once, some after half a request."""
    print("ready", flush=True)
    next_s = time.monotonic()
    number = 0
    while not has_ended():
        stream = socket.create_connection(address)
        if number % 3 == 1:
            stream.send(request("PING"))
        elif number % 3 == 2:
            stream.send(b"*2\r\n$4\r\nECH")
        stream.close()
        number += 1
        next_s += 1 / count
        time.sleep(max(0, next_s - time.monotonic()))


@kind
def crowd(address, count):
    """Opens more connections than the server allows, again and again."""
    streams = []
    print("ready", flush=True)
    while not has_ended():
        while len(streams) < count:
            streams.append(connect(address))
        still = []
        for stream in streams:
            try:
                is_open = stream.recv(1000) != b""
            except BlockingIOError:
                is_open = True
            except OSError:
                is_open = False
            if is_open:
                still.append(stream)
            else:
                stream.close()
        streams = still
        time.sleep(0.05)


def main():
    host, _, port = sys.argv[2].rpartition(":")
    if sys.argv[4:] == ["idle"]:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(10)
    KIND_OF[sys.argv[1]]((host, int(port)), int(sys.argv[3]))


if __name__ == "__main__":
    main()
