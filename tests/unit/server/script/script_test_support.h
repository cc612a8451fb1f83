// Support for running scripts in tests: a few commands on a map of keys, and a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/script/host.h"
#include "server/script/interpreter.h"

namespace fairlock::script {

// Implements PING ECHO GET SET SETNX DEL EXISTS MGET INCRBY APPEND like Redis, as far as the tests
// need them.
class KeyHost final : public Host {
 public:
  void Execute(const CommandCall& call, std::string& reply) override;
  std::uint64_t NowNs() override;
  std::uint64_t ProcessorNs() override;
  void Log(LogLevel level, std::string_view text) override;

  struct LogLine {
    LogLevel level;
    std::string text;
  };

  std::map<std::string, std::string, std::less<>> keys;
  std::vector<LogLine> log;
  std::vector<std::string> calls;  // the command names as the script wrote them
  // Each reading advances the clock by this much; 0 means that the machine's clock is used.
  std::uint64_t tick_ns = 0;
  // The clock is this process's processor time, so that other programs do not affect it.
  bool counts_processor_time = false;
  // Each command advances the clock by this much; between commands, the clock stands still.
  std::uint64_t command_ns = 0;
  // How often the clock was read.
  std::uint64_t looks = 0;

 private:
  std::uint64_t now_ns_ = 0;
};

// An interpreter with its host, for tests that run scripts and check the replies.
class ScriptStage {
 public:
  explicit ScriptStage(const ScriptLimits& limits = {}) : interpreter(limits) {}

  // Runs the script as EVAL does, and returns the reply.
  std::string Eval(std::string_view text, std::initializer_list<std::string_view> keys = {},
                   std::initializer_list<std::string_view> arguments = {});
  std::string EvalResp3(std::string_view text);
  std::string EvalReadOnly(std::string_view text);

  Interpreter interpreter;
  KeyHost host;
  std::uint64_t used_ns = 0;  // how much of the next script's time earlier scripts have used

 private:
  std::string Run(std::string_view text, const RunOptions& options);
};

}  // namespace fairlock::script
