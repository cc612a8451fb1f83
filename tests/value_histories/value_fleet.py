"""A fleet on etcd, whose leader is killed or hands over."""

import signal

from own_fleet import Fleet

LEADER_SECONDS_MAX = 30


class FleetOfNodes:
    """For value_load.Load. Used in a with statement."""

    is_fleet = True

    def __init__(self, nodes=3):
        self.fleet = Fleet(nodes=nodes)
        self.leader = None

    def __enter__(self):
        self.fleet.__enter__()
        self.leader = self.fleet.await_leader()
        return self

    def __exit__(self, *failure):
        self.fleet.__exit__(*failure)

    def ports(self):
        return [self.leader.port]

    def connect(self):
        return self.leader.connect()

    def end(self, how):
        self.leader.process.send_signal(signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
        return self.leader.process

    def start(self, _how):
        """Waits for the next leader, then starts the node that ended."""
        ended = self.leader
        self.leader = self.fleet.await_leader(LEADER_SECONDS_MAX)
        ended.start()
