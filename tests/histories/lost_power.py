"""The content of a disk after a power failure, computed from the record of traced_disk.c.

A disk keeps what was synced. Of the rest it may keep any part: whole pages of later writes, sizes,
and names up to some point. A new name is durable once its folder has been synced.
"""

import dataclasses
import os
import pathlib
import struct

HEADING = struct.Struct("<ccHiQQQ")
PAGE = 4096


@dataclasses.dataclass
class File:
    durable: bytearray = dataclasses.field(default_factory=bytearray)
    pending: list = dataclasses.field(default_factory=list)  # (at, data), or (size, None)
    synced: int = 0  # how many of the pending writes are durable


def tracing(folder, record):
    """Returns the environment for a process whose writes below `folder` are to be recorded."""
    return {"LD_PRELOAD": os.environ["TRACED_DISK_LIBRARY"], "TRACED_FOLDER": str(folder),
            "TRACED_DISK": str(record)}


def traced(server, is_torn=True):
    """Makes the Disk of a KeptServer that has not been started yet."""
    record = server.directory / "disk"
    server.environment = tracing(server.data, record)
    return Disk(server.data, record, is_torn)


def write_to(content, at, data):
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
        return
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at:at + len(data)] = data


def pages_of(at, data):
    """Splits a write into the pages that may each reach the disk or not."""
    while data:
        size = PAGE - at % PAGE
        yield at, data[:size]
        at, data = at + size, data[size:]


class Disk:
    """Persists from one run of the server to the next. `root` is the traced folder, as a prefix of
    paths."""

    def __init__(self, root, record, is_torn=True):
        self.is_torn = is_torn  # if false, writes reach the disk in order
        self.root = str(root)
        self.record = pathlib.Path(record)
        self.names = {}  # path -> File, or None for a folder
        self.durable_names = {}
        self.pending_names = []  # (number, kind, path, other, file)
        self.changes = 0

    def lose_power(self, chance):
        """Gives the real folder the content of the simulated disk, after the server has been
        killed."""
        self._read()
        kept = 0 if chance.random() < 0.4 else chance.randint(0, len(self.pending_names))
        for change in self.pending_names[:kept]:
            self._rename(self.durable_names, *change[1:])
        is_nothing_kept = chance.random() < 0.4
        for file in {id(file): file for file in self.durable_names.values()
                     if file is not None}.values():
            self._lose(file, chance, is_nothing_kept)
        self.pending_names = []
        self._write_out()
        self.names = dict(self.durable_names)
        self.record.unlink()

    def _lose(self, file, chance, is_nothing_kept):
        pending, file.pending = file.pending, []
        file.synced += len(pending)
        if is_nothing_kept:
            return
        if not self.is_torn:
            for one in pending[:chance.randint(0, len(pending))]:
                write_to(file.durable, *one)
            return
        share = chance.choice((0.1, 0.5, 0.9, 1))
        for at, data in pending:
            if data is None:
                if chance.random() < share:
                    write_to(file.durable, at, None)
                continue
            for page in pages_of(at, data):
                if chance.random() < share:
                    write_to(file.durable, *page)

    def _write_out(self):
        for path in sorted(self.names.keys() | self._real(), reverse=True):
            if path not in self.durable_names and os.path.isfile(path):
                os.unlink(path)
        for path in sorted(self.durable_names):
            file = self.durable_names[path]
            if file is None:
                os.makedirs(path, exist_ok=True)
            elif not os.path.exists(path) or pathlib.Path(path).read_bytes() != file.durable:
                # Written in place, because the server's record of its folder includes a file's
                # inode.
                mode = "r+b" if os.path.exists(path) else "wb"
                with open(path, mode) as real:
                    real.truncate(0)
                    real.write(file.durable)

    def _real(self):
        """Returns the files that really exist; some, such as RocksDB's log, were not recorded."""
        parent = pathlib.Path(self.root).parent
        return {str(path) for path in parent.rglob("*") if str(path).startswith(self.root)
                and path.is_file()}

    def _read(self):
        content = memoryview(self.record.read_bytes())
        at, open_files, begun = 0, {}, {}
        while at + HEADING.size <= len(content):
            kind, flag, _, number, offset, sync, size = HEADING.unpack_from(content, at)
            at += HEADING.size
            data = bytes(content[at:at + size])
            if len(data) < size:
                break
            at += size
            if kind in b"rlum":
                self._name(kind, *data.decode().split("\n"))
            elif kind == b"o":
                open_files[number] = self._open(data.decode(), flag)
            elif kind == b"x":
                open_files.pop(number, None)
            elif number in open_files:
                self._change(kind, open_files[number], offset, sync, data, begun)

    def _open(self, path, flag):
        if os.path.isdir(path):
            self.names.setdefault(path, None)
            return path
        if flag == b"c" or self.names.get(path) is None:
            self.names[path] = File()
            self._add(b"c", path, "", self.names[path])
        elif flag == b"t":
            self.names[path].pending.append((0, None))
        return self.names[path]

    def _change(self, kind, file, offset, sync, data, begun):
        if kind == b"b":
            begun[sync] = (self.changes if isinstance(file, str) else
                           file.synced + len(file.pending))
        elif kind == b"s" and isinstance(file, str):
            self._sync_names(file, begun[sync])
        elif kind == b"s":
            count = max(0, begun[sync] - file.synced)
            for one in file.pending[:count]:
                write_to(file.durable, *one)
            del file.pending[:count]
            file.synced += count
        elif isinstance(file, File):
            file.pending.append((offset, data if kind == b"w" else None))

    def _sync_names(self, folder, count):
        """Makes the names in `folder` durable."""
        rest = []
        for change in self.pending_names:
            number, _, path, other, _ = change
            if number < count and str(pathlib.Path(other or path).parent) == folder:
                self._rename(self.durable_names, *change[1:])
            else:
                rest.append(change)
        self.pending_names = rest

    def _name(self, kind, path, other):
        file = self.names.get(path)
        self._rename(self.names, kind, path, other, file)
        self._add(kind, path, other, file)

    def _add(self, *change):
        self.pending_names.append((self.changes, *change))
        self.changes += 1

    @staticmethod
    def _rename(names, kind, path, other, file):
        if kind in (b"r", b"l"):
            names[other] = file
        if kind in (b"r", b"u"):
            names.pop(path, None)
        if kind in (b"c", b"m"):
            names[path] = file
