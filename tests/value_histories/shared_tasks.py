"""Clients that share lists and a counter, with and without locks. Each is a task that runs until
the load ends."""

from ledger import BOTH, FIRST, MOVED, own_list
from owners import is_refusal

LENGTH_MAX = 150
LEASE_MS = 600_000


def sessions(world, number):
    """Yields a link to the database 0, then waits for its end; to be used with `yield from`."""
    while True:
        if world.is_up:
            try:
                link = world.connect()
                break
            except OSError:
                pass
        yield 0.01
    if number is not None:
        yield link.ask("CLIENT", "SETNAME", f"client{number}")
    return link


def until_the_end(world, link):
    """After a refusal, looks for the leader again; otherwise waits for the restart."""
    if world.is_fleet:
        yield 0.05
    else:
        while world.is_up and not link.is_open:
            yield 0.01
    link.close()


class Task:
    """One client. `work` sends requests until one of them has no answer."""

    def __init__(self, world, number):
        self.world = world
        self.number = number
        self.ledger = world.ledger

    def run(self):
        while True:
            link = yield from sessions(self.world, self.number)
            yield from self.work(link)
            yield from until_the_end(self.world, link)

    def is_over(self, pending):
        """Whether the request was lost or refused."""
        if pending.is_lost:
            return True
        if is_refusal(pending.reply):
            return True
        if isinstance(pending.reply, dict):
            self.ledger.find("unexpected error", f"{pending.request.words}: {pending.reply}")
        return False


class Producer(Task):

    def __init__(self, world, number):
        super().__init__(world, number)
        self.count = 0

    def _element(self):
        self.count += 1
        return f"{self.world.segment}p{self.number}:{self.count}"

    def _commands(self):
        commands = []
        chance = self.world.chance
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            name = chance.choice([FIRST, BOTH[0], BOTH[1], MOVED])
            command = "RPUSH" if name == FIRST else chance.choice(["LPUSH", "RPUSH"])
            commands.append([command, name,
                             *[self._element() for _ in range(chance.randint(1, 3))]])
        return commands

    def work(self, link):
        lock = f"lock{self.number}"
        while link.is_open and self.world.is_up:
            commands = self._commands()
            elements = {each: words[1] for words in commands for each in words[2:]}
            how = self.world.chance.choice(["EXEC", "EVAL"]) if len(commands) > 1 else ""
            taken = link.ask("LOCK", lock, f"producer{self.number}", "PX", LEASE_MS)
            push = self.ledger.begin_push(elements)
            pushed = link.ask(*(["STEP", how, *commands] if how else commands[0]))
            released = link.ask("UNLOCK", lock, f"producer{self.number}")
            yield released
            if pushed.is_lost:
                return
            self.ledger.end_push(push, not is_refusal(pushed.reply))
            self._check_lock(taken, released)
            if self.is_over(pushed) or released.is_lost:
                return
            lengths = pushed.reply if how else [pushed.reply]
            yield 0.05 if max(lengths) > LENGTH_MAX else self.world.chance.uniform(0, 0.004)

    def _check_lock(self, taken, released):
        if taken.is_lost or is_refusal(taken.reply):
            return
        if not isinstance(taken.reply, int):
            self.ledger.find("lost lock", f"LOCK of producer{self.number}: {taken.reply}")
        if not released.is_lost and not is_refusal(released.reply) and released.reply != 1:
            self.ledger.find("lost lock", f"UNLOCK of producer{self.number}: {released.reply}")


class Consumer(Task):
    """Pops for good."""

    def work(self, link):
        while link.is_open and self.world.is_up:
            words, group, count = self._request()
            pop = self.ledger.begin_pop(group, count)
            popped = link.ask(*words)
            yield popped
            if popped.is_lost:
                return
            self.ledger.end_pop(pop, self._elements(words, popped.reply),
                                f"consumer{self.number}")
            if self.is_over(popped):
                return
            if popped.reply is None:
                yield 0.005

    def _request(self):
        chance = self.world.chance
        timeout = chance.choice([0, 0.05, 1])
        if self.number % 2:
            return ["BLPOP", FIRST, timeout], FIRST, 1
        return chance.choice([
            (["BLPOP", *BOTH, timeout], "both", 1), (["BRPOP", *BOTH[::-1], timeout], "both", 1),
            (["LPOP", BOTH[0]], "both", 1), (["RPOP", BOTH[1], 3], "both", 3),
            (["STEP", "EXEC", ["LPOP", BOTH[0]], ["RPOP", BOTH[1]]], "both", 2),
            (["STEP", "EVAL", ["LPOP", BOTH[1]], ["LPOP", BOTH[0]]], "both", 2)])

    @staticmethod
    def _elements(words, reply):
        if reply is None or isinstance(reply, dict):
            return []
        if words[0] in ("BLPOP", "BRPOP"):
            return reply[1:]
        return [each for each in reply if each is not None] if isinstance(reply, list) else [reply]


class Mover(Task):
    """Moves an element to its own list and deletes it there, or puts it back."""

    def work(self, link):
        own = own_list(self.number)
        yield from self._put_back(link, own)
        while link.is_open and self.world.is_up:
            pop = self.ledger.begin_pop(MOVED, target=own)
            popped = link.ask(*self.world.chance.choice([
                ["BLMOVE", MOVED, own, "LEFT", "RIGHT", 0], ["BRPOPLPUSH", MOVED, own, 1],
                ["LMOVE", MOVED, own, "RIGHT", "LEFT"], ["RPOPLPUSH", MOVED, own]]))
            yield popped
            if popped.is_lost:
                return
            element = popped.reply if isinstance(popped.reply, str) else None
            self.ledger.end_pop(pop, [element] if element else [], own)
            if self.is_over(popped):
                return
            if element is None:
                yield 0.005
                continue
            yield self.world.chance.uniform(0, 0.01)
            if not (yield from self._end(link, own, element)):
                return

    def _end(self, link, own, element):
        is_deleted = self.world.chance.random() < 0.8
        move = self.ledger.begin_move(element, own)
        if is_deleted:
            moved = link.ask("LREM", own, 1, element)
        else:
            moved = link.ask("STEP", "EXEC", ["LREM", own, 1, element], ["LPUSH", MOVED, element])
        yield moved
        if moved.is_lost:
            return False
        removed = moved.reply if is_deleted else moved.reply[0] if isinstance(
            moved.reply, list) else moved.reply
        self.ledger.end_move(move, None if is_deleted else MOVED, removed == 1,
                             is_refusal(moved.reply))
        return not self.is_over(moved)

    def _put_back(self, link, own):
        """What the list contains when this client returns was moved there without an answer."""
        looked = link.ask("LRANGE", own, 0, -1)
        yield looked
        for element in looked.reply if isinstance(looked.reply, list) else ():
            if not (yield from self._end(link, own, element)):
                return


class Counter(Task):
    """Adds 1 to a number under a lock that all of them use, reading and writing it in separate
    requests."""

    def work(self, link):
        owner = f"counter{self.number}"
        while link.is_open and self.world.is_up:
            granted = link.ask("LOCK", "guard", owner, "WAIT", "20s", "PX", LEASE_MS)
            yield granted
            if granted.is_lost or self.is_over(granted):
                return
            if granted.reply is None:
                continue
            read = link.ask("HGET", "counter", "number")
            yield read
            if read.is_lost or self.is_over(read):
                return
            number = int(read.reply or 0) + 1
            self.world.counter.begin(number, owner)
            written = link.ask("HSET", "counter", "number", number)
            released = link.ask("UNLOCK", "guard", owner)
            yield released
            if written.is_lost or self.is_over(written):
                return
            self.world.counter.end(number, owner)
            yield self.world.chance.uniform(0, 0.01)
