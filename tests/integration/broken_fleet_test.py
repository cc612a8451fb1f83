"""What every node that is alive says while its fleet is broken.

The rule: no surface names as leader a node that does not lead; none says ready where no lock is
granted; each member of etcd that serves nothing is shown with its error; each age is shown. A node
needs a few seconds to notice what happened; then all of this is true, and stays so.

Each way to break a fleet is a row of a table. Two chains of them run at the same time, because
nodes wait most of the time.
"""

import concurrent.futures
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time
import typing
import unittest
import urllib.error
import urllib.request

import own_server
import resp
from fairlockctl import DONE, NO, UNREACHABLE, Fairlockctl
from own_fleet import Fleet, START_SECONDS_MAX, etcdctl
from own_prometheus import Prometheus, values_of

LINKS = pathlib.Path(__file__).resolve().parents[1] / "fleet/links.py"
SETTLE_SECONDS_MAX = 60
PATIENCE_SECONDS = 8  # longer than a connection waits for a leader
OLD, OTHER = "the leader before", "another node"
ALL = frozenset({OLD, OTHER})
NOBODY = frozenset()
AT_ONCE = 2  # chains: more would keep the nodes from noticing in time
# The other alerts are about figures.
ABOUT_STATES = re.compile("Fairlock(Down|NotReady|EtcdMember|Fleet)")


class LinkedFleet(Fleet):
    """A fleet whose nodes reach etcd through links that can be cut in each direction; with a
    Prometheus. `old` is the node that led before the fleet was broken."""

    def __init__(self, **sizes):
        super().__init__(relays=True, http=True, **sizes)
        self.old = None
        self.carrier = None
        self.prometheus = Prometheus(*[node.http_port for node in self.nodes])
        self.links = []
        for node in self.nodes:
            node.endpoints, node.foreign = [], set()
            for number, endpoint in enumerate(self.endpoints.split(",")):
                port = own_server.free_port()
                node.endpoints.append(f"127.0.0.1:{port}")
                self.links.append({"port": port, "target": int(endpoint.rsplit(":", 1)[1]),
                                   "from": node.name, "to": f"e{number}"})
            set_option(node, "--cluster-etcd", ",".join(node.endpoints))

    def __enter__(self):
        self.carrier = subprocess.Popen([sys.executable, "-B", LINKS], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.tell(links=self.links)
        super().__enter__()
        self.prometheus.__enter__()
        return self

    def __exit__(self, *failure):
        super().__exit__(*failure)
        if self.prometheus.process is not None:
            self.prometheus.__exit__(*failure)
        self.carrier.kill()
        self.carrier.communicate()

    def tell(self, **message):
        self.carrier.stdin.write(json.dumps(message) + "\n")
        self.carrier.stdin.flush()
        if self.carrier.stdout.readline() != "done\n":
            raise AssertionError("links.py has ended")

    def cut(self, *directions):
        """Cuts links of the leader: 0 is to etcd, 1 is from etcd."""
        members = [f"e{number}" for number in range(len(self.members))]
        pairs = [(self.old.name, member)[::-1 if direction else 1]
                 for member in members for direction in directions]
        self.tell(rules=[{"from": source, "to": target, "cut": True} for source, target in pairs])

    def kind(self, node):
        return OLD if node is self.old else OTHER

    def standby(self):
        return next(node for node in self.nodes if node is not self.old)

    def use_foreign_member(self, endpoint):
        """A standby is started again with a member of another etcd cluster in place of its last
        one."""
        node = self.standby()
        node.endpoints[-1] = endpoint
        node.foreign = {len(node.endpoints) - 1}
        set_option(node, "--cluster-etcd", ",".join(node.endpoints))
        restart(node)

    def announce_wrongly(self):
        node = self.standby()
        set_option(node, "--cluster-announce", f"127.0.0.1:{own_server.free_port()}")
        restart(node)

    def lose_data(self):
        """Etcd loses its newest data, and is restored from a backup."""
        backup = self.directory / "backup"
        etcdctl("--endpoints", self.endpoints, "snapshot", "save", backup)
        with self.old.connect() as client:
            client.ask("LOCK", "lost", "owner", "PX", 600_000)
        self.restore(backup, "restored")


def set_option(node, option, value):
    node.words[node.words.index(option) + 1] = value


def restart(node):
    node.kill()
    node.start()


def start_all(processes):
    for process in processes:
        if not process.is_running:
            process.start()


@dataclasses.dataclass(frozen=True)
class State:
    """`make` breaks a whole fleet, or one in the state of the row before; `heal`, if there is one,
    makes it whole again. The other fields say what must be true of the leader before, and of
    the other nodes."""

    name: str
    make: typing.Callable
    heal: typing.Callable | None = None
    leads: frozenset = frozenset({OLD})  # one of these does; empty if nobody does
    serving: frozenset = ALL          # the nodes that serve, as far as they are alive
    silent: frozenset = NOBODY        # the nodes that cannot answer
    unsure: bool = False              # the leader before is alive, but etcd does not confirm it
    awaits_acceptance: bool = False
    # The members of etcd that serve nothing to a node, by the kind of node.
    down: dict = dataclasses.field(default_factory=dict)
    says: tuple = ()                  # patterns in the output of `fairlockctl cluster status`
    alerts: frozenset = frozenset()   # these are pending or firing


def chain_of_etcd():
    return LinkedFleet(), (
        State("one member of etcd is dead", lambda fleet: fleet.members[0].kill(),
              heal=lambda fleet: fleet.members[0].start(),
              down={OLD: {0}, OTHER: {0}}, alerts={"FairlockEtcdMemberDown"}),
        State("a standby is dead", lambda fleet: fleet.standby().kill(),
              heal=lambda fleet: fleet.standby().start(), alerts={"FairlockDown"}),
        State("etcd has no quorum", lambda fleet: [one.kill() for one in fleet.members[:2]],
              leads=NOBODY, serving=NOBODY, unsure=True, down={OLD: {0, 1, 2}, OTHER: {0, 1, 2}},
              says=(r"warning: the list of nodes is \d.* old, and could not be updated",
                    r"warning: the etcd member \S+ does not serve: it knows no leader of etcd"),
              alerts={"FairlockFleetUnsure", "FairlockFleetWithoutLeader",
                      "FairlockEtcdMemberDown"}),
        State("etcd has no quorum, and the leader is dead", lambda fleet: fleet.old.kill(),
              leads=NOBODY, serving=NOBODY, silent={OLD},
              down={OTHER: {0, 1, 2}},
              says=(r"warning: n\d led, but is not heard of: it is dead or cut off, or etcd",),
              alerts={"FairlockFleetWithoutLeader", "FairlockDown", "FairlockEtcdMemberDown"}),
        State("no member of etcd is alive, and the leader is dead",
              lambda fleet: fleet.members[2].kill(),
              heal=lambda fleet: start_all(fleet.members + fleet.nodes),
              leads=NOBODY, serving=NOBODY, silent={OLD},
              down={OTHER: {0, 1, 2}},
              says=(r"warning: n\d led, but is not heard of: it is dead or cut off, or etcd",),
              alerts={"FairlockFleetWithoutLeader", "FairlockDown", "FairlockEtcdMemberDown"}))


def chain_of_leaders():
    cut = {"leads": {OTHER}, "serving": {OTHER}, "unsure": True,
           "down": {OLD: {0, 1, 2}}, "heal": lambda fleet: fleet.tell(rules=[]),
           "alerts": {"FairlockFleetUnsure", "FairlockEtcdMemberDown"}}
    return LinkedFleet(), (
        State("the leader is dead", lambda fleet: fleet.old.kill(),
              heal=lambda fleet: fleet.old.start(),
              leads={OTHER}, silent={OLD}, alerts={"FairlockDown"}),
        State("the leader is paused", lambda fleet: fleet.old.pause(),
              heal=lambda fleet: fleet.old.go_on(),
              leads={OTHER}, silent={OLD}, alerts={"FairlockDown"}),
        State("etcd does not hear the leader", lambda fleet: fleet.cut(0), **cut),
        State("the leader does not hear etcd", lambda fleet: fleet.cut(1), **cut),
        State("the leader is cut off from etcd", lambda fleet: fleet.cut(0, 1), **cut))


def chain_of_mistakes(foreign):
    return LinkedFleet(), (
        State("the address that a standby announces is wrong", LinkedFleet.announce_wrongly,
              says=(r"warning: n\d announces \S+, where most other nodes cannot connect to it",
                    r"standby  unreachable"),
              alerts={"FairlockFleetNodeUnreachable"}),
        State("one of a standby's members of etcd belongs to another etcd cluster",
              lambda fleet: fleet.use_foreign_member(foreign.endpoints),
              says=(r"warning: n\d does not use \S+, which belongs to another etcd cluster",),
              alerts={"FairlockEtcdMemberDown", "FairlockFleetNodeUnreachable"}))


def chain_of_restores():
    return LinkedFleet(members=1), (
        State("etcd was restored from a backup", LinkedFleet.lose_data, leads=NOBODY,
              serving=NOBODY, awaits_acceptance=True,
              says=(r"warning: etcd was restored from a backup: no node takes over until you run",),
              alerts={"FairlockFleetAwaitsAcceptance", "FairlockFleetWithoutLeader"}),
        State("the restored etcd was accepted",
              lambda fleet: Fairlockctl().text(
                  "--host", ",".join(f"127.0.0.1:{node.port}" for node in fleet.nodes),
                  "cluster", "accept-restore", "--all", "--yes"),
              leads=ALL))


def ask_http(node, path):
    """Returns (status, body)."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{node.http_port}{path}",
                                    timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def ask(port, *words):
    with resp.Connection.to(("127.0.0.1", port)) as client:
        client.socket.settimeout(PATIENCE_SECONDS)
        return client.ask(*words)


class Seen:
    """What one node says on every surface."""

    def __init__(self, node):
        self.leaderz = ask_http(node, "/leaderz")
        self.readyz = ask_http(node, "/readyz")
        page = values_of(ask_http(node, "/metrics")[1])
        self.metrics = {re.sub(r',?partition="\d+"', "", name).removesuffix("{}"): value
                        for name, value in page.items()}
        self.cluster = json.loads(ask_http(node, "/api/v1/cluster")[1])["cluster"]
        self.sentinel = ask(node.sentinel_port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
        ctl = Fairlockctl(FAIRLOCK_HOST=f"127.0.0.1:{node.port}")
        self.fleet_status = ctl.run("cluster", "status")
        self.status = ctl.run("status")
        self.lock = ask(node.port, "LOCK", f"{node.name}", "owner", "PX", 60_000)

    def named_leader(self):
        """The name in the line "leader" of `fairlockctl cluster status`."""
        found = re.search(r"^leader  (\S+)", self.fleet_status.stdout, re.M)
        return found.group(1).rstrip(",") if found else None


class Judge:
    """Compares what the nodes say with a state."""

    def __init__(self, fleet, state):
        self.fleet = fleet
        self.state = state
        self.wrong = []

    def expect(self, what, is_so):
        if not is_so:
            self.wrong.append(what)

    def look(self):
        """Returns what is wrong now."""
        self.wrong = []
        seen = {node: Seen(node) for node in self.fleet.nodes
                if self.fleet.kind(node) not in self.state.silent and node.is_running}
        leaders = [node for node, one in seen.items() if one.leaderz[0] == 200]
        self.expect(f"{[one.name for one in leaders]} answer /leaderz",
                    len(leaders) == bool(self.state.leads)
                    and {self.fleet.kind(node) for node in leaders} <= self.state.leads)
        leader = leaders[0] if leaders else None
        alive = {node.name for node in seen}
        for node, one in seen.items():
            before = len(self.wrong)
            self.judge_dead(one, alive)
            self.judge(node, one, leader)
            self.wrong[before:] = [f"{node.name} ({self.fleet.kind(node)}): {what}"
                                   for what in self.wrong[before:]]
        alerts = self.fleet.prometheus.alerts()
        about_states = {name for name in alerts if ABOUT_STATES.match(name)}
        self.expect(f"alerts {alerts}", about_states == self.state.alerts)
        return self.wrong

    def judge(self, node, seen, leader):
        kind = self.fleet.kind(node)
        serves = kind in self.state.serving
        is_unsure = kind is OLD and self.state.unsure
        # A node that has lost etcd has not heard of another leader.
        known = None if is_unsure or not self.state.serving else leader
        self.judge_locks(seen, serves)
        self.judge_leader(node, seen, known)
        self.judge_etcd(node, seen)
        metrics = seen.metrics
        for name, is_set in (("ready", node is leader), ("fleet_leader", node is leader),
                             ("fleet_unsure", is_unsure),
                             ("fleet_awaits_acceptance", self.state.awaits_acceptance)):
            self.expect(f"{name} {metrics['fairlock_' + name]}",
                        metrics["fairlock_" + name] == is_set)
        self.expect(f"unsure {seen.cluster['unsure']}", seen.cluster["unsure"] == is_unsure)
        # A client of a standby is shown what the leader sees.
        for pattern in self.state.says:
            self.expect(f"no {pattern} in {seen.fleet_status.stdout}",
                        re.search(pattern, seen.fleet_status.stdout))

    def judge_locks(self, seen, serves):
        self.expect(f"LOCK {seen.lock}", isinstance(seen.lock, int) == serves)
        self.expect(f"/readyz {seen.readyz}", seen.readyz[0] == (200 if serves else 503))
        self.expect(f"status {seen.status}",
                    seen.status.returncode == (DONE if serves else UNREACHABLE))
        verdict = "needs attention" if "warning: " in seen.fleet_status.stdout else "healthy"
        self.expect(f"verdict {seen.status}",
                    not serves or re.match(f"verdict +{verdict}\n", seen.status.stdout))

    def judge_leader(self, node, seen, known):
        name = known.name if known else None
        cluster = seen.cluster
        self.expect(f"/leaderz {seen.leaderz}",
                    node is known or not known or
                    f"{name} at 127.0.0.1:{known.port} leads".encode() in seen.leaderz[1])
        self.expect(f"a leader in /leaderz {seen.leaderz}",
                    known or not re.search(rb"n\d at \S+ leads", seen.leaderz[1]))
        self.expect(f"leader {cluster['leader']}", cluster["leader"] == name)
        roles = [one["name"] for one in cluster["nodes"] if one["role"] == "leader"]
        self.expect(f"in the role of leader: {roles}", roles == ([name] if known else []))
        self.expect("fairlock_fleet_nodes",
                    seen.metrics['fairlock_fleet_nodes{role="leader"}'] == len(roles))
        self.expect(f"Sentinel {seen.sentinel}",
                    seen.sentinel == ([b"127.0.0.1", str(known.port).encode()] if known else None))
        status = seen.fleet_status
        self.expect(f"cluster status {status}", status.returncode == (DONE if known else NO))
        self.expect(f"cluster status {status}", seen.named_leader() == (name or "none"))
        self.expect(f"no age in {status}", re.search(r"saw it [\d.]+\w+ ago$", status.stdout, re.M))
        if known:
            return
        self.expect(f"last leader {cluster['last_leader']}", cluster["last_leader"])
        self.expect(f"heard {cluster['leader_heard_ms']}", cluster["leader_heard_ms"] is not None)
        self.expect(f"no age of the leader in {status}",
                    re.search(r"^leader  none, epoch \d+; n\d led last, and .* [\d.]+\w+ ago$",
                              status.stdout, re.M))

    def judge_dead(self, seen, alive):
        """A list that is not old shows those who are dead as lost, or no more."""
        if seen.cluster["error"] is None:
            shown = {one["name"] for one in seen.cluster["nodes"] if one["role"] != "lost"}
            self.expect(f"shown as alive: {shown}", shown <= alive)

    def judge_etcd(self, node, seen):
        down = self.state.down.get(self.fleet.kind(node), set())
        shown = {number for number, member in enumerate(seen.cluster["etcd"]) if member["error"]}
        self.expect(f"etcd {seen.cluster['etcd']}", shown == down | node.foreign)
        for number, endpoint in enumerate(node.endpoints):
            is_up = seen.metrics.get(f'fairlock_etcd_member_up{{endpoint="{endpoint}"}}')
            self.expect(f"member_up {endpoint}: {is_up}",
                        is_up == (number not in down | node.foreign))
        is_cut_off = 2 * len(down) > len(self.fleet.members)
        self.expect(f"error {seen.cluster['error']}", bool(seen.cluster["error"]) == is_cut_off)
        self.expect(f"in sync {seen.metrics['fairlock_fleet_in_sync']}",
                    seen.metrics["fairlock_fleet_in_sync"] == (not is_cut_off))
        if not is_cut_off:
            return
        self.expect(f"age {seen.cluster['age_ms']}", seen.cluster["age_ms"] > 1_000)
        for number in down:
            self.expect(f"no error of {node.endpoints[number]} in {seen.fleet_status.stdout}",
                        f"warning: the etcd member {node.endpoints[number]} does not serve: "
                        in seen.fleet_status.stdout)


def await_state(fleet, state):
    """Waits until all is true, twice in a row."""
    began = time.monotonic()
    judge = Judge(fleet, state)
    looks_right = 0
    while looks_right < 2:
        try:
            wrong = judge.look()
        except (OSError, resp.Ended, KeyError, ValueError) as error:
            wrong = [repr(error)]
        looks_right = 0 if wrong else looks_right + 1
        if wrong and time.monotonic() > began + SETTLE_SECONDS_MAX:
            raise AssertionError(f"{state.name}:\n" + "\n".join(wrong) + f"\n{fleet.logs()}")
        time.sleep(0.1)
    print(f"{time.monotonic() - began:5.1f} s  {state.name}", flush=True)


WHOLE = State("all is well", lambda fleet: None)


def run_chain(fleet, states):
    with fleet:
        fleet.old = fleet.await_leader()
        await_state(fleet, WHOLE)
        for state in states:
            state.make(fleet)
            await_state(fleet, state)
            if state.heal is not None:
                state.heal(fleet)
                fleet.await_members(START_SECONDS_MAX)
                fleet.await_whole(START_SECONDS_MAX)
                fleet.old = fleet.await_leader()


class BrokenFleet(unittest.TestCase):

    def test_every_surface_says_what_is_true(self):
        foreign = self.enterContext(Fleet(nodes=0, members=1, starts_nodes=False))
        chains = (chain_of_etcd(), chain_of_leaders(), chain_of_mistakes(foreign),
                  chain_of_restores())
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            runs = [pool.submit(run_chain, *chain) for chain in chains]
        for run in runs:
            with self.subTest():
                run.result()


if __name__ == "__main__":
    unittest.main()
