// Answers on standard output the ECHO and EVAL requests from standard input: runs scripts on a map
// of keys, without a server.

#include <charconv>
#include <iostream>
#include <string>

#include "protocol/request_parser.h"
#include "tests/unit/server/script/script_test_support.h"

namespace {

using namespace fairlock;  // NOLINT(google-build-using-namespace)

class Console {
 public:
  // Returns false if there are no more requests.
  bool AnswerNext();

 private:
  bool ReadRequest();
  void Execute(std::string& reply);

  script::ScriptStage stage_{{.time_max_ms = 60'000}};
  std::string input_;
  std::size_t consumed_ = 0;
  protocol::RequestParser parser_;
  protocol::Arguments arguments_;
};

bool Console::ReadRequest() {
  input_.erase(0, consumed_);
  consumed_ = 0;
  for (;;) {
    const auto result = parser_.Parse(input_, protocol::kDefaultLimits, arguments_);
    if (result.status == protocol::ParseStatus::kRequest) {
      consumed_ = result.consumed;
      return true;
    }
    input_.erase(0, result.consumed);
    const int next = std::cin.get();
    if (result.status == protocol::ParseStatus::kError || next < 0) return false;
    input_.push_back(static_cast<char>(next));
  }
}

void Console::Execute(std::string& reply) {
  const auto arguments = arguments_.views();
  if (arguments[0] == "ECHO") {
    return protocol::ReplyWriter(reply, protocol::RespVersion::kResp2).Bulk(arguments[1]);
  }
  std::size_t keys = 0;
  std::from_chars(arguments[2].data(), arguments[2].data() + arguments[2].size(), keys);
  const auto loaded = stage_.interpreter.Load(arguments[1], stage_.host);
  if (loaded.script == nullptr) {
    reply = "-ERR " + loaded.error + "\r\n";
    return;
  }
  stage_.interpreter.Run(*loaded.script,
                         {stage_.host, arguments.subspan(3, keys), arguments.subspan(3 + keys),
                          protocol::RespVersion::kResp2, false},
                         reply);
}

bool Console::AnswerNext() {
  if (!ReadRequest()) return false;
  std::string reply;
  Execute(reply);
  std::cout << reply << std::flush;
  return true;
}

}  // namespace

int main() {
  Console console;
  while (console.AnswerNext()) {
  }
  return 0;
}
