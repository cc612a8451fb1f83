"""Driver for tests/clients/conformance: uses fairlock as a program with threads would.

With --asyncio, it uses fairlock.aio.
"""

import logging
import os
import pathlib
import queue
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

import redis  # noqa: E402
import redis.cluster  # noqa: E402
import redis.sentinel  # noqa: E402

import driver_base  # noqa: E402
import fairlock  # noqa: E402

_TAKE = fairlock.Lock._take.__code__


class Driver:
    """Each request has its own thread, except for one acquisition at a time, which has the main
    thread, because a signal can interrupt that one."""

    def __init__(self):
        self.client = driver_base.new_client(redis, redis.sentinel, redis.cluster)
        self.holds = {}
        self.opening = threading.Lock()
        self.opened = None
        self.idle = threading.Semaphore(1)
        self.for_main = queue.SimpleQueue()
        self.in_main = None  # the number of the acquisition in the main thread
        self.to_cancel = None

    def run(self):
        signal.signal(signal.SIGUSR1, self.interrupt)
        threading.Thread(target=self.read, daemon=True).start()
        while True:
            request = self.for_main.get()
            self.in_main = request["id"]
            try:
                self.perform(request)
            finally:
                self.in_main = None
                self.idle.release()

    def read(self):
        for request in driver_base.requests():
            if request["do"] == "exit":
                break
            if request["do"] == "acquire" and self.idle.acquire(blocking=False):
                self.in_main = request["id"]
                self.for_main.put(request)
            else:
                threading.Thread(target=self.perform, args=(request,), daemon=True).start()
        os._exit(0)

    def perform(self, request):
        try:
            result = getattr(self, f"do_{request['do']}")(request)
        except KeyboardInterrupt:
            result = {"error": "Cancelled"}
        except Exception as error:
            result = driver_base.failure(error)
        driver_base.write(id=request["id"], **result)

    def interrupt(self, number, frame):
        """Interrupts the acquisition, unless it has returned, because its hold would then be
        forgotten."""
        while frame is not None and frame.f_code is not _TAKE:
            frame = frame.f_back
        if frame is not None and self.to_cancel == self.in_main:
            raise KeyboardInterrupt

    def do_cancel(self, request):
        if request["acquire"] != self.in_main:
            return {"ok": True}
        self.to_cancel = request["acquire"]
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        return {"ok": True}

    def channel(self, request):
        if not request.get("channel"):
            return None
        with self.opening:
            if self.opened is None:
                self.opened = fairlock.Channel(self.client)
            return self.opened

    def lock(self, request):
        name = request.get("hold")

        def report(hold):
            driver_base.write(event="lost", hold=name)

        return fairlock.lock(self.client, *request["keys"], channel=self.channel(request),
                             on_lost=report, **driver_base.lock_options(request))

    def do_acquire(self, request):
        hold = self.holds[request["hold"]] = self.lock(request).acquire()
        return {"token": hold.token, "owner": hold.owner}

    def do_try(self, request):
        hold = self.lock(request).try_acquire()
        if hold is None:
            return {"token": None}
        self.holds[request["hold"]] = hold
        return {"token": hold.token, "owner": hold.owner}

    def do_release(self, request):
        with self.holds[request["hold"]]:
            return {"ok": True}

    def do_renew(self, request):
        self.holds[request["hold"]].renew(request.get("lease"))
        return {"ok": True}

    def do_left(self, request):
        return {"left": self.holds[request["hold"]].deadline - fairlock.now()}

    def do_check(self, request):
        self.holds[request["hold"]].check()
        return {"ok": True}

    def do_token(self, request):
        return {"token": self.holds[request["hold"]].token}

    def do_transfer(self, request):
        return {"token": self.holds[request["hold"]].transfer(request["to"])}

    def do_fork(self, request):
        return {"child": driver_base.fork_and_check(self.holds[request["hold"]])}

    def do_work(self, request):
        end = time.monotonic() + request.get("seconds", 0)
        lock = fairlock.lock(self.client, request["key"], lease=request.get("lease", 30),
                             channel=self.channel(request))
        tokens, failures = [], []

        def work():
            try:
                while True:
                    with lock as hold:
                        tokens.append(hold.token)
                    if time.monotonic() >= end:
                        return
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(request["count"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return {"grants": len(tokens), "rising": driver_base.is_rising(tokens)}

    def do_rate(self, request):
        rate = driver_base.Rate(request["seconds"])
        for name, end in rate.slices():
            while time.monotonic() < end:
                if name == "raw":
                    token = self.client.execute_command(*driver_base.RAW_LOCK)
                    self.client.execute_command(*driver_base.RAW_UNLOCK, token)
                else:
                    with fairlock.lock(self.client, "rate"):
                        pass
                rate.count += 1
        return rate.result()


if __name__ == "__main__":
    logging.disable()
    if "--asyncio" in sys.argv[1:]:
        import asyncio

        import aio_driver

        asyncio.run(aio_driver.Driver().run())
    else:
        Driver().run()
