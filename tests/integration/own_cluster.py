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
            self.await_whole(own_fleet.START_SECONDS_MAX)
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_nodes(self):
        for node in self.nodes:
            node.start()

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
