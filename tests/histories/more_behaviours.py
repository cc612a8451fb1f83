"""Behaviours besides LOCK and MLOCK: messages, Redis idioms, steps, operators, and observers."""

from behaviours import LEASES_MS, LONGEST_HOLD, Attempt, end_hold, hold, options_of, surely


def notified(world):
    """Waits for messages on its own channel, with several requests on one connection."""
    chance = world.chance
    while True:
        link = yield from world.connect()
        channel = f"news.{link.number}.{link.life}"
        link.ask("HELLO", 3)
        link.tell("SUBSCRIBE", channel)
        outcomes = {}
        for _ in range(chance.choice((3, 10, 30))):
            if not link.is_open:
                break
            world.loop.start(notified_attempt(world, link, channel, outcomes))
            yield chance.uniform(0, 0.15)
            collect(link, outcomes)
        for _ in range(100):
            yield 0.01
            collect(link, outcomes)
        link.close(chance.choice(("close", "reset")))


def collect(link, outcomes):
    while link.inbox:
        event = link.inbox.popleft()
        outcomes.setdefault(event["owner"], []).append(event)


def notified_attempt(world, link, channel, outcomes):
    chance = world.chance
    owner = world.new_owner("notified")
    count = chance.choice((1, 1, 1, 2))
    keys = [world.key("plain1", "plain2", "mixed1", "mixed2")] if count == 1 else [
        world.key("mixed1"), world.key("mixed3")]
    modes = ("one",) if "plain" in keys[0] else ("one", "shared", "two")
    options = options_of(chance, modes) + ["NOTIFY", channel]
    if count == 2 and chance.random() < 0.3:
        options += ["SESSION"]
    attempt = Attempt(world, link, keys, owner, options, chance.choice(LEASES_MS))
    asked = yield link.ask(*attempt.words())
    token = asked.reply if isinstance(asked.reply, int) else None
    for _ in range(150):
        if token is not None or not link.is_open or asked.request.error:
            break
        yield 0.01
        token = next((event["token"] for event in outcomes.get(owner, ())
                      if event["event"] == "granted"), None)
    if token is None:
        yield from surely(attempt, *attempt.of_all("UNLOCK"))
        return
    # The link is shared, so this attempt never closes it.
    attempt.options = [option for option in options if option != "SESSION"]
    if chance.random() < 0.7:
        yield from hold(attempt, token)
    else:
        world.tell(keys, token)
        yield chance.uniform(0, LONGEST_HOLD)
        yield from end_hold(attempt, token)


def redis_client(world):
    """SET NX with a lease, and a release by script or by DEL."""
    chance = world.chance
    link = yield from world.connect()
    while True:
        if not link.is_open:
            link = yield from world.connect()
        key, value = world.key("plain1", "plain2", "mixed1", "slots"), world.new_owner("value")
        if chance.random() < 0.3:
            key = f"{value}.own"
        lease_ms = chance.choice(LEASES_MS)
        asked = yield link.ask("SET", key, value, "NX", "PX", lease_ms)
        if asked.reply == "OK":
            yield chance.uniform(0, LONGEST_HOLD)
            if link.is_open:
                yield link.ask("GET", key)
        attempt = Attempt(world, link, [key], value, [], lease_ms)
        if asked.reply == "OK" or asked.is_lost:
            if lease_ms <= 400 and chance.random() < 0.5:
                yield lease_ms / 1000
            elif chance.random() < 0.25:
                yield from surely(attempt, "DEL", key)
            else:
                yield from surely(attempt, "RELEASE", key, value)
        elif chance.random() < 0.1:
            yield from surely(attempt, "DEL", key)
        link = attempt.link
        yield chance.uniform(0, 0.03)


def step_client(world):
    """MULTI and scripts that lock and release several keys at once."""
    chance = world.chance
    link = yield from world.connect()
    while True:
        if not link.is_open:
            link = yield from world.connect()
        owner, other = world.new_owner("step"), world.new_owner("step")
        keys = [world.key("plain1", "mixed1"), world.key("plain2", "mixed2"), f"{owner}.own"]
        lease_ms = chance.choice(LEASES_MS)
        commands = [["LOCK", key, owner, "PX", lease_ms] for key in keys]
        if chance.random() < 0.4:
            commands += [["UNLOCK", keys[0], owner], ["LOCK", keys[0], other, "PX", 400]]
        if chance.random() < 0.3:
            commands.append(["SET", f"{owner}.set", owner, "NX", "PX", lease_ms])
        if chance.random() < 0.3:
            commands.append(["TRANSFER", keys[2], owner, other, "PX", 20_000])
        chance.shuffle(commands)
        asked = yield link.ask("STEP", chance.choice(("EXEC", "EVAL")), *commands)
        if isinstance(asked.reply, list):
            for command, reply in zip(commands, asked.reply):
                if isinstance(reply, int) and reply > 1:
                    world.tell([command[1]], reply)
        yield chance.uniform(0, LONGEST_HOLD)
        attempt = Attempt(world, link, [keys[0]], owner, [], lease_ms)
        for key in keys:
            yield from surely(attempt, "UNLOCK", key, owner)
        yield from surely(attempt, "UNLOCK", keys[0], other)
        link = attempt.link
        yield chance.uniform(0, 0.05)


def operator(world):
    """BREAK of all holders or of one owner, and CANCEL of other owners' places."""
    chance = world.chance
    link = yield from world.connect()
    while True:
        yield chance.uniform(0.05, 0.3)
        if not link.is_open:
            link = yield from world.connect()
        key = world.key("plain1", "plain2", "mixed1", "mixed2", "mixed3", "slots", "kept")
        what = chance.random()
        if what < 0.4:
            yield link.ask("BREAK", key)
        elif what < 0.7:
            asked = yield link.ask("LOCKINFO", key)
            if isinstance(asked.reply, list):
                holders = dict(zip(asked.reply[::2], asked.reply[1::2]))["holders"]
                if holders and link.is_open:
                    owner = dict(zip(holders[0][::2], holders[0][1::2]))["owner"]
                    yield link.ask("BREAK", key, owner)
        elif world.waiting:
            owner = chance.choice(sorted(world.waiting))
            yield link.ask("CANCEL", world.waiting[owner][0], owner)


def observer(world):
    """Reads the state of keys and tokens."""
    chance = world.chance
    link = yield from world.connect()
    while True:
        yield chance.uniform(0, 0.02)
        if not link.is_open:
            link = yield from world.connect()
        key = chance.choice(world.keys())
        name = chance.choice(("LOCKINFO", "QUEUE", "QUEUE", "CHECK", "CHECK", "LOCKED", "GET"))
        if name != "CHECK":
            yield link.ask(name, key, *(["COUNT", 1000] if name == "QUEUE" else []))
        elif world.told:
            yield link.ask("CHECK", *chance.choice(world.told))


def audit(world):
    """Checks every token that any client was told, all at once."""
    link = world.loop.connect(world.address, world.life)
    asked = [link.ask("CHECK", *one) for one in {*world.told, *world.unended}]
    own = {key for key, _ in world.unended if key.endswith(".own")}
    for key in [*world.keys(), *sorted(own)]:
        asked += [link.ask("LOCKINFO", key), link.ask("QUEUE", key, "COUNT", 1000)]
    for pending in asked:
        if not pending.is_done:
            yield pending
    link.close()
