// Ways in which a script may try to reach the process, other scripts or the libraries. All of them
// fail and leave everything unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/server/script/script_test_support.h"

namespace fairlock::script {
namespace {

// Each of these is refused with an error.
constexpr std::string_view kRefused[] = {
    // The process and its files.
    "os.execute('true')",
    "os.exit(1)",
    "return os.getenv('PATH')",
    "return io.open('/etc/passwd')",
    "io.popen('true')",
    "require('os')",
    "dofile('/etc/passwd')",
    "loadfile('/etc/passwd')",
    "package.loadlib('libc.so.6', 'system')",
    "return package.loaded.os",
    "module('x')",
    "print('x')",
    // Code other than the script's text.
    "load(function() return 'x' end)",
    "loadstring('return 1')()",
    "string.dump(function() end)",
    "\x1bLua\x51\x00\x01\x04\x08\x04\x08\x00",
    "return ('').dump(function() end)",
    // The Lua virtual machine.
    "debug.sethook()",
    "return debug.getregistry()",
    "debug.setmetatable('', {})",
    "debug.getupvalue(redis.call, 1)",
    "collectgarbage('stop')",
    "gcinfo()",
    "coroutine.create(function() while true do end end)",
    "coroutine.wrap(function() while true do end end)()",
    "newproxy(true)",
    "xpcall(error, error)",
    // Environments.
    "getfenv()",
    "getfenv(redis.call).os.exit()",
    "setfenv(1, {})",
    "setfenv(redis.call, {})",
    // State that all scripts share.
    "leak = 1",
    "function leak() end",
    "_G.leak = 1",
    "_G._G.redis = nil",
    "KEYS = {'other'}",
    "rawset(_G, 'leak', 1)",
    "rawset(_G, 'KEYS', {})",
    "rawset(string, 'len', function() return 7 end)",
    "rawset(redis, 'call', function() return 7 end)",
    "rawset(cjson, 'encode', nil)",
    "rawset(bit, 'band', nil)",
    "struct.pack = nil",
    "cmsgpack.leak = 1",
    "string.len = function() return 7 end",
    "redis.call = function() return 7 end",
    "math.max = nil",
    "cjson.null = 1",
    "table.leak = 1",
    "table.insert(_G, 1)",
    "table.insert(redis, 1, 'x')",
    "table.remove(string)",
    "table.sort(table)",
    "setmetatable(_G, {})",
    "setmetatable(_G, nil)",
    "setmetatable(string, {__index = {}})",
    "setmetatable('', {})",
    "setmetatable(redis.call, {})",
    "getmetatable(_G).__newindex = nil",
    "getmetatable(redis).__index = {}",
    "getmetatable('').__index.len = nil",
    "getmetatable('').__add = function() end",
    "setmetatable(setmetatable({}, {__metatable = 1}), nil)",
    // Arguments beyond the limits of library functions.
    "return {unpack({}, 0, 2147483647)}",
    "return {unpack({}, -2147483648, 2147483647)}",
    "return {unpack({}, 2147483646, 4294967296)}",
    "return select(-2147483648, 1)",
    "return string.rep('x', 1e10)",
    "return ('x'):rep(2^62)",
    "return string.format('%1000000d', 1)",
    "return string.format('%.999999f', 1)",
    "return string.find('x', ('('):rep(40))",
    "return string.gsub('x', ('(x?)'):rep(300), '')",
    "return table.concat({}, 'x', 1, 2^53)",
    "table.insert({}, 2^40, 'x')",
    "return redis.call({})",
    "error(setmetatable({}, {__tostring = function() os.exit() end}))",
};

// Each of these returns the same reply as without the attempt to escape.
struct Harmless {
  std::string_view text;
  std::string_view reply;
};

constexpr Harmless kHarmless[] = {
    {"return getmetatable(_G)", "$-1\r\n"},
    {"return getmetatable('')", "$-1\r\n"},
    {"return getmetatable(redis)", "$-1\r\n"},
    {"return rawget(_G, 'redis')", "$-1\r\n"},
    {"return next(_G)", "$-1\r\n"},
    {"return next(redis)", "$-1\r\n"},
    {"setmetatable({}, {__gc = function() leak = 1 end})", "$-1\r\n"},
    {"setmetatable({}, {__mode = 'kv', __index = _G}).leak = 1", "$-1\r\n"},
    {"local redis = {call = 1} return redis.call", ":1\r\n"},
    {"KEYS[1] = 'other' ARGV[1] = 'other'", "$-1\r\n"},
    {"math.randomseed(1) return math.random(1, 1)", ":1\r\n"},
    {"return type(setmetatable({}, {__index = string}).len)", "$8\r\nfunction\r\n"},
};

// Computes a value that depends on everything that a script might have changed.
constexpr std::string_view kWorld =
    "local reads_leak = pcall(function() return leak end) "
    "return {string.len('abc'), ('abc'):len(), math.max(1, 2), type(redis.call), type(rawset), "
    "cjson.encode({1}), #KEYS, KEYS[1], ARGV[1], reads_leak and 1 or 0, redis.call('ECHO', 'e')}";
constexpr std::string_view kWorldReply =
    "*11\r\n:3\r\n:3\r\n:2\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n$3\r\n[1]\r\n:1\r\n$1\r\nk\r\n"
    "$1\r\na\r\n:0\r\n$1\r\ne\r\n";

TEST(ScriptEscape, IsRefusedAndLeavesEverythingAsItWas) {
  ScriptStage stage;
  for (const std::string_view text : kRefused) {
    EXPECT_THAT(stage.Eval(text, {"k"}, {"a"}), testing::StartsWith("-ERR ")) << text;
    EXPECT_EQ(stage.Eval(kWorld, {"k"}, {"a"}), kWorldReply) << text;
  }
}

TEST(ScriptEscape, IsRefusedTooWhereTheErrorIsCaught) {
  ScriptStage stage;
  for (const std::string_view text : kRefused) {
    const std::string caught = "pcall(function() " + std::string(text) + " end) return 1";
    stage.Eval(caught, {"k"}, {"a"});
    EXPECT_EQ(stage.Eval(kWorld, {"k"}, {"a"}), kWorldReply) << text;
  }
}

TEST(ScriptEscape, FindsNothingWhereItIsAllowed) {
  ScriptStage stage;
  for (const Harmless& attempt : kHarmless) {
    EXPECT_EQ(stage.Eval(attempt.text, {"k"}, {"a"}), attempt.reply) << attempt.text;
    EXPECT_EQ(stage.Eval(kWorld, {"k"}, {"a"}), kWorldReply) << attempt.text;
  }
}

TEST(ScriptEscape, DoesNotSeeTheKeysOfTheScriptBefore) {
  ScriptStage stage;
  stage.Eval("return 1", {"secret"}, {"token"});
  EXPECT_EQ(stage.Eval("return {#KEYS, #ARGV, tostring(KEYS[1])}"),
            "*3\r\n:0\r\n:0\r\n$3\r\nnil\r\n");
}

TEST(ScriptEscape, NamesEveryGlobalThatThereIs) {
  ScriptStage stage;
  const std::string reply = stage.Eval(
      "local names = {} "
      "for _, name in ipairs({'_G', '_VERSION', 'assert', 'bit', 'cjson', 'cmsgpack', "
      "'collectgarbage', 'coroutine', 'debug', 'dofile', 'error', 'gcinfo', 'getfenv', "
      "'getmetatable', 'io', 'ipairs', 'load', "
      "'loadfile', 'loadstring', 'math', 'module', 'newproxy', 'next', 'os', 'package', 'pairs', "
      "'pcall', 'print', 'rawequal', 'rawget', 'rawset', 'redis', 'require', 'select', 'setfenv', "
      "'setmetatable', 'string', 'struct', 'table', 'tonumber', 'tostring', 'type', 'unpack', "
      "'xpcall'}) do "
      "if pcall(function() return _G[name] end) then table.insert(names, name) end end "
      "return table.concat(names, ' ')");
  EXPECT_THAT(reply, testing::HasSubstr("_G _VERSION assert bit cjson cmsgpack error getmetatable "
                                        "ipairs math next pairs pcall rawequal rawget rawset redis "
                                        "select setmetatable string struct table tonumber tostring "
                                        "type unpack"));
}

}  // namespace
}  // namespace fairlock::script
