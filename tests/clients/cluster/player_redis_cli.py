"""Drives redis-cli -c, as player.md describes. After it has lost its connection, redis-cli is
started again, with the next seed node."""

import itertools
import json
import os
import subprocess
import sys

NODES = itertools.cycle(address.split(":") for address in os.environ["NODES"].split(","))


class Refused(Exception):
    """An error from the server."""


class RedisCli:

    def __init__(self):
        host, port = next(NODES)
        # --json shows the types of replies; redis-cli then speaks RESP3.
        self.process = subprocess.Popen(
            ["redis-cli", "-c", "--json", "-h", host, "-p", port], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def send(self, words):
        self.process.stdin.write(" ".join(json.dumps(word) for word in words) + "\n")
        self.process.stdin.flush()

    def reply(self):
        line = ""
        while line.strip() == "" or line.startswith(("-> Redirected", "Reading messages")):
            line = self.process.stdout.readline()
            if not line:
                raise ConnectionError("redis-cli ended")
        if line.startswith("error:"):
            raise Refused(line.strip())
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            raise ConnectionError(line.strip()) from None

    def call(self, words):
        self.send(words)
        return self.reply()

    def transact(self, commands):
        # A redirection inside of a transaction would leave it.
        self.call(["EXISTS", commands[0][1]])
        for words in [["MULTI"], *commands]:
            self.call(words)
        return self.call(["EXEC"])

    def stop(self):
        self.process.kill()
        self.process.communicate()


def answer(client, request):
    if "call" in request:
        return client.call(request["call"])
    if "transaction" in request:
        return client.transact(request["transaction"])
    if "subscribe" in request:
        client.call(["SSUBSCRIBE", request["subscribe"]])
        return None
    return client.reply()[1:]


def main():
    client = RedisCli()
    for line in sys.stdin:
        try:
            result = {"reply": answer(client, json.loads(line))}
        except Refused as error:
            result = {"error": str(error)}
        except ConnectionError as error:
            client.stop()
            client = RedisCli()
            result = {"error": str(error)}
        print(json.dumps(result), flush=True)
    client.stop()


main()
