"""Stops a server under load repeatedly, and records the history of what clients saw."""

import pathlib
import random
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

# pylint: disable=wrong-import-position
import behaviours
import clients
import more_behaviours
from records import History, Life, now

TASKS = ((behaviours.locker, 14), (behaviours.multi_locker, 5), (behaviours.nested_locker, 3),
         (behaviours.keeper, 4), (more_behaviours.notified, 3), (more_behaviours.redis_client, 4),
         (more_behaviours.step_client, 3), (more_behaviours.operator, 1),
         (more_behaviours.observer, 3))
STOP_SECONDS_MAX = 30
# The minimum number of requests between two stops, even on a slow machine.
REQUESTS_MIN = 400
LOAD_SECONDS_MAX = 20
CLEAN = ("SIGTERM", "SHUTDOWN")


class Load:
    """Runs segments of load on one data folder. Each has its own keys and its own history."""

    def __init__(self, server, seed, disk=None):
        self.server = server
        self.disk = disk  # the lost_power.Disk of a server whose disk loses unsynced data, or None
        self.chance = random.Random(seed)
        self.segments = 0
        self.lives = 0
        self.spawned = now()
        self.ready = now()

    def run_segment(self, stops, seconds):
        """Runs the load, ends the server as each of `stops` says, and starts it again."""
        self.segments += 1
        history = History()
        loop = clients.Loop(history)
        world = behaviours.World(loop, random.Random(self.chance.random()), f"s{self.segments}",
                                 ("127.0.0.1", self.server.port))
        for task, count in TASKS:
            for _ in range(count):
                loop.start(task(world))
        self._begin_life(history, world)
        for how in stops:
            sent = len(history.requests)
            loop.run(self.chance.uniform(0.5, 1.5) * seconds)
            loop.run(LOAD_SECONDS_MAX, lambda sent=sent: (
                len(history.requests) >= sent + REQUESTS_MIN))
            self._stop(history, world, how)
            self._start(history, world)
        loop.run(seconds / 2)
        self._audit(world)
        history.lives[-1].ended = None
        loop.close()
        return history

    def _begin_life(self, history, world):
        self.lives += 1
        history.lives.append(Life(self.lives, self.spawned, self.ready))
        world.life = self.lives
        world.is_up = len(history.lives) == 1

    def _stop(self, history, world, how):
        life, process = history.lives[-1], self.server.process
        life.how = how
        life.ending = now()
        if how == "SHUTDOWN":
            self._ask_to_shut_down(world)
        else:
            process.send_signal(signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
        world.loop.run(STOP_SECONDS_MAX, lambda: process.poll() is not None)
        if process.poll() is None:
            raise AssertionError(f"{how}: the server did not end in {STOP_SECONDS_MAX} s")
        life.ended = now()
        life.status = process.returncode
        world.is_up = False
        # Reads everything that the kernel accepted before the end.
        world.loop.run(STOP_SECONDS_MAX, lambda: not world.loop.has_links())

    @staticmethod
    def _ask_to_shut_down(world):
        try:
            world.loop.connect(world.address, world.life).tell("SHUTDOWN")
        except OSError as failure:
            raise AssertionError(f"no connection for SHUTDOWN: {failure}") from failure

    def _start(self, history, world):
        if history.lives[-1].how == "power":
            self.disk.lose_power(self.chance)
        self.spawned = now()
        self.server.start_again()
        self.ready = now()
        self._begin_life(history, world)
        self._audit(world)

    @staticmethod
    def _audit(world):
        """Checks all recorded tokens before the load continues."""
        is_over = []

        def task():
            yield from more_behaviours.audit(world)
            is_over.append(True)
            world.is_up = True

        world.loop.start(task())
        world.loop.run(STOP_SECONDS_MAX, lambda: is_over)


def figures(history, reconstruction):
    """Statistics of a history."""
    answered = sum(request.is_answered for request in history.requests)
    return {"requests": len(history.requests), "unanswered": len(history.requests) - answered,
            "grants": sum(1 for _ in reconstruction.book.holds()),
            "messages": len(history.messages),
            "resets": sum(close.by == "reset" for close in history.closes),
            "half closed": sum(close.by == "half" for close in history.closes),
            "clean stops": sum(life.is_clean for life in history.lives),
            "kills": sum(life.how == "SIGKILL" for life in history.lives),
            "power cuts": sum(life.how == "power" for life in history.lives)}
