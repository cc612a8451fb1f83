"""A process that carries the TCP connections of a fleet, and cuts or delays them in one direction.

It reads one JSON object per line from its standard input, and answers each with a line. The first
line lists the listeners: {"port", "target", "from", "to"}, where "from" and "to" are names of
processes. "from" may be null: the process is then found by its id, among {"pids": {name: id}} of a
later line, because all members of etcd use the same address of a member. {"rules": [...]} replaces
all rules: {"from", "to", "cut", "delay_s"} applies to the bytes in that direction, and {"from",
"to", "closed"} to the connections.

A cut holds the bytes back, like a network whose packets are lost and sent again: when the cut ends,
they arrive in order, even if the sender has closed its connection meanwhile. A closed link resets
its connections, and each new one, like a process that has ended.
"""

import asyncio
import json
import os
import socket
import struct
import sys

CHUNK = 65_536
CHUNKS_MAX = 64
CONNECT_SECONDS_MAX = 2
# linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1
HEADER_BYTES = 16
INODE_OFFSET = 68  # the offset in struct inet_diag_msg
ANY = 0xFFFFFFFF


def socket_of(port, own_port):
    """Returns the inode of the socket that is bound to `port` and connected to `own_port`, or
    None. Asks the kernel for this socket alone: reading /proc/net/tcp takes seconds when other
    programs have left tens of thousands of connections, and meanwhile no link carries anything."""
    address = socket.inet_aton("127.0.0.1") + bytes(12)
    # struct inet_diag_req_v2 of linux/inet_diag.h
    request = (struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, ANY)
               + struct.pack(">HH", port, own_port) + address + address
               + struct.pack("=III", 0, ANY, ANY))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as diag:
        header = struct.pack("=IHHII", HEADER_BYTES + len(request), SOCK_DIAG_BY_FAMILY,
                             NLM_F_REQUEST, 0, 0)
        diag.send(header + request)
        answer = diag.recv(CHUNK)
    if struct.unpack_from("=H", answer, 4)[0] != SOCK_DIAG_BY_FAMILY:
        return None  # there is no such socket any more
    return str(struct.unpack_from("=I", answer, HEADER_BYTES + INODE_OFFSET)[0])


def has_socket(process, inode):
    try:
        with os.scandir(f"/proc/{process}/fd") as entries:
            return any(os.readlink(entry.path) == f"socket:[{inode}]" for entry in entries)
    except OSError:
        return False


class Network:
    """The rules in force, and the ids of the processes that are found by them."""

    def __init__(self):
        self.rules = {}
        self.pids = {}
        self.changed = asyncio.Event()
        self.tasks = set()  # the loop itself keeps no task alive
        self.open_ones = set()  # (direction, writer) of each connection's ends

    def apply(self, message):
        self.pids = message.get("pids", self.pids)
        if "rules" in message:
            self.rules = {(rule["from"], rule["to"]): rule for rule in message["rules"]}
            self.changed.set()
            self.changed = asyncio.Event()
            for direction, writer in self.open_ones:
                if self.is_closed(direction):
                    reset(writer)

    def is_closed(self, direction):
        return self.rules.get(direction, {}).get("closed", False)

    def is_cut(self, direction):
        return self.rules.get(direction, {}).get("cut", False)

    def delay_s(self, direction):
        return self.rules.get(direction, {}).get("delay_s", 0)

    async def open(self, direction):
        """Returns when the direction is not cut."""
        while self.is_cut(direction):
            await self.changed.wait()

    def name_of(self, port, own_port):
        inode = socket_of(port, own_port)
        return next((name for name, process in self.pids.items() if has_socket(process, inode)),
                    "unknown")


def reset(writer):
    """Closes a connection so that the other side sees a failure, and loses what is on the way."""
    end = writer.get_extra_info("socket")
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def receive(reader, chunks):
    """Reads until the end or a failure; the last item is b"" or None."""
    clock = asyncio.get_running_loop().time
    data = None
    while data != b"":
        try:
            data = await reader.read(CHUNK)
        except OSError:
            await chunks.put((clock(), None))
            return
        await chunks.put((clock(), data))


async def deliver(network, direction, chunks, writer):
    """Writes what was read, when the rules allow it; raises OSError if a side has failed."""
    clock = asyncio.get_running_loop().time
    while True:
        at, data = await chunks.get()
        await network.open(direction)
        # Even a wait of 0 s would take a turn of the loop for each chunk.
        while (left := at + network.delay_s(direction) - clock()) > 0:
            await asyncio.sleep(left)
        if data is None:
            raise OSError("the sender failed")
        if data == b"":
            if writer.can_write_eof():
                writer.write_eof()
            return
        writer.write(data)
        await writer.drain()


async def carry(network, direction, reader, writer):
    chunks = asyncio.Queue(CHUNKS_MAX)
    receiver = asyncio.ensure_future(receive(reader, chunks))
    try:
        await deliver(network, direction, chunks, writer)
    finally:
        receiver.cancel()


class Listener:
    """Accepts connections for one target."""

    def __init__(self, network, link):
        self.network = network
        self.link = link

    async def accept(self, reader, writer):
        ends = {(None, writer)}
        self.network.tasks.add(asyncio.current_task())
        try:
            source = self.link["from"] or self.network.name_of(
                writer.get_extra_info("peername")[1], self.link["port"])
            there, back = (source, self.link["to"]), (self.link["to"], source)
            if self.network.is_closed(there):
                reset(writer)
                return
            await self.network.open(there)
            await self.network.open(back)
            far_reader, far_writer = await asyncio.wait_for(
                asyncio.open_connection("127.0.0.1", self.link["target"]), CONNECT_SECONDS_MAX)
            ends = {(there, writer), (there, far_writer)}
            self.network.open_ones |= ends
            ways = [asyncio.ensure_future(carry(self.network, there, reader, far_writer)),
                    asyncio.ensure_future(carry(self.network, back, far_reader, writer))]
            try:
                await asyncio.gather(*ways)
            finally:
                for way in ways:
                    way.cancel()
        except (OSError, asyncio.TimeoutError):
            pass
        finally:
            self.network.open_ones -= ends
            for _, one in ends:
                one.close()
            self.network.tasks.discard(asyncio.current_task())


async def main():
    network = Network()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    servers = []
    while line := await reader.readline():
        message = json.loads(line)
        for link in message.get("links", ()):
            servers.append(await asyncio.start_server(
                Listener(network, link).accept, "127.0.0.1", link["port"]))
        network.apply(message)
        print("done", flush=True)
    os._exit(0)  # connections that are held would keep the loop running


if __name__ == "__main__":
    asyncio.run(main())
