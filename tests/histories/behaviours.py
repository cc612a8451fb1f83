"""The behaviours of a load's clients. Each is a task that runs until the load ends."""

import collections
import dataclasses
import random

LEASES_MS = (120, 400, 2_000, 20_000, 60_000, 300_000)
WAITS_MS = (20, 100, 400, 2_000, 10_000, 20_000)
RECENT_TOKENS = 400
LONGEST_HOLD = 0.06


@dataclasses.dataclass
class World:
    """The state that the tasks of a load share."""
    loop: object
    chance: random.Random
    segment: str
    address: tuple = None
    life: int = 0
    is_up: bool = False
    owners: int = 0
    told: collections.deque = dataclasses.field(
        default_factory=lambda: collections.deque(maxlen=RECENT_TOKENS))
    unended: dict = dataclasses.field(default_factory=dict)
    waiting: dict = dataclasses.field(default_factory=dict)

    def new_owner(self, kind="o"):
        self.owners += 1
        return f"{self.segment}.{kind}{self.owners}"

    def keys(self):
        return [f"{self.segment}.{kind}" for kind in
                ("plain1", "plain2", "mixed1", "mixed2", "mixed3", "slots", "kept")]

    def key(self, *kinds):
        return f"{self.segment}.{self.chance.choice(kinds)}"

    def tell(self, keys, token):
        for key in keys:
            self.told.append((key, token))
            self.unended[key, token] = True

    def connect(self):
        """Part of a task: waits until the server is up, and connects."""
        while True:
            if self.is_up:
                try:
                    return self.loop.connect(self.address, self.life)
                except OSError:
                    pass
            yield 0.01


@dataclasses.dataclass
class Attempt:
    """One owner's requests for a lock, and what it does with the lock."""
    world: World
    link: object
    keys: list
    owner: str
    options: list
    lease_ms: int

    def words(self):
        name = ["LOCK"] if len(self.keys) == 1 else ["MLOCK", len(self.keys)]
        return [*name, *self.keys, self.owner, "PX", self.lease_ms, *self.options]

    def of_all(self, name, *more):
        if len(self.keys) == 1:
            return [name, self.keys[0], self.owner, *more]
        return ["M" + name, len(self.keys), *self.keys, self.owner, *more]

    @property
    def is_session(self):
        return "SESSION" in self.options

    @property
    def is_shared(self):
        return "SHARED" in self.options


def reconnect(attempt):
    attempt.link = yield from attempt.world.connect()


def hold(attempt, token):
    """Part of a task: keeps a hold for a while, then ends it in one of many ways."""
    world, chance = attempt.world, attempt.world.chance
    world.tell(attempt.keys, token)
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        yield chance.uniform(0, LONGEST_HOLD)
        if not attempt.link.is_open:
            yield from reconnect(attempt)
            if attempt.is_session:
                yield attempt.link.ask(*attempt.words())
        yield attempt.link.ask(*use_of(attempt, token))
    yield from end_hold(attempt, token)
    for key in attempt.keys:
        world.unended.pop((key, token), None)


def use_of(attempt, token):
    chance = attempt.world.chance
    key = chance.choice(attempt.keys)
    lease_ms = chance.choice((attempt.lease_ms, 400, 60_000))
    return chance.choice((
        attempt.of_all("RENEW", "PX", lease_ms), attempt.of_all("RENEW", "PX", lease_ms),
        ["RENEW", key, attempt.owner, "PX", lease_ms, "TOKEN", token],
        ["CHECK", key, token], ["LOCKED", key, attempt.owner], ["POSITION", key, attempt.owner],
        attempt.words()))


def end_hold(attempt, token):
    chance = attempt.world.chance
    if attempt.lease_ms <= 400 and chance.random() < 0.5:
        yield attempt.lease_ms / 1000 * chance.uniform(0.5, 1.2)
        if attempt.link.is_open:
            yield attempt.link.ask("CHECK", attempt.keys[0], token)
        return
    if chance.random() < 0.12 and len(attempt.keys) == 1:
        yield from transfer(attempt, token)
        return
    if attempt.is_session and chance.random() < 0.4:
        attempt.link.close(chance.choice(("close", "reset", "half")))
        attempt.link.close()
        return
    if len(attempt.keys) > 1 and chance.random() < 0.3:
        for key in attempt.keys:
            yield from surely(attempt, "UNLOCK", key, attempt.owner)
        return
    more = ["TOKEN", token] if chance.random() < 0.5 else []
    yield from surely(attempt, *attempt.of_all("UNLOCK", *more))


def surely(attempt, *words):
    """Part of a task: repeats a request until it is answered, on new connections if necessary."""
    for _ in range(5):
        if not attempt.link.is_open:
            yield from reconnect(attempt)
        pending = yield attempt.link.ask(*words)
        if not pending.is_lost:
            return pending.reply
    return None


def transfer(attempt, token):
    world, key = attempt.world, attempt.keys[0]
    others = [owner for owner, (wanted, _) in world.waiting.items() if wanted == key]
    heir = world.new_owner("heir")
    if others and world.chance.random() < 0.3:
        heir = world.chance.choice(others)
    lease = ["PX", world.chance.choice((400, 20_000))] if world.chance.random() < 0.6 else []
    pending = yield attempt.link.ask("TRANSFER", key, attempt.owner, heir, *lease)
    if isinstance(pending.reply, int):
        world.tell([key], pending.reply)
        yield world.chance.uniform(0, LONGEST_HOLD)
        attempt.owner = heir
        yield from surely(attempt, "UNLOCK", key, heir)
        world.unended.pop((key, pending.reply), None)
    elif pending.is_lost:
        yield from surely(attempt, "UNLOCK", key, attempt.owner, "TOKEN", token)
        yield from surely(attempt, "UNLOCK", key, heir)


def ask_and_hold(attempt, patience):
    """Part of a task: requests a lock, again if the connection is lost, and holds it."""
    world, chance = attempt.world, attempt.world.chance
    for _ in range(4):
        if not attempt.link.is_open or attempt.link.is_half_closed:
            attempt.link.close()
            yield from reconnect(attempt)
        if len(attempt.keys) == 1:
            world.waiting[attempt.owner] = (attempt.keys[0], attempt.link.number)
        pending = yield attempt.link.ask(*attempt.words()), patience
        if not pending.is_done:
            yield from lose_patience(attempt, pending)
        world.waiting.pop(attempt.owner, None)
        if isinstance(pending.reply, int):
            yield from hold(attempt, pending.reply)
            return
        is_kept = pending.request.is_answered and pending.reply is None and (
            "KEEP" in attempt.options)
        if is_kept:
            yield chance.uniform(0.01, 0.1)
        elif not pending.is_lost or chance.random() < 0.3:
            break
    yield from give_up(attempt)


def give_up(attempt):
    """Usually releases without a token, which ends whatever the lost requests may have been
    granted."""
    if attempt.world.chance.random() < 0.9:
        yield from surely(attempt, *attempt.of_all("UNLOCK"))


def lose_patience(attempt, pending):
    world, chance = attempt.world, attempt.world.chance
    key = attempt.keys[0]
    way = chance.choice(("reset", "half", "close", "CANCEL", "again", "stay", "stay"))
    if way in ("reset", "close"):
        attempt.link.close(way)
    elif way == "half":
        attempt.link.close(way)
        yield pending, 1
        attempt.link.close()
    elif way in ("CANCEL", "again"):
        other = yield from world.connect()
        words = ["CANCEL", key, attempt.owner] if way == "CANCEL" else attempt.words()
        asked = other.ask(*words)
        yield asked, 2
        if isinstance(asked.reply, int) and way == "again":
            other, attempt.link = attempt.link, other
            yield from hold(attempt, asked.reply)
        other.close()
        yield pending, 0.1
    else:
        yield pending, 3
    if not pending.is_done:
        attempt.link.close("reset")


def options_of(chance, modes):
    mode = chance.choice(modes)
    options = {"one": [], "shared": ["SHARED"], "two": ["LIMIT", 2], "three": ["LIMIT", 3]}[mode]
    options = list(options)
    wait_ms = chance.choice(WAITS_MS)
    if chance.random() < 0.85:
        options += ["WAIT", f"{wait_ms}ms" if chance.random() < 0.9 else "FOREVER"]
    return options


def more_options(chance):
    options = []
    if chance.random() < 0.2:
        options += ["SESSION"] + (["GRACE", f"{chance.choice((50, 1000))}ms"]
                                  if chance.random() < 0.5 else [])
    if chance.random() < 0.1:
        options += ["MINHOLD", f"{chance.choice((20, 100, 250))}ms"]
    if chance.random() < 0.1:
        options += ["KEEP", f"{chance.choice((100, 1000))}ms"]
    return options


def patience_of(chance):
    return chance.choice((0.02, 0.1, 0.5, 2, 5))


def locker(world):
    """LOCK of one key, in all its forms."""
    chance = world.chance
    link = yield from world.connect()
    while True:
        kind = chance.choice(("plain1", "plain2", "mixed1", "mixed2", "mixed3", "slots", "own"))
        modes = ("one",) if kind.startswith("plain") else (
            ("one", "two", "two", "three", "three") if kind == "slots" else
            ("one", "one", "shared", "shared", "two"))
        options = options_of(chance, modes)
        if not kind.startswith("plain"):
            options += more_options(chance)
        owner = world.new_owner()
        key = world.key(kind) if kind != "own" else f"{owner}.own"
        attempt = Attempt(world, link, [key], owner, options, chance.choice(LEASES_MS))
        yield from ask_and_hold(attempt, patience_of(chance))
        link = attempt.link
        yield chance.uniform(0, 0.02)


def multi_locker(world):
    """MLOCK of two or three keys, including keys that others LOCK."""
    chance = world.chance
    link = yield from world.connect()
    while True:
        owner = world.new_owner("multi")
        keys = chance.sample(["mixed1", "mixed2", "mixed3", "slots"], chance.choice((2, 2, 3)))
        keys = [world.key(key) for key in keys] + ([f"{owner}.own"] if chance.random() < 0.3
                                                   else [])
        options = options_of(chance, ("one", "one", "shared", "two")) + more_options(chance)
        attempt = Attempt(world, link, keys, owner, options, chance.choice(LEASES_MS))
        yield from ask_and_hold(attempt, patience_of(chance))
        link = attempt.link
        yield chance.uniform(0, 0.03)


def nested_locker(world):
    """An owner whose SESSION holds one key while it waits for another."""
    chance = world.chance
    while True:
        link = yield from world.connect()
        owner = world.new_owner("nested")
        first = [f"{owner}.own"] if chance.random() < 0.5 else [world.key("mixed1", "mixed2")]
        got = yield link.ask("LOCK", first[0], owner, "PX", 60_000, "WAIT", "200ms", "SESSION")
        if isinstance(got.reply, int):
            world.tell(first, got.reply)
            second = Attempt(world, link, [world.key("mixed3", "slots")], owner,
                             options_of(chance, ("one", "shared")), 20_000)
            yield from ask_and_hold(second, patience_of(chance))
            world.unended.pop((first[0], got.reply), None)
            link = second.link
        if link.is_open:
            yield link.ask("UNLOCK", first[0], owner)
        link.close(chance.choice(("close", "reset")))
        yield chance.uniform(0, 0.05)


def keeper(world):
    """A job that polls, and whose place outlasts each of its requests."""
    chance = world.chance
    while True:
        link = yield from world.connect()
        owner = world.new_owner("kept")
        key = world.key("kept", "kept", "slots", "mixed1")
        options = ["KEEP", f"{chance.choice((1, 3))}s"]
        attempt = Attempt(world, link, [key], owner, options, chance.choice(LEASES_MS))
        for _ in range(chance.choice((2, 30))):
            if not attempt.link.is_open:
                yield from reconnect(attempt)
            asked = yield attempt.link.ask(*attempt.words())
            if isinstance(asked.reply, int):
                yield from hold(attempt, asked.reply)
                break
            if chance.random() < 0.3:
                attempt.link.close(chance.choice(("close", "reset")))
            yield chance.uniform(0.01, 0.1)
        else:
            yield from surely(attempt, chance.choice(("CANCEL", "UNLOCK")), key, owner)
        attempt.link.close()
