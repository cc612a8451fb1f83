"""File systems for tests to fill, hide or break."""

import fcntl
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

# The ioctl of linux/ext4.h that shuts a file system down as a power failure would: nothing more is
# written to its device, neither data nor journal.
EXT4_IOC_SHUTDOWN = (2 << 30) | (4 << 16) | (ord("X") << 8) | 125
WITHOUT_LOG = struct.pack("I", 2)


def run(*command):
    """Returns whether the command succeeded."""
    return subprocess.run([str(word) for word in command], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Tmpfs:
    """Mounted at a folder until the test ends."""

    def __init__(self, test, folder, size):
        self.folder = pathlib.Path(folder)
        self.ballast = self.folder / "ballast"
        self.folder.mkdir(exist_ok=True)
        test.addCleanup(shutil.rmtree, self.folder.parent, ignore_errors=True)
        if not run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.folder):
            raise unittest.SkipTest("this user may not mount a tmpfs")
        test.addCleanup(run, "umount", "-l", self.folder)

    def fill_but(self, spare_bytes):
        """Fills the remaining space, except for spare_bytes, with a file, the ballast."""
        system = os.statvfs(self.folder)
        free = system.f_bavail * system.f_frsize
        with open(self.ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, free - spare_bytes)


class Ext4:
    """An ext4 file system in a file, mounted at a folder until the test ends."""

    def __init__(self, test, folder, megabytes=48):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        test.addCleanup(shutil.rmtree, self.folder.parent, ignore_errors=True)
        with tempfile.NamedTemporaryFile(prefix="fairlock-ext4-", delete=False) as image:
            image.truncate(megabytes << 20)
        self.image = pathlib.Path(image.name)
        test.addCleanup(self.image.unlink)
        if not run("mkfs.ext4", "-q", "-F", self.image) or not self.mount():
            raise unittest.SkipTest("this user may not mount an ext4 in a file")
        test.addCleanup(run, "umount", "-l", self.folder)

    def mount(self):
        return run("mount", "-o", "loop", self.image, self.folder)

    def become_read_only(self):
        """Makes it read-only as a disk error would, even for files that are open for writing."""
        if not run("mount", "-o", "remount,abort", self.folder):
            raise unittest.SkipTest("this ext4 cannot be aborted")

    def lose_power(self):
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, WITHOUT_LOG)
        except OSError as error:
            raise unittest.SkipTest(f"this ext4 cannot be shut down: {error}") from error
        finally:
            os.close(descriptor)

    def mount_again(self):
        """Mounts it again, so that it shows only what is on its device, without the page cache."""
        if not run("umount", self.folder) or not self.mount():
            raise AssertionError("cannot mount it again")
