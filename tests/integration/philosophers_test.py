"""The dining philosophers: each needs two forks, and each fork is wanted by two of them."""

import asyncio
import random
import re
import unittest

import resp
from own_server import Server

TABLES = (5, 50, 500)
ROUNDS = 3
MEALS = 4
LINKS_NAMED = 8

LINK = re.compile(r"p(\d+) waits for f(\d+) held by p(\d+)")


class Philosopher:
    """Sits between the forks of its own number and the next."""

    def __init__(self, number, table, reader, writer):
        self.name = f"p{number}"
        self.left = f"f{number}"
        self.right = f"f{(number + 1) % table}"
        self.reader = reader
        self.writer = writer
        self.meals = []  # the tokens of its meals

    @classmethod
    async def sit_down(cls, number, table, server):
        stream = await asyncio.open_connection("127.0.0.1", server.port)
        philosopher = cls(number, table, *stream)
        # The kernel accepts a connection before the server does.
        assert await philosopher.ask("PING") == "+PONG"
        return philosopher

    async def ask(self, *words):
        """Returns the integer of the reply, or the text of the error."""
        self.writer.write(resp.request(*words))
        line = (await self.reader.readline()).decode().rstrip("\r\n")
        return int(line[1:]) if line[0] == ":" else line

    async def lock(self, fork):
        return await self.ask("LOCK", fork, self.name, "PX", 600_000, "WAIT", "FOREVER")

    async def unlock(self, *forks):
        for fork in forks:
            assert await self.ask("UNLOCK", fork, self.name) == 1


class Philosophers(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.server = self.enterContext(Server())

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)  # debug mode would take most of the time

    async def lay_table(self, size):
        table = [await Philosopher.sit_down(i, size, self.server) for i in range(size)]
        self.addAsyncCleanup(self.clear_table, table)
        return table

    @staticmethod
    async def clear_table(table):
        for philosopher in table:
            philosopher.writer.close()
            await philosopher.writer.wait_closed()

    def check_circle(self, refusal, philosopher, size):
        """Checks the circle that the refusal describes: each waits for the fork on its right, which
        the next one holds."""
        self.assertTrue(refusal.startswith("-DEADLOCK "), refusal)
        links = [tuple(map(int, link)) for link in LINK.findall(refusal)]
        first = int(philosopher.name[1:])
        following = [(first + i) % size for i in range(size + 1)]
        circle = list(zip(following, following[1:], following[1:]))
        self.assertEqual(links, circle[:LINKS_NAMED])
        left_out = size - len(links)
        self.assertEqual(refusal.endswith(f", and {left_out} more"), left_out > 0, refusal)

    async def eat_with_left_fork(self, philosopher, size, refusals):
        """Takes the right fork while holding the left one; if refused, puts the left one back and
        starts again."""
        token = await philosopher.lock(philosopher.right)
        if isinstance(token, str):
            self.check_circle(token, philosopher, size)
            refusals.append(philosopher.name)
            await philosopher.unlock(philosopher.left)
            self.assertIsInstance(await philosopher.lock(philosopher.left), int)
            token = await philosopher.lock(philosopher.right)
        self.assertIsInstance(token, int, "progress goes on")
        philosopher.meals.append(token)
        await philosopher.unlock(philosopher.left, philosopher.right)

    async def test_when_all_have_their_left_fork_the_last_who_asks_is_refused(self):
        for size in TABLES:
            table = await self.lay_table(size)
            for _ in range(ROUNDS):
                lefts = await asyncio.gather(*(p.lock(p.left) for p in table))
                self.assertTrue(all(isinstance(token, int) for token in lefts))
                refusals = []
                await asyncio.gather(
                    *(self.eat_with_left_fork(p, size, refusals) for p in table))
                self.assertEqual(len(refusals), 1)
            self.assertTrue(all(len(p.meals) == ROUNDS for p in table))

    async def dine_with_single_forks(self, philosopher, size, chance):
        refused = 0
        while len(philosopher.meals) < MEALS:
            await asyncio.sleep(chance.uniform(0, 0.002))
            self.assertIsInstance(await philosopher.lock(philosopher.left), int)
            await asyncio.sleep(chance.uniform(0, 0.002))
            token = await philosopher.lock(philosopher.right)
            if isinstance(token, str):
                self.check_circle(token, philosopher, size)
                refused += 1
                await philosopher.unlock(philosopher.left)
                continue
            philosopher.meals.append(token)
            await philosopher.unlock(philosopher.left, philosopher.right)
        return refused

    async def test_without_any_order_all_have_their_meals(self):
        for size in TABLES:
            table = await self.lay_table(size)
            chance = random.Random(size)
            await asyncio.wait_for(
                asyncio.gather(*(self.dine_with_single_forks(p, size, chance) for p in table)), 60)

    async def dine_with_both(self, philosopher, neighbours):
        while len(philosopher.meals) < MEALS:
            before = [len(other.meals) for other in neighbours]
            token = await philosopher.ask("MLOCK", 2, philosopher.left, philosopher.right,
                                          philosopher.name, "PX", 600_000, "WAIT", "FOREVER")
            self.assertIsInstance(token, int)
            philosopher.meals.append(token)
            for other, meals in zip(neighbours, before):
                # Since then, a neighbour may have had two meals: one that it had requested before,
                # and one whose reply this client has not read.
                since = [meal for meal in other.meals[meals:] if meal < token]
                self.assertLessEqual(len(since), 2, "nobody starves")
            await asyncio.sleep(0.001)
            released = await philosopher.ask("MUNLOCK", 2, philosopher.right, philosopher.left,
                                             philosopher.name)
            self.assertEqual(released, 2)

    async def test_with_mlock_nobody_is_refused_and_nobody_starves(self):
        for size in TABLES:
            table = await self.lay_table(size)
            await asyncio.wait_for(
                asyncio.gather(*(
                    self.dine_with_both(p, (table[i - 1], table[(i + 1) % size]))
                    for i, p in enumerate(table))), 60)
            tokens = [token for p in table for token in p.meals]
            self.assertEqual(len(set(tokens)), size * MEALS)


if __name__ == "__main__":
    unittest.main()
