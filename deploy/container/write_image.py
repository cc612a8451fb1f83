"""Writes an image as an OCI layout, with one layer and the settings of the Containerfile.

    write_image.py ROOT LAYOUT ARCHITECTURE VERSION

ROOT is the folder with the files of the image. Every file gets the time SOURCE_DATE_EPOCH (default:
0), so the same files yield the same bytes. Prints the digest of the image.
"""

import gzip
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tarfile
import time

CONTAINERFILE = pathlib.Path(__file__).parent / "Containerfile"
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
PREFIX = "application/vnd.oci.image"
UNITS = {"s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}  # in nanoseconds


def instructions():
    """Returns (word, arguments) of each instruction of the last stage."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    found = [tuple(line.split(None, 1)) for line in lines if line.strip()]
    last = max(place for place, (word, _) in enumerate(found) if word == "FROM")
    return found[last + 1:]


def health_check(arguments):
    options, _, command = arguments.partition("CMD ")
    check = {"Test": ["CMD", *json.loads(command)]}
    names = {"interval": "Interval", "timeout": "Timeout", "start-period": "StartPeriod"}
    for name, number, unit in re.findall(r"--([a-z-]+)=(\d+)([smh])", options):
        check[names[name]] = int(number) * UNITS[unit]
    return check


def settings(version):
    """Returns the `config` of the image. Healthcheck is not of OCI; Docker reads it."""
    config = {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
              "Labels": {"org.opencontainers.image.version": version}}
    for word, arguments in instructions():
        if word == "USER":
            config["User"] = arguments
        elif word == "WORKDIR":
            config["WorkingDir"] = arguments
        elif word == "VOLUME":
            config["Volumes"] = {path: {} for path in arguments.split()}
        elif word == "EXPOSE":
            config["ExposedPorts"] = {f"{port}/tcp": {} for port in arguments.split()}
        elif word == "LABEL":
            config["Labels"].update(pair.split("=", 1) for pair in shlex.split(arguments))
        elif word == "STOPSIGNAL":
            config["StopSignal"] = arguments
        elif word == "HEALTHCHECK":
            config["Healthcheck"] = health_check(arguments)
        elif word == "ENTRYPOINT":
            config["Entrypoint"] = json.loads(arguments)
        elif word not in ("COPY", "RUN"):  # build.sh does what these do
            sys.exit(f"{CONTAINERFILE.name}: {word} is not known here")
    return config


def without_time(member):
    member.mtime = TIME
    member.uname = member.gname = ""
    return member


def write_tar(root, file):
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            tar.add(path, path.relative_to(root), recursive=False, filter=without_time)


class Layout:

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "blobs/sha256").mkdir(parents=True)

    def add(self, kind, content):
        """Adds a blob, and returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(content)
        return {"mediaType": f"{PREFIX}.{kind}", "digest": f"sha256:{digest}",
                "size": len(content)}

    def add_json(self, kind, content):
        return self.add(kind, json.dumps(content, sort_keys=True).encode())

    def add_layer(self, root):
        """Adds the files; returns the descriptor, and the digest of the uncompressed layer."""
        plain = self.folder / "layer"
        with open(plain, "wb") as file:
            write_tar(root, file)
        with open(plain, "rb") as file:
            text = file.read()
        plain.unlink()
        descriptor = self.add("layer.v1.tar+gzip", gzip.compress(text, 6, mtime=0))
        return descriptor, "sha256:" + hashlib.sha256(text).hexdigest()

    def write_index(self, manifest, version):
        manifest = manifest | {"annotations": {"org.opencontainers.image.ref.name": version}}
        (self.folder / "index.json").write_text(json.dumps(
            {"schemaVersion": 2, "mediaType": f"{PREFIX}.index.v1+json", "manifests": [manifest]}))
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}\n')


def main(root, folder, architecture, version):
    layout = Layout(pathlib.Path(folder))
    layer, plain_digest = layout.add_layer(pathlib.Path(root))
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(TIME))
    platform = {"architecture": architecture, "os": "linux"}
    config = layout.add_json("config.v1+json", {
        **platform, "created": made, "config": settings(version),
        "rootfs": {"type": "layers", "diff_ids": [plain_digest]},
        "history": [{"created": made, "created_by": "deploy/container/build.sh"}]})
    manifest = layout.add_json("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": f"{PREFIX}.manifest.v1+json", "config": config,
        "layers": [layer]})
    layout.write_index(manifest | {"platform": platform}, version)
    print(f"{manifest['digest']}, {layer['size'] >> 20} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
