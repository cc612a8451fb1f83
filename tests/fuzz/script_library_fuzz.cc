// For any pattern, our matcher gives the same result as Lua's own, and any JSON that can be read is
// written as JSON that reads as the same value.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/unit/server/script/original_lua.h"
#include "tests/unit/server/script/script_test_support.h"

namespace {

using namespace fairlock::script;  // NOLINT(google-build-using-namespace)

// Uses only short patterns, because Lua's own matcher stops at a zero byte and has no bound on time
// or nesting.
void ComparePatterns(ScriptStage& stage, OriginalLua& original, std::string_view input) {
  const std::string_view pattern = input.substr(0, input.size() / 2).substr(0, 12);
  const std::string_view subject = input.substr(input.size() / 2).substr(0, 16);
  if (pattern.find('\0') != std::string_view::npos) return;
  for (const char* function : {"string.find", "string.match"}) {
    const std::string script = ShowingCall(function, Literal(subject) + ", " + Literal(pattern));
    const std::string expected = original.Run(script);
    assert(stage.Eval(script) ==
           "$" + std::to_string(expected.size()) + "\r\n" + expected + "\r\n");
  }
}

void ReadAndWriteJson(ScriptStage& stage, std::string_view json) {
  const std::string reply = stage.Eval(
      // Compares values rather than strings, because the order of names is that of a hash table.
      "local function same(a, b) "
      "  if type(a) ~= 'table' or type(b) ~= 'table' then return a == b end "
      "  for name, value in pairs(a) do if not same(value, b[name]) then return false end end "
      "  for name in pairs(b) do if a[name] == nil then return false end end "
      "  return true "
      "end "
      "local ok, value = pcall(cjson.decode, ARGV[1]) if not ok then return 1 end "
      "local written, text = pcall(cjson.encode, value) if not written then return 1 end "
      "local again = cjson.decode(text) "
      "return same(again, cjson.decode(cjson.encode(again))) and 1 or text",
      {}, {json});
  assert(reply == ":1\r\n" || reply.starts_with("-ERR "));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Only the number of steps is limited, so that the load on the machine does not matter.
  static ScriptStage stage(
      {.steps_max = 1'000'000, .time_max_ms = 3'600'000, .cached_scripts_max = 8});
  static OriginalLua original;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  ComparePatterns(stage, original, input);
  ReadAndWriteJson(stage, input);
  return 0;
}
