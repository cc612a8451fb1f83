"""A member of etcd, used through its JSON API: its state, and what an operator does when its quota
is used up."""

import base64
import json
import urllib.error
import urllib.request

SECONDS_MAX = 10
# The password for each port whose member is asked as a user, and the token.
passwords = {}
tokens = {}


def call(port, path, seconds=SECONDS_MAX, **fields):
    """Returns the reply, or raises an OSError with etcd's message."""
    try:
        return exchange(port, path, seconds, fields)
    except OSError as error:
        # A member forgets its tokens when it ends, and after a few minutes.
        if port not in passwords or "auth token" not in str(error):
            raise
    tokens.pop(port, None)
    login = exchange(port, "auth/authenticate", seconds, passwords[port])
    tokens[port] = login["token"]
    return exchange(port, path, seconds, fields)


def exchange(port, path, seconds, fields):
    headers = {"Authorization": tokens[port]} if port in tokens else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/{path}",
                                     json.dumps(fields).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=seconds) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as error:
        raise OSError(error.read().decode(errors="replace")) from error


def use_passwords(ports, prefix, user, password):
    """From now on, etcd serves only root and this user, who may use the keys below the prefix."""
    role, root = f"{user}-role", {"name": "root", "password": "root"}
    keys = {"permType": "READWRITE", "key": text(prefix),
            "range_end": text(prefix[:-1] + chr(ord(prefix[-1]) + 1))}
    for path, fields in (("role/add", {"name": role}),
                         ("role/grant", {"name": role, "perm": keys}),
                         ("user/add", {"name": user, "password": password}),
                         ("user/grant", {"user": user, "role": role}),
                         ("user/add", root), ("user/grant", {"user": "root", "role": "root"}),
                         ("enable", {})):
        call(ports[0], f"auth/{path}", **fields)
    for port in ports:
        passwords[port] = root
        tokens[port] = "none yet"


def forget_passwords(ports):
    for port in ports:
        passwords.pop(port, None)
        tokens.pop(port, None)


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
    compact(ports, deleted["header"]["revision"])
    for alarm in alarms(ports[0]):
        call(ports[0], "maintenance/alarm", action="DEACTIVATE", **alarm)


def compact(ports, revision):
    """Forgets what was there before the revision, and gives its room back, member by member."""
    try:
        call(ports[0], "kv/compaction", revision=revision, physical=True)
    except OSError as error:
        if "compacted" not in str(error):  # the fleet's leader may have compacted first
            raise
    for port in ports:
        call(port, "maintenance/defragment", 30)
