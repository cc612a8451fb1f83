"""Certificates for a test, created by openssl in a temporary folder."""

import pathlib
import shutil
import ssl
import subprocess
import tempfile

import resp

_CA_CONFIG = """
[ca]
default_ca = test
[test]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[server]
subjectAltName = DNS:localhost,IP:127.0.0.1
authorityKeyIdentifier = keyid
[client]
extendedKeyUsage = clientAuth
authorityKeyIdentifier = keyid
"""


def _openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


class Authority:
    """A certificate authority."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        (self.folder / "ca.cnf").write_text(_CA_CONFIG)
        (self.folder / "index.txt").write_text("")
        (self.folder / "serial").write_text("1000")
        # From version 3.13 on, Python refuses an authority whose certificate does not say so.
        self.key, self.certificate = self._self_signed("ca", name, "-addext",
                                                       "keyUsage=critical,keyCertSign,cRLSign")

    def _self_signed(self, name, common_name, *words):
        _openssl(self.folder, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out",
                 f"{name}.crt", "-subj", f"/CN={common_name}", "-days", "2", *words)
        return self.folder / f"{name}.key", self.folder / f"{name}.crt"

    def self_signed(self, name, common_name):
        """Returns a self-signed certificate: (certificate, key)."""
        key, certificate = self._self_signed(name, common_name)
        return certificate, key

    def issue(self, name, common_name, kind="server", is_over=False):
        """Returns (certificate, key). `kind` is server or client; `is_over` means that the
        certificate has expired."""
        key, request = self.folder / f"{name}.key", self.folder / f"{name}.csr"
        certificate = self.folder / f"{name}.crt"
        _openssl(self.folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={common_name}")
        times = (["-startdate", "20200101000000Z", "-enddate", "20210101000000Z"] if is_over
                 else ["-days", "2"])
        _openssl(self.folder, "ca", "-batch", "-notext", "-config", "ca.cnf", "-cert",
                 self.certificate, "-keyfile", self.key, "-in", request, "-out", certificate,
                 "-extensions", kind, *times)
        return certificate, key


class Certificates:
    """An authority, with the server's certificate installed; used in a with statement."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlock-tls-"))
        self.authority = Authority(self.folder, "authority")
        self.stranger = Authority(self.folder, "stranger")
        self.cert_file, self.key_file = self.folder / "in-use.crt", self.folder / "in-use.key"
        self.install(*self.authority.issue("server", "localhost"))
        return self

    def __exit__(self, *failure):
        shutil.rmtree(self.folder, ignore_errors=True)

    def install(self, certificate, key):
        """Copies them to where the server reads its certificate from."""
        shutil.copy(certificate, self.cert_file)
        shutil.copy(key, self.key_file)

    def options(self, tls_port):
        """Returns the options for fairlockd."""
        return ["--tls-port", str(tls_port), "--tls-cert-file", str(self.cert_file),
                "--tls-key-file", str(self.key_file), "--tls-ca-file",
                str(self.authority.certificate)]

    def context(self, authority=None, identity=None):
        """Returns the context of a client that trusts the authority; `identity` is the client's own
        (certificate, key)."""
        context = ssl.create_default_context(
            cafile=str((authority or self.authority).certificate))
        if identity:
            context.load_cert_chain(*map(str, identity))
        return context


def connect(port, context, name="localhost"):
    """Returns a resp.Connection over TLS.

    Reading raises SSLEOFError if TLS ends without close_notify.
    """
    plain = resp.Connection.to(("127.0.0.1", port))
    try:
        plain.socket = context.wrap_socket(plain.socket, server_hostname=name,
                                           suppress_ragged_eofs=False)
    except OSError:
        plain.close()
        raise
    return plain
