"""Gives a fleet a past: a node commits a great number of small changes before the first fault.

Each commit is a transaction of etcd with a frame of the log, as a client that asks alone causes it;
requests that arrive together would share one. Meanwhile etcd has one member, which takes half the
time of three. As a million commits still take many minutes, a folder can keep the data of etcd for
the next campaign.
"""

import json
import shutil
import threading
import time

import etcd_api
import own_fleet

# A new member reads all data of the first one.
JOIN_SECONDS_MAX = 600
CLIENTS = 3            # more of them share transactions, and fewer leave etcd idle
FRAMES = "/fairlock/main/p/00/f/"
SAID_EVERY_S = 60
PORTS = "peer_ports.json"


def revision(port):
    return int(etcd_api.call(port, "maintenance/status")["header"]["revision"])


def frames(port):
    """Returns how many frames the log has, behind its newest snapshot."""
    counted = etcd_api.call(port, "kv/range", key=etcd_api.text(FRAMES),
                            range_end=etcd_api.text(FRAMES[:-1] + "0"), count_only=True)
    return int(counted.get("count", 0))


def description(port):
    status = etcd_api.call(port, "maintenance/status")
    return (f"etcd {status['version']}: revision {status['header']['revision']}, "
            f"{frames(port)} frames in the log, {int(status['dbSize']) / 1e6:.1f} MB, "
            f"of which {int(status.get('dbSizeInUse', 0)) / 1e6:.1f} MB are in use")


def pairs(node, number, is_over):
    """Takes and releases one lock, until the end."""
    words = [f"{command} past:{number} owner\r\n".encode() for command in ("LOCK", "UNLOCK")]
    with node.connect(60) as client:
        while not is_over.is_set():
            for each in words:
                client.socket.sendall(each)
                reply = client.socket.recv(100)
                if reply[:1] != b":":
                    raise AssertionError(f"{each} -> {reply}")


def make(fleet, count, out):
    """Lets a node that is connected to etcd directly, and not through links.py, write `count`
    transactions."""
    port = fleet.etcd_ports[0]
    node = own_fleet.Node("n0", (fleet.nodes[0].port, 0, 0), list(fleet.nodes[0].words),
                          fleet.directory / "past.log")
    node.words[node.words.index("--cluster-etcd") + 1] = f"127.0.0.1:{port}"
    node.start()
    while fleet.logged_leader([node]) is None:
        node.check_runs()
        time.sleep(0.05)
    first, began, said = revision(port), time.monotonic(), time.monotonic()
    is_over = threading.Event()
    clients = [threading.Thread(target=pairs, args=(node, i, is_over)) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        while (made := revision(port) - first) < count:
            if not any(client.is_alive() for client in clients):
                raise AssertionError(f"no client is left: {node.log.read_text()[-2000:]}")
            if time.monotonic() - said > SAID_EVERY_S:
                said = time.monotonic()
                out(f"{made} commits after {said - began:.0f} s; {description(port)}")
            time.sleep(0.2)
    finally:
        is_over.set()
        for client in clients:
            client.join()
        node.terminate()
    out(f"{made} commits were made in {time.monotonic() - began:.0f} s")


def grow(fleet):
    """Adds the other members to the first one."""
    initial = [f"e{i}=http://127.0.0.1:{port}" for i, port in enumerate(fleet.peer_links)]
    for i, member in list(enumerate(fleet.members))[1:]:
        add_member(fleet.etcd_ports[0], initial[i].split("=")[1])
        start_with(member, initial[:i + 1], "existing")
        fleet.tell_pids()
        fleet.await_members(JOIN_SECONDS_MAX, fleet.members[:i + 1])


def add_member(port, url):
    """etcd refuses until the members have been connected for a few seconds."""
    give_up = time.monotonic() + own_fleet.START_SECONDS_MAX
    while True:
        try:
            etcd_api.call(port, "cluster/member/add", peerURLs=[url])
            return
        except OSError as error:
            if "unhealthy cluster" not in str(error) or time.monotonic() > give_up:
                raise
        time.sleep(0.5)


def start_with(member, initial, state):
    """Starts a member without data. Later starts ignore these options."""
    words = member.words
    at = words.index("--initial-cluster") + 1
    member.words = [*words[:at], ",".join(initial), *words[at + 1:],
                    "--initial-cluster-state", state]
    member.start()
    member.words = words


def peer_ports(folder):
    """Returns the ports by which the members whose data the folder keeps know each other, or
    None."""
    path = folder / PORTS
    return json.loads(path.read_text()) if path.exists() else None


def restore(fleet, folder):
    for i in range(len(fleet.members)):
        shutil.copytree(folder / f"e{i}", fleet.directory / f"e{i}")


def keep(fleet, folder):
    """Copies the data of the members, which must not be running."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(len(fleet.members)):
        shutil.copytree(fleet.directory / f"e{i}", folder / f"e{i}")
    (folder / PORTS).write_text(json.dumps(fleet.peer_links))


def start_etcd(fleet, count, folder, out):
    """Starts the members for LinkedFleet, with `count` commits."""
    is_kept = folder is not None and peer_ports(folder) is not None
    if not is_kept:
        first = fleet.members[0]
        start_with(first, [f"e0=http://127.0.0.1:{fleet.peer_links[0]}"], "new")
        fleet.tell_pids()
        fleet.await_members(own_fleet.START_SECONDS_MAX, [first])
        make(fleet, count, out)
        grow(fleet)
        for member in fleet.members if folder is not None else ():
            member.terminate()
        if folder is not None:
            keep(fleet, folder)
    if is_kept or folder is not None:
        fleet.start_members()
    out(description(fleet.etcd_ports[0]))
