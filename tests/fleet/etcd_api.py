"""A member of etcd, used through its JSON API: its state, and what an operator does when its quota
is used up."""

import base64
import json
import urllib.error
import urllib.request

SECONDS_MAX = 10


def call(port, path, seconds=SECONDS_MAX, **fields):
    """Returns the reply, or raises an OSError with etcd's message."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/{path}",
                                     json.dumps(fields).encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=seconds) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as error:
        raise OSError(error.read().decode(errors="replace")) from error


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return base64.b64encode(data).decode()


def is_leader(port):
    try:
        status = call(port, "maintenance/status", 1)
    except OSError:
        return False
    # A member that knows no leader leaves the field out.
    return status.get("leader") == status["header"]["member_id"]


def alarms(port):
    return call(port, "maintenance/alarm", action="GET").get("alarms", [])


def fill(port, prefix, bytes_each=1_000_000, most=2_000):
    """Writes values until etcd refuses, because its quota is full; returns how many."""
    for number in range(most):
        try:
            call(port, "kv/put", key=text(f"{prefix}{number}"), value=text(b"x" * bytes_each))
        except OSError as error:
            if "space exceeded" in str(error):
                return number
            raise
    raise AssertionError(f"{most} values of {bytes_each} bytes did not fill the quota")


def make_room(ports, prefix):
    """Deletes what `fill` wrote, and lets etcd accept writes again."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    deleted = call(ports[0], "kv/deleterange", key=text(prefix), range_end=text(end))
    try:
        call(ports[0], "kv/compaction", revision=deleted["header"]["revision"], physical=True)
    except OSError as error:
        if "compacted" not in str(error):  # the fleet's leader may have compacted first
            raise
    for port in ports:
        call(port, "maintenance/defragment", 30)
    for alarm in alarms(ports[0]):
        call(ports[0], "maintenance/alarm", action="DEACTIVATE", **alarm)
