// Any text that is run as a script gives one complete reply, and changes nothing for the scripts
// that follow.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/reply_scanner.h"
#include "tests/unit/server/script/script_test_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fairlock::script::ScriptStage;
  static ScriptStage stage({.steps_max = 200'000, .memory_bytes_max = 1U << 20U});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string reply = stage.Eval(text, {"k"}, {"a"});
  const auto skipped = fairlock::protocol::SkipReply(reply);
  assert(skipped.status == fairlock::protocol::ReplyStatus::kReply);
  assert(skipped.consumed == reply.size());
  assert(stage.Eval("return {#KEYS, ('abc'):upper(), type(redis.call)}") ==
         "*3\r\n:0\r\n$3\r\nABC\r\n$8\r\nfunction\r\n");
  stage.host.keys.clear();
  stage.host.calls.clear();
  stage.host.log.clear();
  return 0;
}
