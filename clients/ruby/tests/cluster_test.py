"""Runs cluster_cases.rb with a fleet of two partitions, whose leaders it can have killed."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "integration"))

import own_server  # noqa: E402
from own_cluster import PartitionedFleet  # noqa: E402
from own_redis import Redis  # noqa: E402

WHOLE_SECONDS_MAX = 60
PASSWORD = "keeps its secrets"
# An application's user, as docs/SECURITY.md recommends it, with what the gem needs for a cluster.
USERS = """user default on nopass ~* owner:* &* +@all
user app on {hash} ~* owner:* resetchannels &fairlock:* +@lock +@connection +subscribe {more}
"""
MORE = "+unsubscribe +cluster|slots +cluster|nodes +command"


def obey(fleet, order):
    """Kills the leader of a key's partition; or starts such nodes again; or hands over."""
    verb, *key = order.split()
    if verb == "heal":
        for node in fleet.nodes:
            if not node.is_running:
                node.start()
        fleet.await_whole(WHOLE_SECONDS_MAX)
        return
    leader = fleet.leaders()[fleet.partition_of(key[0])]
    if verb == "kill":
        leader.kill()
    elif verb == "fail_over":
        with leader.connect() as client:
            assert client.ask("CLUSTER", "FAILOVER") == "OK"


class ClusterCases(unittest.TestCase):

    def test_with_the_gems_cluster_client(self):
        with tempfile.NamedTemporaryFile("w") as users:
            users.write(USERS.format(hash=own_server.hash_of(PASSWORD), more=MORE))
            users.flush()
            self.run_cases("--acl-file", users.name)

    def run_cases(self, *options):
        with (PartitionedFleet(partitions=2, members=1, options=options) as fleet,
              Redis() as redis):
            orders, to_orders = os.pipe()
            from_answers, answers = os.pipe()
            addresses = ",".join(f"127.0.0.1:{node.port}" for node in fleet.nodes)
            child = subprocess.Popen(
                [os.environ.get("RUBY", "/usr/bin/ruby"), str(HERE / "cluster_cases.rb"),
                 *sys.argv[1:]],
                env={**os.environ, "NODES": addresses, "REDIS_PORT": str(redis.port),
                     "PASSWORD": PASSWORD, "ORDERS": str(to_orders),
                     "ANSWERS": str(from_answers)},
                pass_fds=(to_orders, from_answers))
            os.close(to_orders)
            os.close(from_answers)
            try:
                with os.fdopen(orders) as lines, os.fdopen(answers, "w") as replies:
                    for line in lines:
                        obey(fleet, line)
                        print("done", file=replies, flush=True)
                self.assertEqual(child.wait(timeout=60), 0)
            finally:
                child.kill()
                child.wait()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
