"""A fleet for a test in another language. Prints the ports of its Sentinels. Each line on stdin
kills the leader and starts it again, and is answered by a line once another node leads."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests" / "integration"))
from own_fleet import Fleet  # noqa: E402

with Fleet(nodes=3, members=1) as fleet:
    print(json.dumps([node.sentinel_port for node in fleet.nodes]), flush=True)
    for _ in sys.stdin:
        leader = fleet.await_leader()
        leader.kill()
        fleet.await_leader()
        leader.start()
        print("failed over", flush=True)
