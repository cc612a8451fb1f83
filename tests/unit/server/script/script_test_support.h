// What scripts need to be run in a test: a few commands on a map of keys, and a clock.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/script/host.h"
#include "server/script/interpreter.h"

namespace fairlock::script {

// PING ECHO GET SET SETNX DEL EXISTS MGET INCRBY APPEND, as in Redis as far as scripts of the tests
// go.
class KeyHost final : public Host {
 public:
  void Execute(const CommandCall& call, std::string& reply) override;
  std::uint64_t NowNs() override;
  void Log(LogLevel level, std::string_view text) override;

  struct LogLine {
    LogLevel level;
    std::string text;
  };

  std::map<std::string, std::string, std::less<>> keys;
  std::vector<LogLine> log;
  std::vector<std::string> calls;  // the names, as they were called
  // Each look at the clock finds it so much later; 0: it is the clock of the machine.
  std::uint64_t tick_ns = 0;
  // The clock is the processor time of this process: other programs do not count.
  bool counts_processor_time = false;
  // Each command takes so long by the clock, which then stands still in between.
  std::uint64_t command_ns = 0;

 private:
  std::uint64_t now_ns_ = 0;
};

// Interpreter and host, for tests that say what is sent and what is answered.
class ScriptStage {
 public:
  explicit ScriptStage(const ScriptLimits& limits = {}) : interpreter(limits) {}

  // The reply of EVAL.
  std::string Eval(std::string_view text, std::initializer_list<std::string_view> keys = {},
                   std::initializer_list<std::string_view> arguments = {});
  std::string EvalResp3(std::string_view text);
  std::string EvalReadOnly(std::string_view text);

  Interpreter interpreter;
  KeyHost host;

 private:
  std::string Run(std::string_view text, const RunOptions& options);
};

}  // namespace fairlock::script
