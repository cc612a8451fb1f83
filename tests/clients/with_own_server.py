"""Runs a program with its own fairlockd, which listens on FAIRLOCK_PORT and FAIRLOCK_SOCKET.

    with_own_server.py [--redis] [--tls] PROGRAM [ARGUMENT...]

    --redis    also starts a redis-server on REDIS_PORT
    --tls      also listens with TLS on FAIRLOCK_TLS_PORT, and requires a client certificate:
               FAIRLOCK_TLS_CERT and FAIRLOCK_TLS_KEY contain one, and FAIRLOCK_TLS_CA contains
               the authority that has signed the certificates of both sides
"""

import contextlib
import itertools
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))
from certificates import Certificates  # noqa: E402
from own_redis import Redis  # noqa: E402
from own_server import Server, free_port  # noqa: E402


def tls(stack):
    """Returns the server's options, and the environment variables for its clients."""
    certificates = stack.enter_context(Certificates())
    port = free_port()
    certificate, key = certificates.authority.issue("worker", "worker-1", "client")
    return ([*certificates.options(port), "--tls-auth-clients", "required"],
            {"FAIRLOCK_TLS_PORT": str(port), "FAIRLOCK_TLS_CERT": str(certificate),
             "FAIRLOCK_TLS_KEY": str(key),
             "FAIRLOCK_TLS_CA": str(certificates.authority.certificate)})


def main(arguments):
    wishes = set(itertools.takewhile(lambda word: word.startswith("--"), arguments))
    with contextlib.ExitStack() as servers:
        options, of_tls = tls(servers) if "--tls" in wishes else ([], {})
        server = servers.enter_context(Server(*options))
        environment = {**os.environ, "FAIRLOCK_PORT": str(server.port),
                       "FAIRLOCK_SOCKET": str(server.unix_socket),
                       "FAIRLOCK_PID": str(server.process.pid), **of_tls}
        if "--redis" in wishes:
            redis = servers.enter_context(Redis())
            environment["REDIS_PORT"] = str(redis.port)
            environment["REDIS_PID"] = str(redis.process.pid)
        return subprocess.run(arguments[len(wishes):], env=environment).returncode


sys.exit(main(sys.argv[1:]))
