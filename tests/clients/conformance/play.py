"""Plays one case: performs its steps with a driver for each participant."""

import collections
import time

import case_file
from driver import Ended
from link import Fault

WAITS_SECONDS = 0.05
POLL_SECONDS = 0.01
# A renewal comes after a third of the lease, and prolongs it by as much. A smaller difference only
# shows that an answer took longer than the one before.
RENEWAL_SECONDS_MIN = 1.5
RATES_MAX = 5
PROGRESS_MAX = 10
OTHER = "other"  # an owner that is no driver
FREE = (0, [])
# An idle channel sends them: PUBLISH is how Ruby's asks for a message.
KEEPALIVES = ("ping", "publish")


class Failed(Exception):
    """What was expected did not happen."""


class Unsupported(Exception):
    """The language of a participant has no such thing."""


class Play:
    """One run of a case."""

    def __init__(self, case, run, server, drivers, patience, stretch=1):
        self.case = case
        self.run_number = run
        self.server = server
        self.drivers = drivers      # {participant: Driver}
        # Seconds, for whatever must happen. A reply may take longer while locks are released.
        self.patience = patience
        self.stretch = stretch if case.stretched else 1
        self.figures = []           # what each `during` has counted, as text
        self.pending = {}           # {label: (participant, number, key)}
        self.first_keys = {}        # {(participant, hold): the first of its keys}
        self.tokens = {}            # {(participant, hold): its token}
        self.faults = {}            # {(participant, name of a request): the newest fault of it}
        # {partition: token}: a single server is one partition.
        self.newest_tokens = collections.Counter()

    def run(self):
        try:
            for step in self.case.steps:
                try:
                    self.perform(step)
                except (Failed, Ended, AssertionError, OSError) as failure:
                    raise Failed(f"{step}: {failure}") from failure
        finally:
            for participant, _ in self.faults:
                self.drivers[participant].link.heal()

    def perform(self, step):
        if step.verb in self.pending and step.actor is None:
            participant, number, key, hold = self.pending.pop(step.verb)
            self.expect(self.await_reply(participant, number), step, key, hold)
        elif step.actor is None:
            getattr(self, f"on_{step.verb}")(step)
        elif step.verb in OWN_VERBS:
            getattr(self, f"on_{step.verb}")(step)
        else:
            self.ask_driver(step)

    def ask_driver(self, step):
        driver = self.drivers[step.actor]
        fields = self.fields(step)
        number = driver.start(step.verb, **fields)
        hold = (step.actor, fields.get("hold"))
        if "keys" in fields:
            self.first_keys[hold] = fields["keys"][0]
        key = self.first_keys.get(hold)
        if step.verb == "transfer":  # a transfer replies with the token of another hold
            hold = None
        if step.label:
            self.pending[step.label] = (step.actor, number, key, hold)
        else:
            self.expect(self.await_reply(step.actor, number), step, key, hold)

    def key(self, word):
        name = f"{self.case.name}:{self.run_number}"
        return f"{{{name}}}:{word}" if self.case.one_slot else f"{name}:{word}"

    def fields(self, step):
        """The fields of a request to a driver."""
        words, fields = list(step.words), dict(step.options)
        names = {"work": ("key",), "rate": (), "cancel": ("acquire",),
                 "transfer": ("hold", "to")}.get(step.verb, ("hold", "keys"))
        fields.update(zip(names, words))
        for name in fields.keys() & {"lease", "wait"}:
            fields[name] *= self.stretch
        if "hold" in fields:
            fields["hold"] = self.hold(fields["hold"])
        if "key" in fields:
            fields["key"] = self.key(fields["key"])
        if "keys" in fields:
            fields["keys"] = [self.key(word) for word in fields["keys"].split(",")]
        if "acquire" in fields:
            fields["acquire"] = self.pending[fields["acquire"]][1]
        return fields

    def hold(self, word):
        return f"{self.case.name}:{self.run_number}:{word}"

    def await_reply(self, participant, number):
        driver = self.drivers[participant]
        released = -1
        for _ in range(PROGRESS_MAX):
            fields = driver.reply(number, self.patience / 2)
            if fields is not None or released == (released := self.released()):
                break
        if fields is None:
            raise Failed(f"{participant} ({driver.language}) gave no reply")
        if fields.get("error") == "Unsupported":
            raise Unsupported(str(driver.language))
        return fields

    def released(self):
        """How many locks have been released: under load, hundreds of them take long."""
        return self.server.counts().get("unlock", 0)

    def expect(self, fields, step, key=None, hold=None):
        words = step.expected
        if words is None:
            words = [] if "error" not in fields else ["no", "error"]
        wrong = case_file.mismatch(fields, [word for word in words if word != "same"])
        token = fields.get("token")
        if wrong is None and token is not None:
            self.tokens[hold] = token
            wrong = self.judge_token(token, key, "same" in words)
        if wrong:
            raise Failed(f"{wrong}: {fields}")

    def judge_token(self, token, key, is_same):
        """Each grant has a greater token than all before it in the partition, unless the step asks
        about one."""
        partition = self.server.partition_of(key)
        newest = self.newest_tokens[partition]
        if is_same:
            return None if token == newest else f"not token {newest}"
        if token <= newest:
            return f"not a greater token than {newest}"
        self.newest_tokens[partition] = token
        return None

    # The verbs that need no driver, or more than one request.

    def on_other(self, step):
        """other takes K, other releases K: an owner that is no driver."""
        what, key = step.words
        if what == "takes":
            token = self.server.ask("LOCK", self.key(key), OTHER, "PX", 600_000)
            self.newest_tokens[self.server.partition_of(self.key(key))] = token
        elif self.server.ask("UNLOCK", self.key(key), OTHER) != 1:
            raise Failed("it did not hold the lock")

    def on_break(self, step):
        if self.server.ask("BREAK", self.key(step.words[0])) != 1:
            raise Failed("there was no hold")

    def on_sleep(self, step):
        time.sleep(float(step.words[0]))

    def until(self, condition, state):
        end = time.monotonic() + self.patience
        while not condition():
            if time.monotonic() > end:
                raise Failed(f"still {state()}")
            time.sleep(POLL_SECONDS)

    def waiters(self, key):
        """Owners that wait, and the owners of places that are kept for them."""
        return [place[place.index(b"owner") + 1] for place in self.server.ask("QUEUE", key)]

    def state(self, key):
        return self.server.ask("LOCKED", key), self.waiters(key)

    def on_waiters(self, step):
        """waiters K N: waits until N owners are in the queue of K."""
        key, count = self.key(step.words[0]), int(step.words[1])
        self.until(lambda: len(self.waiters(key)) == count, lambda: self.waiters(key))

    def on_free(self, step):
        """free K: waits until there is neither a hold nor a place."""
        for word in step.words:
            key = self.key(word)
            self.until(lambda key=key: self.state(key) == FREE, lambda key=key: self.state(key))

    def on_held(self, step):
        if self.server.ask("LOCKED", self.key(step.words[0])) == 0:
            raise Failed("it is not held")

    def on_renewed(self, step):
        """renewed K...: waits until the hold's lease has been prolonged since this step began."""
        keys = [self.key(word) for word in step.words]
        ends = {key: self.lease_end(key) for key in keys}
        self.until(lambda: all(self.lease_end(key) > ends[key] + RENEWAL_SECONDS_MIN
                               for key in keys),
                   lambda: {key: self.lease_end(key) - ends[key] for key in keys})

    def lease_end(self, key):
        """When the lease of the hold ends; late by the time that the answer takes."""
        left_ms = self.server.ask("PTTL", key)
        if left_ms < 0:
            raise Failed("it is not held")
        return time.monotonic() + left_ms / 1000

    def on_outage(self, step):
        self.server.outage(step.words[0], self.key("k"))

    def on_during(self, step):
        """during S -> COMMAND=CALLS: what the server executes, and what a participant sends."""
        seconds = float(step.words[0]) * self.stretch
        before = self.counts()
        time.sleep(seconds)
        after = self.counts()
        grown = {name: after.get(name, 0) - before.get(name, 0)
                 for name in {*after, *(word.split("=")[0] for word in step.expected)}}
        grown.update({f"{name}.keepalive_hz": grown[f"{name}.keepalives"] / seconds
                      for name, driver in self.drivers.items() if driver.link})
        counted = {name: count for name, count in grown.items() if count}
        self.figures.append(f"in {seconds:g} s: {counted}")
        wrong = case_file.mismatch(grown, step.expected)
        if wrong:
            raise Failed(f"{wrong}: {counted}")

    def counts(self):
        """How often the server has executed each command, and each participant has sent it."""
        found = dict(self.server.counts())
        for name, driver in self.drivers.items():
            if driver.link:
                sent = collections.Counter(driver.link.requests)
                found.update({f"{name}.{command}": count for command, count in sent.items()})
                found[f"{name}.keepalives"] = sum(sent[command] for command in KEEPALIVES)
                found[f"{name}.requests"] = sent.total() - found[f"{name}.keepalives"]
        return found

    def on_pending(self, step):
        """LABEL... have no reply yet."""
        time.sleep(WAITS_SECONDS)
        for label in step.words:
            participant, number, *_ = self.pending[label]
            fields = self.drivers[participant].reply(number, 0)
            if fields is not None:
                raise Failed(f"{label} has a reply: {fields}")

    def on_stop(self, step):
        self.drivers[step.actor].stop()

    def on_continue(self, step):
        self.drivers[step.actor].resume()

    def on_cut(self, step):
        if self.drivers[step.actor].link.cut() == 0:
            raise Failed("there was no connection")

    def on_next(self, step):
        """a next COMMAND FAULT: what happens to the next such requests, once they are sent."""
        name, *words = step.words
        options = dict(step.options)
        times = options.pop("times", 1)
        faults = [Fault(**dict.fromkeys(words, True), **options) for _ in range(times)]
        self.faults[(step.actor, name)] = faults[0]
        self.drivers[step.actor].link.spoil(name, faults)

    def on_sent(self, step):
        """a sent COMMAND: waits until the participant has sent the request with the fault."""
        self.await_fault(step, self.faults[(step.actor, step.words[0])].is_sent)

    def on_executed(self, step):
        """a executed COMMAND: waits until the server has replied to the request with the fault."""
        self.await_fault(step, self.faults[(step.actor, step.words[0])].is_executed)

    def await_fault(self, step, event):
        if not event.wait(self.patience):
            raise Failed(f"{step.actor} sent no {step.words[0]}")

    def on_honest(self, step):
        """a honest H seconds=S: asks again and again whether it is held; if so, the server says
        that its token holds the key."""
        driver, hold = self.drivers[step.actor], self.hold(step.words[0])
        key, token = self.first_keys[step.actor, hold], self.tokens[step.actor, hold]
        end = time.monotonic() + step.options["seconds"]
        while time.monotonic() < end:
            fields = self.await_reply(step.actor, driver.start("check", hold=hold))
            if "ok" in fields and self.server.ask("CHECK", key, token) != 1:
                raise Failed(f"it says that it is held, but {self.state(key)}")
            time.sleep(POLL_SECONDS)

    def on_lease(self, step):
        """lease K -> left=LOW..HIGH: how much of the lease of its hold is left at the server."""
        left_ms = self.server.ask("PTTL", self.key(step.words[0]))
        self.expect({"left": left_ms / 1000}, step)

    def on_lost(self, step):
        """a lost H: waits for the event, which must come only once."""
        driver, hold = self.drivers[step.actor], self.hold(step.words[0])
        seconds = step.options.get("within", self.patience)
        count = driver.await_event("lost", hold, seconds)
        if count != 1:
            raise Failed(f"the event came {count} times in {seconds} s")

    def on_keeps(self, step):
        """a keeps H: no such event has come."""
        if self.drivers[step.actor].count_events("lost", self.hold(step.words[0])):
            raise Failed("it was reported as lost")

    def on_rate(self, step):
        """a rate: measured again if other programs may have taken the processors meanwhile."""
        driver = self.drivers[step.actor]
        for _ in range(RATES_MAX):
            fields = self.await_reply(step.actor, driver.start("rate", **step.options))
            fields["ratio"] = fields["library"] / fields["raw"]
            fields["fast_enough"] = fields["ratio"] >= driver.language.ratio_min
            if fields["fast_enough"]:
                break
        self.expect(fields, step)

    def on_cancels(self, step):
        """a cancels K: many acquisitions, each cancelled a little later than the one before.

        With `taken`, another owner releases the lock at about the time of the cancellation.
        """
        driver, key = self.drivers[step.actor], self.key(step.words[0])
        options = dict(step.options)
        times, within = options.pop("times"), options.pop("within")
        is_taken = options.pop("taken", False)
        for number in range(times):
            if is_taken:
                self.server.ask("LOCK", key, OTHER, "PX", 600_000)
            hold = self.hold(f"cancelled:{number}")
            asked = driver.start("acquire", hold=hold, keys=[key], wait=20, **options)
            time.sleep(within / 2)
            cancel_after = within * (number / times - 0.5)
            if is_taken and cancel_after >= 0:
                self.server.ask("UNLOCK", key, OTHER)
            time.sleep(abs(cancel_after))
            cancelled = driver.start("cancel", acquire=asked)
            if is_taken and cancel_after < 0:
                self.server.ask("UNLOCK", key, OTHER)
            self.await_reply(step.actor, cancelled)
            self.end_cancelled(step.actor, asked, hold, key)

    def end_cancelled(self, participant, asked, hold, key):
        fields = self.await_reply(participant, asked)
        if "token" in fields:
            released = self.drivers[participant].start("release", hold=hold)
            self.await_reply(participant, released)
        elif fields["error"] != "Cancelled":
            raise Failed(f"not Cancelled: {fields}")
        if self.state(key) != FREE:
            raise Failed(f"left behind {self.state(key)} after {fields}")


# Verbs of a participant that are no operation of its driver.
OWN_VERBS = ("stop", "continue", "cut", "next", "sent", "executed", "honest", "lost", "keeps",
             "rate", "cancels")
