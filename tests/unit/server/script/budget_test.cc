// Every script ends, whatever it does, and other scripts can run after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/script/lua_memory.h"
#include "tests/unit/server/script/script_test_support.h"

namespace fairlock::script {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Each of these would run for hours, or for ever.
constexpr std::string_view kEndless[] = {
    "while true do end",
    "for i = 1, 1e300 do end",
    "repeat until false",
    "local function f() return f() end return f()",
    "while true do pcall(error, 'x') end",
    "while true do pcall(function() while true do end end) end",
    "local function f() pcall(f) f() end f()",
    "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) "
    "while true do pcall(function() return t[1] end) end",
    "local t = setmetatable({}, {__tostring = function() while true do end end}) tostring(t)",
    "while true do redis.pcall('ECHO', 'x') end",
    "while true do redis.pcall() end",
    "while true do redis.sha1hex('x') end",
    "while true do redis.log(redis.LOG_DEBUG, 'x') end",
    "while true do redis.status_reply('x') end",
    "local s = ('a'):rep(1e6) while true do redis.sha1hex(s) end",
    "local s = ('a'):rep(1e6) while true do redis.call('ECHO', s) end",
    "local s = ('a'):rep(1e6) while true do local x = s .. 'b' end",
    "local s = ('a'):rep(1e6) while true do s:upper() end",
    "local s = ('a'):rep(1e6) while true do s:sub(2) end",
    "local s = ('a'):rep(1e6) while true do s:find('b', 1, true) end",
    "local s = ('a'):rep(1e6) while true do string.format('%s', s) end",
    "local s = ('a'):rep(1e6) while true do cjson.encode(s) end",
    "local s = '\"' .. ('a'):rep(1e6) .. '\"' while true do cjson.decode(s) end",
    "return string.find(('a'):rep(1000), ('a*'):rep(50) .. 'b')",
    "return string.find(('a'):rep(1000), '.-.-.-.-.-b')",
    "return string.match(('a'):rep(1000), '(.*)(.*)(.*)(.*)b')",
    "return string.gsub(('a'):rep(1e5), 'a*b', '')",
    "for x in string.gmatch(('a'):rep(1e5), 'a*b') do end",
    "return string.find(('('):rep(1e5), '%b()')",
    "return string.find(('a'):rep(4e3), '(.-)%1b')",
    "return string.find(('a'):rep(1e5), '[' .. ('b'):rep(1e5) .. ']')",
    "string.gsub(('a'):rep(100), 'a', function() while true do end end)",
    "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, 0) "
    "table.remove(t, 1) end",
    "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do table.concat(t) end",
    "local t = {} for i = 1, 1e4 do t[i] = i end while true do "
    "table.sort(t, function(a, b) return a < b end) end",
    "local t = {3, 2, 1} table.sort(t, function() while true do end end)",
    "local t = {} for i = 1, 1000 do t[i] = i end while true do unpack(t) end",
    "local t = {1} for i = 1, 40 do t = {t, t} end return cjson.encode(t)",
    "local t = {} for i = 1, 1e5 do t[i] = i end while true do for k in pairs(t) do end end",
};

// Each of these would use up the machine's memory.
constexpr std::string_view kGreedy[] = {
    "local t = {} while true do t[#t + 1] = {} end",
    "local s = 'x' while true do s = s .. s end",
    "local t = {} for i = 1, 1e9 do t[i] = i end",
    "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end",
    "return ('x'):rep(1e9)",
    "return ('x'):rep(15e6):rep(2)",
    "local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(1000) end return table.concat(t)",
    "return string.gsub(('x'):rep(1e5), 'x', ('y'):rep(1000))",
    "return cjson.encode(('\\0'):rep(8e6))",
    "return string.format('%s%s%s', ('x'):rep(6e6), ('x'):rep(6e6), ('x'):rep(6e6))",
    "local t = {} while true do t[#t + 1] = function() return t end end",
};

// Each of these leaves so much garbage that collecting it takes long.
constexpr std::string_view kLeavesGarbage[] = {
    "local t = {} for i = 1, 1e5 do t[i] = 'a' .. i end",
    "local t = {} for i = 1, 5e4 do t[i] = {i} end",
    "local t = {} for i = 1, 5e4 do t[i] = function() return t[i] end end",
    "local t for i = 1, 1e5 do t = {t} end",
    "local t = {} for i = 1, 1e5 do t[i] = 'a' .. i end error('x')",
    "local t = {} while true do t[#t + 1] = #t .. '' end",
    "return {pcall(cjson.decode, '[' .. ('[1,2,3,4],'):rep(5e4) .. '1]')} == 1",
};

std::string Repeated(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

std::chrono::milliseconds TimeOf(ScriptStage& stage, std::string_view text, std::string& reply) {
  const auto begin = std::chrono::steady_clock::now();
  reply = stage.Eval(text);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begin);
}

TEST(ScriptBudget, EndsWhatIsEndless) {
  ScriptStage stage({.steps_max = 2'000'000});
  for (const std::string_view text : kEndless) {
    std::string reply;
    const auto time = TimeOf(stage, text, reply);
    EXPECT_THAT(reply, HasSubstr("the script was stopped after")) << text;
    EXPECT_LT(time.count(), 5'000) << text;
    EXPECT_EQ(stage.Eval("return 1"), ":1\r\n") << text;
  }
}

TEST(ScriptBudget, CollectsGarbageInManySmallSteps) {
  for (const std::string_view text : kLeavesGarbage) {
    ScriptStage stage;
    stage.host.tick_ns = 1;  // how much garbage they leave must not depend on the processor
    const std::size_t before_bytes = stage.interpreter.memory_bytes();
    stage.Eval(text);
    ASSERT_TRUE(stage.interpreter.has_garbage()) << text;
    const std::size_t left_bytes = stage.interpreter.memory_bytes() - before_bytes;
    // The clock is read before each step, so this is the time of ten steps.
    std::uint64_t now_ns = stage.host.NowNs();
    std::size_t largest_bytes = 0;
    int collections = 0;
    for (; stage.interpreter.has_garbage(); ++collections) {
      const std::size_t used_bytes = stage.interpreter.memory_bytes();
      stage.interpreter.CollectGarbage(now_ns + 12, stage.host);
      now_ns = stage.host.NowNs();
      largest_bytes = std::max(largest_bytes, used_bytes - stage.interpreter.memory_bytes());
    }
    EXPECT_GT(collections, 20) << text;
    // A single block may be large.
    EXPECT_LT(largest_bytes, left_bytes / 2) << text;
    EXPECT_LT(stage.interpreter.memory_bytes(), before_bytes + left_bytes / 10) << text;
  }
}

TEST(ScriptBudget, TheNextScriptPaysForGarbageThatIsNotCollected) {
  ScriptStage stage({.time_max_ms = 100});
  stage.host.tick_ns = 1;
  stage.Eval(kLeavesGarbage[0]);
  ASSERT_TRUE(stage.interpreter.has_garbage());
  stage.host.tick_ns = 60'000'000;
  EXPECT_THAT(stage.Eval("return redis.call('ECHO', 'x')"),
              HasSubstr("the script was stopped after 100 ms"));
  EXPECT_FALSE(stage.interpreter.has_garbage());
  stage.host.tick_ns = 1;
  EXPECT_EQ(stage.Eval("return redis.call('ECHO', 'x')"), "$1\r\nx\r\n");
}

TEST(ScriptBudget, EndsWhatTakesMemoryWithoutEnd) {
  ScriptStage stage;
  const std::size_t before_bytes = stage.interpreter.memory_bytes();
  for (const std::string_view text : kGreedy) {
    std::string reply;
    const auto time = TimeOf(stage, text, reply);
    EXPECT_THAT(reply, StartsWith("-ERR ")) << text;
    EXPECT_THAT(reply,
                testing::AnyOf(HasSubstr("not enough memory"), HasSubstr("the script was stopped")))
        << text;
    EXPECT_LT(time.count(), 5'000) << text;
    EXPECT_EQ(stage.Eval("return 1"), ":1\r\n") << text;
    EXPECT_LT(stage.interpreter.memory_bytes(), before_bytes + 2 * ScriptLimits().memory_bytes_max)
        << text;
  }
}

TEST(ScriptBudget, StopsByTimeWhereStepsAreSlow) {
  ScriptLimits limits;
  limits.time_max_ms = 50;
  ScriptStage stage(limits);
  stage.host.tick_ns = 1'000'000;
  EXPECT_THAT(stage.Eval("while true do end"), HasSubstr("the script was stopped after 50 ms"));
  EXPECT_LT(stage.interpreter.steps(), 100'000U);
}

// The clock is read that often because a command may take longer than thousands of instructions.
TEST(ScriptBudget, ReadsTheClockAfterEveryCommand) {
  ScriptLimits limits;
  limits.time_max_ms = 50;
  ScriptStage stage(limits);
  stage.host.command_ns = 20'000'000;
  EXPECT_THAT(stage.Eval("while true do redis.pcall('PING') end"),
              HasSubstr("the script was stopped after 50 ms"));
  EXPECT_EQ(stage.host.calls.size(), 3U);
  stage.host.calls.clear();
  EXPECT_EQ(stage.Eval("redis.call('PING') return redis.call('PING')"), "+PONG\r\n");
}

TEST(ScriptBudget, StartsTheClockWithTheScript) {
  ScriptLimits limits;
  limits.time_max_ms = 50;
  ScriptStage stage(limits);
  stage.host.command_ns = 51'000'000;
  EXPECT_THAT(stage.Eval("redis.call('SET', KEYS[1], 'v') return 1", {"k"}),
              HasSubstr("the script was stopped after 50 ms"));
}

// Each of these instructions takes up to a millisecond.
TEST(ScriptBudget, StopsByTimeWhereSingleInstructionsAreSlow) {
  ScriptLimits limits;
  limits.time_max_ms = 20;
  limits.memory_bytes_max = std::size_t{64} << 20;
  ScriptStage stage(limits);
  stage.host.counts_processor_time = true;
  for (const std::string_view text :
       {"local a = ('x'):rep(7e6) .. 'a' local b = ('x'):rep(7e6) .. 'b' "
        "local n = 0 while true do if a < b then n = n + 1 end end",
        "local t = {} for i = 1, 1e5 do t['k' .. i] = i end for k in pairs(t) do t[k] = nil end "
        "while true do next(t) end"}) {
    const std::uint64_t begun_ns = stage.host.NowNs();
    EXPECT_THAT(stage.Eval(text), HasSubstr("the script was stopped after")) << text;
    EXPECT_LE((stage.host.NowNs() - begun_ns) / 1'000'000, 20U + 1000U) << text;
  }
}

// Calls of library functions, and instructions, that do as much as they can with what precedes
// them.
constexpr std::string_view kLong = "local s = ('1'):rep(3e6) ";
constexpr std::string_view kMany = "local t = {} for i = 1, 2e5 do t[i] = i % 977 end ";
constexpr std::string_view kOnLong[] = {
    "s:byte(1, 7000)",
    "s:find('2', 1, true)",
    "s:find('[23]')",
    "s:find('.-2')",
    "n = (''):find('[' .. s .. ']')",
    "n = ('x'):find('%f[' .. s .. ']')",
    "s:format()",
    "n = ('%q'):format(s)",
    "n = ('%s'):format(s)",
    "for part in s:gmatch('1') do if #part > 1 then break end end",
    "s:gsub('1', '2')",
    "s:len()",
    "s:lower()",
    "s:match('(1*)$')",
    "s:rep(2)",
    "s:reverse()",
    "s:sub(2)",
    "s:upper()",
    "if s .. 'a' < s .. 'b' then n = n + 1 end",
    "n = s + 1",
    "n = s .. n",
    "for i = s, s do n = i end",
    "tonumber(s)",
    "tonumber(s, 36)",
    "math.abs(s)",
    "bit.band(s, s)",
    "pcall(struct.size, s)",
    "tostring(s)",
    "error(s)",
    "assert(false, s)",
    "rawequal(s, s .. 'x')",
    "select('#', s:byte(1, 7000))",
    "redis.sha1hex(s)",
    "redis.error_reply(s)",
    "redis.status_reply(s)",
    "redis.log(redis.LOG_WARNING, s)",
    "redis.call('PING', s)",
    "cjson.encode(s)",
    "cjson.decode('\"' .. s .. '\"')",
    "cjson.decode(s)",
    "cmsgpack.pack(s)",
    "cmsgpack.unpack(cmsgpack.pack(s))",
    "cmsgpack.unpack(s)",
    "struct.pack('s', s)",
    "struct.pack('c0', s)",
    "struct.unpack('s', s .. '\\0')",
};
constexpr std::string_view kOnMany[] = {
    "table.concat(t, ',')",
    "table.sort(t)",
    "table.sort(t, function(a, b) return a > b end)",
    "table.sort(t, function() return true end)",
    "table.insert(t, 1, 1) table.remove(t)",
    "table.remove(t, 1) t[#t + 1] = 1",
    "table.getn(t)",
    "unpack(t, 1, 7000)",
    "next(t)",
    "for _ in pairs(t) do end",
    "for _ in ipairs(t) do end",
    "cjson.encode(t)",
    "cjson.decode(cjson.encode(t))",
    "cmsgpack.pack(t)",
    "cmsgpack.unpack(cmsgpack.pack(t))",
    "redis.call('PING', unpack(t, 1, 7000))",
};

// Repeats a call until the script is stopped.
std::string Endless(std::string_view before, std::string_view call) {
  return std::string(before) + "local n = 0 while true do pcall(function() " +
         Repeated(std::string(call) + " ", 25) + "end) end";
}

// A function whose time grows faster than its argument would take minutes.
TEST(ScriptBudget, StopsByTimeInEveryLibraryFunction) {
  ScriptLimits limits;
  limits.steps_max = 1'000'000'000'000;
  limits.time_max_ms = 20;
  limits.memory_bytes_max = std::size_t{64} << 20;
  ScriptStage stage(limits);
  stage.host.counts_processor_time = true;
  const auto check = [&](std::string_view before, std::string_view call) {
    const std::string text = Endless(before, call);
    const std::uint64_t begun_ns = stage.host.NowNs();
    EXPECT_THAT(stage.Eval(text), HasSubstr("the script was stopped after 20 ms")) << text;
    EXPECT_LE((stage.host.NowNs() - begun_ns) / 1'000'000, 3'000U) << text;
  };
  for (const std::string_view call : kOnLong) check(kLong, call);
  for (const std::string_view call : kOnMany) check(kMany, call);
}

// Between two readings, a script can work on no more than the largest block once.
TEST(ScriptBudget, ReadsTheClockForEveryLargestBlockOfWork) {
  constexpr std::uint64_t kCalls = 16;
  ScriptLimits limits;
  limits.memory_bytes_max = std::size_t{64} << 20;
  ScriptStage stage(limits);
  stage.host.command_ns = 1;  // the clock stands still
  for (const std::string_view call : kOnLong) {
    const std::string text = std::string(kLong) + "local n = 0 for i = 1, " +
                             std::to_string(kCalls) + " do pcall(function() " + std::string(call) +
                             " end) end return 1";
    const std::uint64_t before = stage.host.looks;
    stage.Eval(text);
    EXPECT_GE(stage.host.looks - before, kCalls * 3'000'000 / LuaMemory::kBlockBytesMax) << text;
  }
}

TEST(ScriptBudget, RefusesBlocksThatASingleInstructionCouldWorkOnForLong) {
  ScriptStage stage({.time_max_ms = 60'000, .memory_bytes_max = std::size_t{64} << 20});
  EXPECT_EQ(stage.Eval("return #('x'):rep(8e6)"), ":8000000\r\n");
  EXPECT_THAT(stage.Eval("return #('x'):rep(9e6)"), HasSubstr("not enough memory"));
  EXPECT_THAT(stage.Eval("local s = ('x'):rep(5e6) return #(s .. s)"),
              HasSubstr("not enough memory"));
  EXPECT_THAT(stage.Eval("local t = {} for i = 1, 1e6 do t[i] = i end return #t"),
              HasSubstr("not enough memory"));
}

TEST(ScriptBudget, CountsTheTimeOfEarlierScripts) {
  ScriptLimits limits;
  limits.time_max_ms = 50;
  ScriptStage stage(limits);
  stage.host.command_ns = 20'000'000;
  stage.used_ns = 45'000'000;
  EXPECT_THAT(stage.Eval("while true do redis.pcall('PING') end"),
              HasSubstr("the script was stopped after 50 ms"));
  EXPECT_EQ(stage.host.calls.size(), 1U);
}

TEST(ScriptBudget, SaysWhereItWasStopped) {
  ScriptStage stage({.time_max_ms = 60'000});
  EXPECT_THAT(stage.Eval("local n = 0\nwhile true do n = n + 1 end"),
              testing::AllOf(StartsWith("-ERR the script was stopped after 10000000 steps"),
                             testing::EndsWith(", on @user_script:2.\r\n")));
}

TEST(ScriptBudget, IsNewInEachRun) {
  ScriptStage stage({.steps_max = 100'000});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(stage.Eval("for i = 1, 5e4 do end return 1"), ":1\r\n");
  EXPECT_THAT(stage.Eval("for i = 1, 2e5 do end return 1"), HasSubstr("the script was stopped"));
}

TEST(ScriptBudget, LetsCommandsStandThatWereDoneBefore) {
  ScriptStage stage;
  stage.Eval("redis.call('SET', KEYS[1], 'v') while true do end", {"k"});
  EXPECT_EQ(stage.host.keys["k"], "v");
}

// Memory for the reply is reserved before the command runs, so that a command that has taken effect
// is always answered.
TEST(ScriptBudget, AsksForRoomBeforeACommandRuns) {
  ScriptStage stage;
  const std::string setup = "local a = {} for i = 1, ARGV[1] do a[i] = 'k' .. i end ";
  for (const std::string_view count : {"7990", "7996", "7999"}) {
    stage.host.keys["k1"] = "v";
    EXPECT_EQ(stage.Eval(setup + "return redis.call('DEL', unpack(a))", {}, {count}), ":1\r\n")
        << count;
    stage.host.keys["k1"] = "v";
    EXPECT_EQ(stage.Eval(setup + "return {pcall(redis.call, 'DEL', unpack(a, 2))}", {}, {count}),
              "*2\r\n:1\r\n:0\r\n")
        << count;
    EXPECT_EQ(stage.Eval(setup + "return #redis.call('MGET', unpack(a))", {}, {count}),
              ":" + std::string(count) + "\r\n");
  }
  stage.host.keys["k1"] = "v";
  EXPECT_THAT(stage.Eval(setup + "return redis.call('DEL', unpack(a))", {}, {"8000"}),
              HasSubstr("too many results to unpack"));
  EXPECT_TRUE(stage.host.keys.contains("k1"));
}

TEST(ScriptBudget, AsksForMemoryBeforeACommandRuns) {
  ScriptStage stage({.time_max_ms = 60'000});
  // Allocates all memory except a few bytes, and catches the error.
  const std::string fill =
      "local t = {} local function add(bytes) t[#t + 1] = ('x'):rep(bytes) .. #t end "
      "for _, bytes in ipairs({1e5, 1e4, 1e3, 100, 10}) do while pcall(add, bytes) do end end ";
  EXPECT_THAT(stage.Eval(fill + "return redis.call('SET', KEYS[1], 'v')", {"k"}),
              HasSubstr("not enough memory"));
  EXPECT_FALSE(stage.host.keys.contains("k"));
}

TEST(ScriptBudget, RefusesTextsThatAreTooLong) {
  ScriptStage stage({.script_bytes_max = 100});
  EXPECT_EQ(stage.Eval("return '" + std::string(100, 'x') + "'"),
            "-ERR the script has 109 bytes; the limit is 100\r\n");
}

TEST(ScriptBudget, RefusesTextsThatNestTooDeep) {
  ScriptStage stage;
  for (const std::string& text :
       {"return " + std::string(30'000, '(') + "1" + std::string(30'000, ')'),
        "return " + std::string(30'000, '{') + std::string(30'000, '}'),
        "return " + Repeated("not ", 10'000) + "1", Repeated("if x then ", 1'000),
        Repeated("local x ", 1'000)}) {
    EXPECT_THAT(stage.Eval(text), StartsWith("-ERR Error compiling script (new function): "));
  }
}

// Each part of such a chain walks over all parts before it.
TEST(ScriptBudget, RefusesTextsThatTakeTooLongToCompile) {
  ScriptStage stage({.compile_ms_max = 5});
  for (const std::string& text :
       {"return " + Repeated("a and ", 10'000) + "a", "return " + Repeated("a or ", 12'000) + "a",
        "if a then " + Repeated("elseif a then ", 4'600) + "end",
        "while 1 do " + Repeated("if a then break end ", 3'200) + "end"}) {
    ASSERT_LT(text.size(), ScriptLimits{}.script_bytes_max);
    EXPECT_THAT(stage.Eval(text), HasSubstr("it takes too long to compile")) << text.substr(0, 30);
  }
  EXPECT_EQ(stage.Eval("return 1"), ":1\r\n");
}

TEST(ScriptBudget, CompilesLongTextsWithoutSuchChains) {
  ScriptStage stage({.compile_ms_max = 60'000});
  for (const std::string& text :
       {Repeated("x=1 ", 16'000), Repeated("redis.call('PING') ", 3'400)}) {
    EXPECT_THAT(stage.Eval("if false then " + text + "end return 1"), ":1\r\n");
  }
}

TEST(ScriptBudget, BoundsTheReply) {
  ScriptStage stage({.reply_bytes_max = 1'000});
  EXPECT_THAT(stage.Eval("local t = {} for i = 1, 1000 do t[i] = i end return t"),
              HasSubstr("the reply of the script is too long"));
  EXPECT_THAT(stage.Eval("local t = {} for i = 1, 100 do t = {t} end return t"),
              HasSubstr("nested too deep"));
}

// An element that would exceed the limit is not appended.
TEST(ScriptBudget, BoundsTheReplyBeforeEachElement) {
  ScriptStage stage({.reply_bytes_max = 1'000});
  const std::string refusal = "the reply of the script is too long: up to 1000 bytes are allowed";
  for (const std::string_view text :
       {"return ('x'):rep(1000)", "return {('x'):rep(500), ('x'):rep(500)}",
        "return {ok = ('x'):rep(1000)}", "return {err = 'A ' .. ('x'):rep(1000)}",
        "return redis.call('ECHO', ('x'):rep(1000))"}) {
    EXPECT_THAT(stage.Eval(text), HasSubstr(refusal)) << text;
  }
  EXPECT_THAT(stage.Eval("return ('x'):rep(960)"), StartsWith("$960\r\nxxx"));
}

TEST(ScriptBudget, BoundsTheLog) {
  ScriptStage stage({.log_lines_max = 3});
  stage.Eval("for i = 1, 10 do redis.log(redis.LOG_NOTICE, ('x'):rep(1e5)) end");
  ASSERT_EQ(stage.host.log.size(), 3U);
  EXPECT_LE(stage.host.log[0].text.size(), 1024U);
}

TEST(ScriptBudget, LeavesNoMemoryBehind) {
  ScriptStage stage;
  const auto run = [&] { stage.Eval("local t = {} for i = 1, 1e5 do t[i] = {} end return #t"); };
  run();
  const std::size_t after_first_bytes = stage.interpreter.memory_bytes();
  for (int i = 0; i < 20; ++i) run();
  EXPECT_LT(stage.interpreter.memory_bytes(), after_first_bytes + ScriptLimits().memory_bytes_max);
}

}  // namespace
}  // namespace fairlock::script
