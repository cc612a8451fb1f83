"""A fleet of several partitions on a real etcd, as clients of Redis Cluster see it."""

import subprocess
import time

import own_fleet
import own_server
import resp

CREATE_SECONDS_MAX = 30


class PartitionedFleet(own_fleet.Fleet):
    """Used in a with statement. The nodes choose their partitions by themselves; those of one
    partition are on different machines."""

    def __init__(self, partitions=4, nodes_each=2, members=1, options=(), http=False):
        super().__init__(nodes=partitions * nodes_each, members=members, options=options,
                         starts_nodes=False, http=http)
        self.partitions = partitions
        self.nodes_each = nodes_each
        for number, node in enumerate(self.nodes):
            # Leaders change only when a test wants that.
            node.words += ["--cluster-machine", f"m{number % nodes_each}", "--cluster-balance", "0"]

    def __enter__(self):
        super().__enter__()
        try:
            subprocess.run([own_server.PROGRAM, "--cluster-etcd", self.endpoints, "--create-fleet",
                            str(self.partitions)], stdout=subprocess.DEVNULL,
                           timeout=CREATE_SECONDS_MAX, check=True)
            self.start_nodes()
            self.await_nodes(own_fleet.START_SECONDS_MAX)
            self.await_whole(own_fleet.START_SECONDS_MAX)
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_nodes(self):
        for node in self.nodes:
            node.start()

    def statuses(self):
        """Returns {node: its own CLUSTER STATUS} for the nodes that answer."""
        statuses = {}
        for node in self.nodes:
            if not node.is_running:
                continue
            try:
                with node.connect(1) as client:
                    statuses[node] = client.ask_map("CLUSTER", "STATUS")
            except (OSError, resp.Ended):
                pass
        return statuses

    def leaders(self):
        """Returns {partition: the node that now leads it}."""
        newest = {}
        for node, status in self.statuses().items():
            if status[b"role"] == b"leader":
                newest[status[b"partition"]] = max(
                    newest.get(status[b"partition"], (0, None)), (status[b"epoch"], node),
                    key=lambda found: found[0])
        return {partition: node for partition, (_, node) in newest.items()}

    def ranges(self):
        """Returns the (first, last) hash slot of each partition."""
        with self.nodes[0].connect() as client:
            return sorted(tuple(one[:2]) for one in client.ask("CLUSTER", "SLOTS"))

    def partition_of(self, key):
        with self.nodes[0].connect() as client:
            slot = client.ask("CLUSTER", "KEYSLOT", key)
        return next(partition for partition, (first, last) in enumerate(self.ranges())
                    if first <= slot <= last)

    def is_whole(self):
        """Whether every partition has its number of nodes, all in sync, and every node knows every
        leader."""
        statuses = self.statuses()
        if len(statuses) < len(self.nodes):
            return False
        for status in statuses.values():
            nodes = [dict(zip(one[::2], one[1::2])) for one in status[b"nodes"]]
            for partition in range(self.partitions):
                own = [one for one in nodes if one[b"partition"] == partition]
                roles = [one[b"role"] for one in own]
                if len(own) != self.nodes_each or roles.count(b"leader") != 1:
                    return False
                if not all(one[b"in_sync"] for one in own if one[b"role"] == b"standby"):
                    return False
        return True

    def await_whole(self, seconds):
        end = time.monotonic() + seconds
        while not self.is_whole():
            if time.monotonic() > end:
                raise AssertionError(f"the fleet is not whole: {self.logs()}")
            time.sleep(0.05)
