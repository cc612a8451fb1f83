"""Takes and releases locks with a library of clients/, through its conformance driver.

    library_worker.py COMMAND...

    COMMAND  starts the driver

worker.md describes the environment, the work and the output.
"""

import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from driver import Driver  # noqa: E402

OWNER = os.environ["OWNER"]
KEYS = os.environ["KEYS"].split(",")
OPERATIONS = {"LOCK": "acquire", "CHECK": "check", "UNLOCK": "release"}
LEASE_SECONDS = 30
WAIT_SECONDS = 10
REPLY_SECONDS_MAX = 60
is_over = threading.Event()
writing = threading.Lock()


def microseconds():
    return time.monotonic_ns() // 1000


def write(op, key, begun, **outcome):
    line = json.dumps({"op": op, "key": key, "begun": begun, "ended": microseconds(), **outcome})
    with writing:
        print(line, flush=True)


def outcome_of(fields):
    """What a server would have replied to the command itself."""
    if fields is None:
        return {"error": f"no reply within {REPLY_SECONDS_MAX} s"}
    if "token" in fields:
        return {"reply": fields["token"]}
    if "error" not in fields:
        return {"reply": 1}
    if fields["error"] in ("Denied", "LostHold"):
        return {"reply": None if fields["error"] == "Denied" else 0}
    return {"error": f"{fields['error']}: {fields.get('text')}"}


class Worker:

    def __init__(self, driver):
        self.driver = driver
        self.starting = threading.Lock()
        self.reported = 0

    def ask(self, op, key, **fields):
        """Repeats the request until it is answered."""
        while True:
            begun = microseconds()
            with self.starting:
                number = self.driver.start(OPERATIONS[op], **fields)
            outcome = outcome_of(self.driver.reply(number, REPLY_SECONDS_MAX))
            write(op, key, begun, **outcome)
            if "reply" in outcome:
                return outcome["reply"]
            time.sleep(0.01)

    def lock(self, key, hold, channel=False):
        return self.ask("LOCK", key, hold=hold, keys=[key], lease=LEASE_SECONDS, wait=WAIT_SECONDS,
                        channel=channel)

    def report_lost(self):
        """A callback about a lost hold counts as the answer that it is not held."""
        for event in self.driver.events[self.reported:]:
            self.reported += 1
            write("CHECK", f"{event['event']}: {event['hold']}", microseconds(), reply=0)

    def work(self, keys):
        turn = 0
        while not is_over.is_set():
            key = keys[turn % len(keys)]
            hold = f"{key}:{turn}"
            if self.lock(key, hold, channel=turn % 2 == 1) is not None:
                time.sleep(0.005)
                self.ask("CHECK", key, hold=hold)
                self.ask("UNLOCK", key, hold=hold)
            turn += 1
            time.sleep(0.05)

    def run(self):
        held_key = f"{OWNER}:held"
        self.lock(held_key, "held")
        other = threading.Thread(target=self.work, args=(KEYS,))
        other.start()
        self.work([f"{OWNER}:own"])
        other.join()
        self.ask("CHECK", held_key, hold="held")
        self.report_lost()


def main():
    if os.environ["MODE"] == "sentinel":
        environment = {"FAIRLOCK_SENTINELS": os.environ["SENTINELS"]}
    else:
        environment = {"FAIRLOCK_URL": f"redis://{os.environ['NODE']}"}
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    with tempfile.NamedTemporaryFile(prefix="fairlock-driver-") as log:
        language = types.SimpleNamespace(name=OWNER, command=sys.argv[1:])
        driver = Driver(language, environment, pathlib.Path(log.name))
        try:
            Worker(driver).run()
        finally:
            driver.close()
            sys.stderr.write(driver.errors())


main()
