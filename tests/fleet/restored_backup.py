"""The fault that loses acknowledged locks: etcd is restored from a backup.

No node may grant anything from the older state until an operator has accepted it. It is left out of
the random order, because nothing that clients were told before holds afterwards.
"""

import os
import shutil
import subprocess
import threading
import time

import linked_fleet
import resp
import sessions
from records import History

KIND = "etcd-restored"
SILENT_S = 15
KEYS = 5
ACCEPT = ("CLUSTER", "ACCEPT-RESTORE")


def etcdctl(*words):
    subprocess.run(["etcdctl", *words], check=True, capture_output=True, timeout=60,
                   env={**os.environ, "ETCDCTL_API": "3"})


def option(member, name):
    return member.words[member.words.index(name) + 1]


def restore(fleet, backup):
    """All members lose their data, and start with that of the backup."""
    for member in fleet.members:
        member.kill()
    for member in fleet.members:
        folder = option(member, "--data-dir")
        shutil.rmtree(folder)
        etcdctl("snapshot", "restore", str(backup), "--name", option(member, "--name"),
                "--data-dir", folder, "--initial-cluster", option(member, "--initial-cluster"),
                "--initial-cluster-token", "restored", "--initial-advertise-peer-urls",
                option(member, "--initial-advertise-peer-urls"))
    for member in fleet.members:
        member.start()
    fleet.tell_pids()
    fleet.etcd_leader(30)


def ask(node, *words):
    """Returns the reply of that node, or None."""
    try:
        with node.connect(2) as client:
            return client.ask(*words)
    except (OSError, resp.Ended):
        return None


def grants_within(fleet, seconds):
    """Reports grants of locks that others hold, according to the replies before the loss."""
    end = time.monotonic() + seconds
    found = []
    while time.monotonic() < end and not found:
        for node in fleet.nodes:
            for i in range(KEYS):
                token = ask(node, "LOCK", f"later{i}", "thief", "PX", 60_000)
                if isinstance(token, int):
                    found.append(f"{KIND}: {node.name} granted later{i}, which is held, with "
                                 f"token {token}")
        time.sleep(0.2)
    return found


def accept(fleet):
    """The operator accepts the older state: the nodes serve again, with higher tokens."""
    replies = [ask(node, *ACCEPT) for node in fleet.nodes]
    return "OK" in replies


def run(options, out):
    with linked_fleet.LinkedFleet(*options) as fleet:
        session = sessions.Session(fleet.client_ports, History(), threading.Event())
        first = session.surely("LOCK", "earlier", "owner", "PX", 600_000)
        backup = fleet.directory / "backup"
        etcdctl("--endpoints", f"127.0.0.1:{fleet.etcd_ports[0]}", "snapshot", "save", str(backup))
        tokens = [session.surely("LOCK", f"later{i}", "owner", "PX", 600_000) for i in range(KEYS)]
        restore(fleet, backup)
        findings = grants_within(fleet, SILENT_S)
        if not findings:
            findings = check_accepted(fleet, session, first, tokens)
        session.close()
        out(f"{KIND}: {len(findings)} findings")
        for finding in findings:
            out(finding)
        return findings


def check_accepted(fleet, session, first, tokens):
    if not accept(fleet):
        return [f"{KIND}: no node accepts {' '.join(ACCEPT)}"]
    fleet.await_leader()
    findings = []
    if session.surely("CHECK", "earlier", first) != 1:
        findings.append(f"{KIND}: the lock that the backup contains is lost")
    token = session.surely("LOCK", "anew", "owner", "PX", 60_000)
    if isinstance(token, int) and token <= max(tokens):
        findings.append(f"{KIND}: token {token} after {max(tokens)}")
    return findings

