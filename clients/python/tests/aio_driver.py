"""The driver for tests/clients/conformance that uses fairlock.aio: see conformance_driver.py."""

import asyncio
import os
import threading
import time

import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.sentinel

import driver_base
import fairlock.aio


class Driver:
    """Each request has its own task."""

    def __init__(self):
        self.client = driver_base.new_client(redis.asyncio, redis.asyncio.sentinel,
                                             redis.asyncio.cluster)
        self.holds = {}
        self.tasks = {}
        self.opened = None
        self.opening = asyncio.Lock()

    async def run(self):
        loop = asyncio.get_running_loop()
        lines = asyncio.Queue()

        def read():
            for request in driver_base.requests():
                loop.call_soon_threadsafe(lines.put_nowait, request)
            os._exit(0)

        threading.Thread(target=read, daemon=True).start()
        while True:
            request = await lines.get()
            if request["do"] == "exit":
                os._exit(0)
            number = request["id"]
            self.tasks[number] = asyncio.create_task(self.perform(request))
            self.tasks[number].add_done_callback(lambda _, number=number: self.tasks.pop(number))

    async def perform(self, request):
        try:
            result = await getattr(self, f"do_{request['do']}")(request)
        except asyncio.CancelledError:
            result = {"error": "Cancelled"}
        except Exception as error:
            result = driver_base.failure(error)
        driver_base.write(id=request["id"], **result)

    async def do_cancel(self, request):
        task = self.tasks.get(request["acquire"])
        if task is not None:
            task.cancel()
        return {"ok": True}

    async def channel(self, request):
        if not request.get("channel"):
            return None
        async with self.opening:
            if self.opened is None:
                self.opened = await fairlock.aio.Channel(self.client).__aenter__()
            return self.opened

    async def lock(self, request):
        name = request.get("hold")

        def report(hold):
            driver_base.write(event="lost", hold=name)

        return fairlock.aio.lock(self.client, *request["keys"],
                                 channel=await self.channel(request), on_lost=report,
                                 **driver_base.lock_options(request))

    async def do_acquire(self, request):
        lock = await self.lock(request)
        hold = self.holds[request["hold"]] = await lock.acquire()
        return {"token": hold.token, "owner": hold.owner}

    async def do_try(self, request):
        hold = await (await self.lock(request)).try_acquire()
        if hold is None:
            return {"token": None}
        self.holds[request["hold"]] = hold
        return {"token": hold.token, "owner": hold.owner}

    async def do_release(self, request):
        async with self.holds[request["hold"]]:
            return {"ok": True}

    async def do_renew(self, request):
        await self.holds[request["hold"]].renew(request.get("lease"))
        return {"ok": True}

    async def do_left(self, request):
        return {"left": self.holds[request["hold"]].deadline - fairlock.now()}

    async def do_check(self, request):
        self.holds[request["hold"]].check()
        return {"ok": True}

    async def do_token(self, request):
        return {"token": self.holds[request["hold"]].token}

    async def do_transfer(self, request):
        return {"token": await self.holds[request["hold"]].transfer(request["to"])}

    async def do_fork(self, request):
        return {"child": driver_base.fork_and_check(self.holds[request["hold"]])}

    async def do_work(self, request):
        end = time.monotonic() + request.get("seconds", 0)
        lock = fairlock.aio.lock(self.client, request["key"], lease=request.get("lease", 30),
                                 channel=await self.channel(request))
        tokens = []

        async def work():
            while True:
                async with lock as hold:
                    tokens.append(hold.token)
                if time.monotonic() >= end:
                    return

        await asyncio.gather(*(work() for _ in range(request["count"])))
        return {"grants": len(tokens), "rising": driver_base.is_rising(tokens)}

    async def do_rate(self, request):
        rate = driver_base.Rate(request["seconds"])
        for name, end in rate.slices():
            while time.monotonic() < end:
                if name == "raw":
                    token = await self.client.execute_command(*driver_base.RAW_LOCK)
                    await self.client.execute_command(*driver_base.RAW_UNLOCK, token)
                else:
                    async with fairlock.aio.lock(self.client, "rate"):
                        pass
                rate.count += 1
        return rate.result()
