"""The faults of a campaign: what each breaks, for how long, and how it is healed.

A fault is a generator: it causes the fault, yields the seconds for which it is to last, and heals
it when continued. In `fleet.notes`, it notes for human readers what it did.
"""

import random

import etcd_api
from linked_fleet import CLIENTS

STOP_S = 10
DOWN_S = (0.5, 4)
CUT_S = (3, 8)
DELAY_S = 0.3         # of a round trip
QUORUM_LOST_S = 20
QUOTA_FULL_S = 8
FILL = "/fill/"
WAYS = ("there", "back", "both")


def note(fleet, text):
    fleet.notes.append(text)


def leader_killed(fleet, chance):
    node = fleet.await_leader()
    yield from killed(fleet, chance, node)


def standby_killed(fleet, chance):
    yield from killed(fleet, chance, chance.choice(standbys(fleet)))


def etcd_leader_killed(fleet, chance):
    yield from killed(fleet, chance, fleet.etcd_leader())


def both_leaders_killed(fleet, chance):
    yield from killed(fleet, chance, fleet.await_leader(), fleet.etcd_leader())


def leader_stopped(fleet, _):
    yield from stopped(fleet, STOP_S, fleet.await_leader())


def etcd_leader_stopped(fleet, _):
    yield from stopped(fleet, STOP_S, fleet.etcd_leader())


def both_leaders_stopped(fleet, _):
    yield from stopped(fleet, STOP_S, fleet.await_leader(), fleet.etcd_leader())


def etcd_quorum_lost(fleet, chance):
    members = chance.sample(fleet.members, 2)
    if chance.random() < 0.5:
        yield from stopped(fleet, QUORUM_LOST_S, *members)
        return
    yield from killed(fleet, chance, *members, seconds=QUORUM_LOST_S)


def killed(fleet, chance, *processes, seconds=None):
    note(fleet, "killed " + " and ".join(map(fleet.name_of, processes)))
    for process in processes:
        process.kill()
    yield seconds or chance.uniform(*DOWN_S)
    for process in processes:
        process.start()
    fleet.tell_pids()


def stopped(fleet, seconds, *processes):
    note(fleet, "stopped " + " and ".join(map(fleet.name_of, processes)))
    for process in processes:
        process.pause()
    yield seconds
    for process in processes:
        process.go_on()


def standbys(fleet):
    leader = fleet.await_leader()
    return [node for node in fleet.struck_nodes if node is not leader and node.is_running]


def rolling_restart(fleet, chance):
    """Restarts the standbys first, as an upgrade does."""
    leader = fleet.await_leader()
    for node in [*(node for node in fleet.struck_nodes if node is not leader), leader]:
        note(fleet, f"restarted {node.name}")
        status = node.terminate()
        if status != 0:
            raise AssertionError(f"{node.name} ended with status {status}: {fleet.logs()}")
        yield chance.uniform(0.2, 1)
        node.start()
        yield chance.uniform(0.5, 1.5)


def directions(links, way):
    there = [] if way == "back" else list(links)
    back = [] if way == "there" else [(target, source) for source, target in links]
    return there + back


def node_etcd_links(fleet, chance):
    """Returns one link of a node to etcd, or all of them; the node is usually the leader."""
    leader = fleet.await_leader().name
    members = [f"e{i}" for i in range(len(fleet.members))]
    node = leader if chance.random() < 0.75 else chance.choice(standbys(fleet)).name
    one = chance.random() < 0.4
    return [(node, member) for member in ([chance.choice(members)] if one else members)]


def peer_links(fleet, chance):
    """Returns one link between etcd's leader and another member, or all of these links."""
    leader = fleet.name_of(fleet.etcd_leader())
    others = [f"e{i}" for i in range(len(fleet.members)) if f"e{i}" != leader]
    if chance.random() < 0.4:
        return [(leader, chance.choice(others))]
    return [(leader, other) for other in others]


def client_links(fleet, chance):
    """Returns the clients' link to the leader, or their links to all nodes of its partition."""
    if chance.random() < 0.7:
        return [(CLIENTS, fleet.await_leader().name)]
    return [(CLIENTS, node.name) for node in fleet.struck_nodes]


def cut_of(choose):
    def cut(fleet, chance):
        links, way = choose(fleet, chance), chance.choice(WAYS)
        note(fleet, f"cut {links}, {way}")
        fleet.cut(*directions(links, way))
        yield chance.uniform(*CUT_S)
        fleet.heal_links()
    return cut


def delay_of(choose):
    def delay(fleet, chance):
        links, way = choose(fleet, chance), chance.choice(WAYS)
        seconds = DELAY_S / 2 if way == "both" else DELAY_S
        note(fleet, f"delayed {links} by {seconds} s, {way}")
        fleet.delay(seconds, *directions(links, way))
        yield chance.uniform(*CUT_S)
        fleet.heal_links()
    return delay


def etcd_quota_full(fleet, _):
    filled = etcd_api.fill(fleet.etcd_ports[0], FILL)
    note(fleet, f"the quota is full after {filled} values")
    yield QUOTA_FULL_S
    etcd_api.make_room(fleet.etcd_ports, FILL)


KINDS = {
    "leader-killed": leader_killed,
    "leader-stopped": leader_stopped,
    "standby-killed": standby_killed,
    "rolling-restart": rolling_restart,
    "etcd-leader-killed": etcd_leader_killed,
    "etcd-leader-stopped": etcd_leader_stopped,
    "etcd-quorum-lost": etcd_quorum_lost,
    "etcd-quota-full": etcd_quota_full,
    "both-leaders-killed": both_leaders_killed,
    "both-leaders-stopped": both_leaders_stopped,
    "node-etcd-cut": cut_of(node_etcd_links),
    "node-etcd-delayed": delay_of(node_etcd_links),
    "peers-cut": cut_of(peer_links),
    "peers-delayed": delay_of(peer_links),
    "clients-cut": cut_of(client_links),
    "clients-delayed": delay_of(client_links),
}

# These break nothing that another partition uses.
OF_ONE_PARTITION = ("leader-killed", "leader-stopped", "standby-killed", "rolling-restart",
                    "node-etcd-cut", "node-etcd-delayed", "clients-cut", "clients-delayed")


def order_of(kinds, count, seed):
    """Returns a random order in which each kind is about equally frequent."""
    chance = random.Random(seed)
    order = []
    while len(order) < count:
        order += chance.sample(kinds, len(kinds))
    return order[:count]
