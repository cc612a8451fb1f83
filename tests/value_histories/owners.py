"""Clients that each have a database for themselves, so what they find there after a restart is
known exactly, but for the requests that have not been answered."""

import collections
import dataclasses

from replies import SLACK, matches
from value_model import Draft, Entry, MS, Ttl

PIPELINE_MAX = 12
STEP_MAX = 8
REFUSALS = ("CLUSTERDOWN", "LOADING", "STORAGE", "EXECABORT", "READONLY", "MOVED")


@dataclasses.dataclass
class Finding:
    rule: str
    where: str
    text: str

    def __str__(self):
        return f"{self.rule}: {self.where}: {self.text}"


@dataclasses.dataclass
class Step:
    """A request of one or more commands that are executed together. `state` is the one after
    it."""
    commands: list
    how: str  # "", "EXEC" or "EVAL"
    state: dict = None
    expected: object = None
    ttls: list = ()
    tokens: list = ()
    pending: object = None

    def words(self):
        return ["STEP", self.how, *self.commands] if self.how else self.commands[0]

    def execute_on(self, state, sent, unix_ahead_ms):
        draft = Draft(state, sent, unix_ahead_ms)
        replies = [draft.run(words) for words in self.commands]
        self.expected = replies if self.how else replies[0]
        self.state, self.ttls, self.tokens = draft.state, draft.ttls, draft.tokens
        return self

    def end_by(self, at):
        for ttl in self.ttls:
            ttl.end_by(at)


def is_refusal(reply):
    return isinstance(reply, dict) and reply.get("error", "").startswith(REFUSALS)


class Owner:
    """The client with this number has the database with this number."""

    def __init__(self, number, commands):
        self.number = number
        self.commands = commands
        self.state = {}  # after all requests that have been answered
        self.steps = collections.deque()  # sent, but not answered
        self.findings = []
        self.answered = 0
        self.executed_unanswered = 0

    def find(self, rule, text):
        self.findings.append(Finding(rule, f"database {self.number}", text))

    # The load

    def run(self, world):
        while True:
            if not world.is_up:
                yield 0.01
                continue
            try:
                link = world.connect()
            except OSError:
                yield 0.02
                continue
            yield link.ask("SELECT", self.number)
            while link.is_open and world.is_up:
                yield self.send_some(link, world)
                if not self.take_replies(world):
                    break
                yield world.chance.choice([0, 0, 0, 0.001, 0.02])
            while world.is_up and self.steps:
                yield 0.01  # the clients end with the server
            link.close()

    def send_some(self, link, world):
        for _ in range(world.chance.randint(1, PIPELINE_MAX)):
            step = self.make_step(world)
            self.steps.append(step)
            step.pending = link.ask(*step.words())
        return step.pending

    def make_step(self, world):
        state = self.steps[-1].state if self.steps else self.state
        how = world.chance.choice(["", "", "", "EXEC", "EVAL"])
        step = Step([], how)
        sent = world.now()
        for _ in range(world.chance.randint(2, STEP_MAX) if how else 1):
            unix_now_ms = sent // MS + world.unix_ahead_ms
            step.commands.append(self.commands.one(state, unix_now_ms, how != "EVAL"))
            state = step.execute_on(self.steps[-1].state if self.steps else self.state, sent,
                                    world.unix_ahead_ms).state
        return step

    def take_replies(self, world):
        """Compares the replies that have arrived. Returns False after a refusal."""
        is_refused = False
        while self.steps and self.steps[0].pending.is_done and not self.steps[0].pending.is_lost:
            step = self.steps.popleft()
            request = step.pending.request
            if is_refused:
                step.execute_on(self.state, request.sent, world.unix_ahead_ms)
            if world.is_fleet and is_refusal(request.reply):
                is_refused = True
                continue
            step.end_by(request.answered)
            self.answered += 1
            if not matches(step.expected, request.reply, request.sent, request.answered):
                self.find("wrong reply", f"{step.words()}: expected {step.expected}, "
                                         f"got {request.reply}")
            self.state = step.state
        if is_refused:
            state = self.state
            for step in self.steps:
                state = step.execute_on(state, step.pending.request.sent,
                                        world.unix_ahead_ms).state
        return not is_refused and not self.steps

    # The judgement

    def judge(self, found, life):
        """Compares the content that was found after a restart, a dict of keys to Found, with what
        the requests allow, and continues with what was found."""
        lost = list(self.steps)
        self.steps.clear()
        for step in lost:
            step.end_by(life.ended)
        states = [self.state, *(step.state for step in lost)]
        at = next((i for i, state in enumerate(states) if is_same(state, found, life)), None)
        if at is None:
            self._explain(states, lost, found, life)
        else:
            self.executed_unanswered += at
            if at > 0 and life.is_clean and not is_same(states[0], found, life):
                self.find("executed without an answer", f"{lost[at - 1].words()}, at a clean stop")
        self.state = {key: each.entry(states[at].get(key) if at is not None else None, life)
                      for key, each in found.items()}

    def _explain(self, states, lost, found, life):
        for state in states:
            if is_same(state, found, life, with_ttl=False):
                self.find("wrong time to live", differences(state, found, life))
                return
        for before, step in zip(states, lost):
            for count in range(1, len(step.commands)):
                half = Step(step.commands[:count], "EXEC")
                half.execute_on(before, step.pending.request.sent, 0)
                if is_same(half.state, found, life, with_ttl=False):
                    self.find("half a step", f"only {count} of {step.words()}")
                    return
        self.find("lost change", f"{differences(self.state, found, life)}; after {len(lost)} "
                                 f"unanswered: {differences(states[-1], found, life)}")


def is_same(state, found, life, with_ttl=True):
    return state.keys() == found.keys() and all(
        each.is_content_of(state[key]) and (not with_ttl or each.is_ttl_of(state[key], life))
        for key, each in found.items())


def differences(state, found, life):
    texts = []
    for key in sorted(state.keys() | found.keys()):
        old, new = state.get(key), found.get(key)
        if old is None or new is None or not new.is_content_of(old):
            texts.append(f"{key} was {old}, is {new}")
        elif not new.is_ttl_of(old, life):
            texts.append(f"{key} had {old.ttl and vars(old.ttl)}, has {new.ttl_ms} ms")
    return "; ".join(texts)


@dataclasses.dataclass
class Found:
    """What a client saw of a key after a restart, in the form of Entry.data."""
    kind: str
    data: object
    ttl_ms: int  # -1 if there is none
    sent: int
    answered: int

    def is_content_of(self, entry):
        if entry.kind != self.kind:
            return False
        if self.kind == "lock":
            known = entry.data.token.number
            return (self.data.owner, self.data.is_native) == (
                entry.data.owner, entry.data.is_native) and known in (None,
                                                                      self.data.token.number)
        if self.kind == "hash":
            return list(self.data.items()) == list(entry.data.items())
        return self.data == entry.data

    def is_ttl_of(self, entry, life):
        """No key expires early. After a crash, its time starts over; after a clean stop, it has as
        long as before."""
        if entry.ttl is None or self.ttl_ms < 0:
            return entry.ttl is None and self.ttl_ms == -1
        return (entry.ttl.lower - SLACK <= self.answered + self.ttl_ms * MS and
                self.sent + self.ttl_ms * MS <= latest(entry.ttl, life) + SLACK)

    def entry(self, old, life):
        """The entry with which the model continues; `old` is the one of the state before."""
        data = self.data
        if self.ttl_ms < 0:
            return Entry(self.kind, data)
        if old is None or old.ttl is None:
            left = self.ttl_ms * MS
            return Entry(self.kind, data, Ttl(left, self.sent + left, self.answered + left))
        return Entry(self.kind, data, Ttl(old.ttl.length, old.ttl.lower, latest(old.ttl, life)))


def latest(ttl, life):
    if life.is_clean:
        return ttl.upper + life.ready - life.ending
    return max(ttl.upper, life.ready + ttl.length)


