"""The faults of a campaign: what each breaks, for how long, and how it is healed.

A fault is a generator: it causes the fault, yields the seconds for which it is to last, and heals
it when continued. In `fleet.notes`, it notes for human readers what it did.
"""

import random
import time

import etcd_api
from linked_fleet import CLIENTS, set_clock, USER

STOP_S = 10
STANDBY_STOP_S = 6
SETTLE_S = (1, 2)     # after something that was planned
HAND_OVER_SECONDS_MAX = 20
CLOCK_STEP_S = 3600
CLOCK_S = (2, 4)
PASSWORD_S = (1, 3)
SLOW_S = 6
SLOW_TURN_S = (0.25, 0.05)  # etcd stands still, and runs
DOWN_S = (0.5, 4)
CUT_S = (3, 8)
DELAY_S = 0.3         # how much longer a round trip takes
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


def leader_and_standby_killed(fleet, chance):
    yield from killed(fleet, chance, fleet.await_leader(), chance.choice(standbys(fleet)))


def leader_stopped(fleet, _):
    yield from stopped(fleet, STOP_S, fleet.await_leader())


def standby_stopped(fleet, chance):
    yield from stopped(fleet, STANDBY_STOP_S, chance.choice(standbys(fleet)))


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


def stopped(fleet, seconds, *processes, is_noted=True):
    if is_noted:
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
        terminate(fleet, node)
        node.words[0] = fleet.programs[0]
        yield chance.uniform(0.2, 1)
        node.start()
        yield chance.uniform(0.5, 1.5)


def version_changed(fleet, chance):
    """An upgrade to the other version, or the way back."""
    fleet.programs.reverse()
    note(fleet, f"changed to {fleet.programs[0]}")
    yield from rolling_restart(fleet, chance)


def terminate(fleet, node):
    note(fleet, f"terminated {node.name}")
    status = node.terminate()
    if status != 0:
        raise AssertionError(f"{node.name} ended with status {status}: {fleet.logs()}")


def leader_terminated_cold(fleet, chance):
    """A standby has just been started again, so it is still reading the log."""
    fleet.await_in_sync()
    leader, cold = fleet.await_leader(), chance.choice(standbys(fleet))
    note(fleet, f"started {cold.name} again")
    cold.kill()
    cold.start()
    yield chance.uniform(0, 1.5)
    terminate(fleet, leader)
    yield chance.uniform(*DOWN_S)
    leader.start()


def hand_over(fleet, _):
    yield from handed_over(fleet)


def hand_over_to(fleet, chance):
    fleet.await_in_sync()
    yield from handed_over(fleet, chance.choice(standbys(fleet)))


def handed_over(fleet, successor=None):
    leader = fleet.await_in_sync()
    words = ["TO", successor.name] if successor else []
    with leader.connect() as client:
        reply = client.ask("CLUSTER", "FAILOVER", *words)
    if reply != "OK":
        raise AssertionError(f"{leader.name} does not hand over: {reply}")
    for _ in range(HAND_OVER_SECONDS_MAX):
        yield 1
        newest = fleet.await_leader()
        if newest is not leader:
            break
    note(fleet, " ".join([f"{leader.name} handed over to {newest.name}", *words]))
    if newest is leader or successor not in (None, newest):
        raise AssertionError(f"{leader.name} was to hand over: {fleet.notes} {fleet.logs()}")


def leader_clock_of(seconds):
    def stepped(fleet, chance):
        leader = fleet.await_leader()
        note(fleet, f"the clock of {leader.name} {seconds:+} s")
        set_clock(leader, seconds)
        with leader.connect() as client:
            ahead = int(client.ask("TIME")[0]) - time.time()
        if abs(ahead - seconds) > CLOCK_STEP_S / 2:
            raise AssertionError(f"the clock of {leader.name} is ahead by {ahead} s")
        yield chance.uniform(*CLOCK_S)
        set_clock(leader, 0)
    return stepped


def standby_clock_of(seconds):
    """The clocks of all standbys are wrong when one of them takes over."""
    def stepped(fleet, chance):
        others = standbys(fleet)
        note(fleet, f"the clocks of {', '.join(node.name for node in others)} {seconds:+} s")
        for node in others:
            set_clock(node, seconds)
        yield chance.uniform(0, 1)
        yield from killed(fleet, chance, fleet.await_leader(), seconds=chance.uniform(*CLOCK_S))
        for node in others:
            set_clock(node, 0)
    return stepped


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


def close_of(choose):
    def close(fleet, chance):
        links = choose(fleet, chance)
        note(fleet, f"closed {links}")
        fleet.close(*links)
        yield chance.uniform(*CUT_S)
        fleet.heal_links()
    return close


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


def etcd_compacted(fleet, chance):
    status = etcd_api.call(fleet.etcd_ports[0], "maintenance/status")
    note(fleet, f"compacted at {status['header']['revision']}")
    etcd_api.compact(fleet.etcd_ports, status["header"]["revision"])
    yield chance.uniform(*SETTLE_S)


def etcd_slow(fleet, _):
    """Every member stands still most of the time, as one does whose disk is slow."""
    note(fleet, "all members of etcd run a sixth of the time")
    for _ in range(round(SLOW_S / sum(SLOW_TURN_S))):
        yield from stopped(fleet, SLOW_TURN_S[0], *fleet.members, is_noted=False)
        yield SLOW_TURN_S[1]


def etcd_password_changed(fleet, chance):
    """The operator changes it in etcd first, or in the file of the nodes."""
    password = f"secret {chance.random()}"
    steps = [lambda: etcd_api.call(fleet.etcd_ports[0], "auth/user/changepw", name=USER,
                                   password=password),
             lambda: fleet.password_file.write_text(password + "\n")]
    is_file_first = chance.random() < 0.5
    note(fleet, "the password was changed " + ("in the file" if is_file_first else "in etcd") +
         " first")
    steps[is_file_first]()
    yield chance.uniform(*PASSWORD_S)
    steps[not is_file_first]()
    yield chance.uniform(*PASSWORD_S)


KINDS = {
    "leader-killed": leader_killed,
    "leader-stopped": leader_stopped,
    "standby-killed": standby_killed,
    "standby-stopped": standby_stopped,
    "leader-and-standby-killed": leader_and_standby_killed,
    "rolling-restart": rolling_restart,
    "leader-terminated-cold": leader_terminated_cold,
    "hand-over": hand_over,
    "hand-over-to": hand_over_to,
    "leader-clock-back": leader_clock_of(-CLOCK_STEP_S),
    "leader-clock-forward": leader_clock_of(CLOCK_STEP_S),
    "standby-clock-back": standby_clock_of(-CLOCK_STEP_S),
    "standby-clock-forward": standby_clock_of(CLOCK_STEP_S),
    "etcd-leader-killed": etcd_leader_killed,
    "etcd-leader-stopped": etcd_leader_stopped,
    "etcd-quorum-lost": etcd_quorum_lost,
    "etcd-quota-full": etcd_quota_full,
    "etcd-compacted": etcd_compacted,
    "etcd-slow": etcd_slow,
    "etcd-password-changed": etcd_password_changed,
    "both-leaders-killed": both_leaders_killed,
    "both-leaders-stopped": both_leaders_stopped,
    "node-etcd-cut": cut_of(node_etcd_links),
    "node-etcd-delayed": delay_of(node_etcd_links),
    "node-etcd-closed": close_of(node_etcd_links),
    "peers-cut": cut_of(peer_links),
    "peers-delayed": delay_of(peer_links),
    "peers-closed": close_of(peer_links),
    "clients-cut": cut_of(client_links),
    "clients-delayed": delay_of(client_links),
    "clients-closed": close_of(client_links),
}

# These need the binary of another version.
VERSION_CHANGED = "version-changed"
OF_TWO_VERSIONS = {VERSION_CHANGED: version_changed}

# These break what another partition uses too.
OF_ALL_PARTITIONS = tuple(kind for kind in KINDS if kind.startswith(("etcd", "both", "peers")))


def order_of(kinds, count, seed):
    """Returns a random order in which each kind is about equally frequent."""
    chance = random.Random(seed)
    order = []
    while len(order) < count:
        order += chance.sample(kinds, len(kinds))
    return order[:count]
