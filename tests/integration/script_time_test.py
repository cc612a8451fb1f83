"""However a script spends its time, it is stopped. Notes how long other clients waited."""

import time
import unittest

from longest_ping import LongestPing
from own_server import IS_MEASURED, Server, note_figure
import resp

SCRIPT_TIME_MS = 100
# A script that is not stopped by its time runs until its steps are used up, for more than a minute.
PING_MS_MAX = 10_000
LOCKS = 300_000

# Each of these would run forever. Database 3 is empty, and database 0 has LOCKS locks.
SCRIPTS = {
    "RANDOMKEY of an empty database":
        'redis.call("SELECT","3") while true do redis.pcall("RANDOMKEY") end',
    "FLUSHDB of an empty database":
        'redis.call("SELECT","3") while true do redis.call("FLUSHDB") end',
    "RANDOMKEY of a database with one key":
        'redis.call("SELECT","4") redis.call("SET","k","v") '
        'while true do redis.pcall("RANDOMKEY") end',
    "FLUSHDB of a database with one key":
        'redis.call("SELECT","4") while true do '
        'redis.call("SET","k","v") redis.call("FLUSHDB") end',
    "KEYS, which refuses": 'while true do redis.pcall("KEYS","*") end',
    "SCAN": 'while true do redis.call("SCAN","0","COUNT","10000","MATCH","x") end',
    "LOCKS": 'while true do redis.call("LOCKS","0","COUNT","100000") end',
    "INFO": 'while true do redis.call("INFO","all") end',
    "COMMAND DOCS": 'while true do redis.call("COMMAND","DOCS") end',
    "DEL of many keys":
        "local a = {} for i = 1, 7900 do a[i] = 'x' .. i end "
        "while true do redis.call('DEL', unpack(a)) end",
    "SET and DEL": "while true do redis.call('SET','x','y') redis.call('DEL','x') end",
    "comparisons of long strings":
        "local a, b = ('x'):rep(3e6) .. 'a', ('x'):rep(3e6) .. 'b' "
        "while true do if a > b then return end end",
    "a table whose elements are gone":
        "local t = {} for i = 1, 1e5 do t['k' .. i] = i end "
        "for k in pairs(t) do t[k] = nil end while true do next(t) end",
    "memory": "local t = {} while true do for i = 1, 100 do t[i] = ('x'):rep(1e5) .. i end end",
}


def fill(connection):
    """Takes locks in the selected database."""
    batch = 5_000
    for begin in range(0, LOCKS, batch):
        connection.send(b"".join(resp.request("SET", f"k{i}", "v", "PX", 3_600_000)
                                 for i in range(begin, begin + batch)))
        for _ in range(batch):
            assert connection.reply() == "OK"


def longest_ping_ms(server, script):
    with server.connect() as connection, LongestPing(server) as pings:
        time.sleep(0.01)
        reply = connection.ask("EVAL", script, 0)
        assert "the script was stopped after" in reply, reply
        time.sleep(0.01)
    return pings.milliseconds


@unittest.skipUnless(IS_MEASURED, "the build is made to find mistakes")
class ScriptTime(unittest.TestCase):

    def test_longest_ping_while_scripts_do_their_worst(self):
        options = ("--script-time", f"{SCRIPT_TIME_MS}ms", "--script-steps", "1000000000")
        with Server(*options) as server:
            with server.connect() as connection:
                fill(connection)
            for name, script in SCRIPTS.items():
                with self.subTest(name):
                    longest = longest_ping_ms(server, script)
                    print(f"{name}:", end=" ")
                    note_figure("delays.ping_beside_script_ms", longest)
                    self.assertLess(longest, PING_MS_MAX)


if __name__ == "__main__":
    unittest.main(verbosity=2)
