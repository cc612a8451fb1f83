"""The image that deploy/container/write_image.py writes: its blobs are what they are named after,
and it has the settings of the Containerfile."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

CONTAINER = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "container"


def write(root, layout, **environment):
    return subprocess.run(
        [sys.executable, "-B", CONTAINER / "write_image.py", root, layout, "arm64", "1.2.3"],
        check=True, capture_output=True, text=True, env={**os.environ, **environment}).stdout


class Image(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        root = self.folder / "root"
        (root / "usr/bin").mkdir(parents=True)
        (root / "usr/bin/fairlockd").write_text("program")
        (root / "usr/bin/fairlockd").chmod(0o755)
        (root / "bin").symlink_to("usr/bin")
        os.link(root / "usr/bin/fairlockd", root / "usr/bin/other")
        self.root = root
        self.layout = self.folder / "layout"

    def blob(self, descriptor):
        """Returns its content, which must be what the descriptor says."""
        algorithm, digest = descriptor["digest"].split(":")
        content = (self.layout / "blobs" / algorithm / digest).read_bytes()
        self.assertEqual(hashlib.sha256(content).hexdigest(), digest)
        self.assertEqual(len(content), descriptor["size"])
        return content

    def read(self):
        """Returns the configuration and the layer, decompressed."""
        index = json.loads((self.layout / "index.json").read_text())
        [named] = index["manifests"]
        self.assertEqual(named["annotations"], {"org.opencontainers.image.ref.name": "1.2.3"})
        self.assertEqual(named["platform"], {"architecture": "arm64", "os": "linux"})
        manifest = json.loads(self.blob(named))
        [layer] = manifest["layers"]
        return json.loads(self.blob(manifest["config"])), gzip.decompress(self.blob(layer))

    def test_it_has_the_settings_of_the_containerfile(self):
        write(self.root, self.layout)
        image, _ = self.read()
        self.assertEqual((image["architecture"], image["os"]), ("arm64", "linux"))
        settings = image["config"]
        self.assertEqual(settings["User"], "3247:3247")
        self.assertEqual(settings["Entrypoint"][:2], ["fairlockd", "--config"])
        self.assertEqual(settings["WorkingDir"], "/var/lib/fairlock")
        self.assertEqual(list(settings["Volumes"]), ["/var/lib/fairlock"])
        self.assertEqual(list(settings["ExposedPorts"]),
                         ["3247/tcp", "3248/tcp", "3249/tcp", "3250/tcp"])
        self.assertEqual(settings["StopSignal"], "SIGTERM")
        self.assertEqual(settings["Labels"], {
            "org.opencontainers.image.title": "fairlock",
            "org.opencontainers.image.description": "A lock server that speaks the Redis protocol",
            "org.opencontainers.image.version": "1.2.3"})
        self.assertEqual(settings["Healthcheck"], {
            "Test": ["CMD", "fairlockctl", "--timeout", "1s", "ping"], "Interval": 5 * 10**9,
            "Timeout": 2 * 10**9, "StartPeriod": 600 * 10**9})

    def test_its_layer_has_the_files(self):
        write(self.root, self.layout)
        image, layer = self.read()
        self.assertEqual(image["rootfs"], {
            "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]})
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            self.assertEqual(tar.extractfile("usr/bin/fairlockd").read(), b"program")
            self.assertEqual(tar.getmember("usr/bin/fairlockd").mode, 0o755)
            self.assertEqual(tar.getmember("bin").linkname, "usr/bin")
            self.assertEqual(tar.getmember("usr/bin/other").linkname, "usr/bin/fairlockd")

    def test_the_same_files_yield_the_same_image_at_another_time(self):
        first = write(self.root, self.layout)
        for path in self.root.rglob("*"):
            os.utime(path, (1, 1), follow_symlinks=False)
        self.assertEqual(write(self.root, self.layout), first)
        self.assertNotEqual(write(self.root, self.layout, SOURCE_DATE_EPOCH="5"), first)
        self.assertEqual(self.read()[0]["created"], "1970-01-01T00:00:05Z")


if __name__ == "__main__":
    unittest.main()
