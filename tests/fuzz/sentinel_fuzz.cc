// Whatever arrives at the Sentinel port, the output consists of complete replies and messages.
// These are the same whether the bytes arrive at once or in pieces, and no lock is taken. The first
// line chooses options; the rest is the input of one connection.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/reply_parser.h"
#include "server/sentinel/leader_watch.h"
#include "server/sentinel/session.h"
#include "tests/fuzz/play.h"
#include "tests/unit/server/command/command_test_support.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace {

namespace command = fairlock::command;
namespace protocol = fairlock::protocol;
namespace sentinel = fairlock::sentinel;

constexpr int kTurnsMax = 100'000;

class Port {
 public:
  explicit Port(unsigned choice) {
    if ((choice & 1U) != 0) server_.SetUsers("user default on >pw ~* &* +@all\n");
    fleet_.SetLeader((choice & 2U) != 0 ? "lock1" : "lock2");
    watch_.Look();
  }
  ~Port() {
    session_.Detach(server_.now());
    assert(server_.parts().locks.engine().CountLocks(0) == 0);
    server_.parts().locks.engine().CheckInvariants();
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void Receive(std::string_view bytes) {
    if (IsClosed()) return;
    input_ += bytes;
    for (int turn = 0; turn < kTurnsMax; ++turn) {
      input_.erase(0, session_.Consume(input_, server_.now()));
      output_ += session_.TakeOutput();
      if (!session_.has_more_to_execute() || IsClosed()) return;
      server_.CheckPasswords();
    }
    assert(false);
  }

  // Returns the output of the connection after another node has become the leader.
  std::string End() {
    fleet_.SetLeader("lock3");
    for (const sentinel::Message& message : watch_.Look()) session_.Publish(message);
    return output_ + session_.TakeOutput();
  }

 private:
  bool IsClosed() const { return session_.is_over() || session_.is_killed(); }

  command::FakeFleet fleet_;
  command::TestServer server_;
  sentinel::LeaderWatch watch_{fleet_};
  sentinel::Session session_{
      server_.parts(), watch_, {"127.0.0.1:40000", "127.0.0.1:3249", 9}, server_.now(), [] {}};
  std::string input_;
  std::string output_;
};

bool IsWholeReplies(std::string_view bytes) {
  while (!bytes.empty()) {
    protocol::Reply reply;
    std::size_t consumed = 0;
    const auto status = protocol::ReplyParser().Parse(bytes, reply, consumed);
    if (status != protocol::ReplyStatus::kReply) return false;
    bytes.remove_prefix(consumed);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto choice =
      static_cast<unsigned>(fairlock::fuzz::NumberAt(fairlock::fuzz::TakeLine(rest), 255));
  Port whole(choice);
  whole.Receive(rest);
  Port in_pieces(choice);
  const std::size_t piece = choice / 4 + 1;
  for (; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size()))) {
    in_pieces.Receive(rest.substr(0, piece));
  }
  const std::string output = whole.End();
  assert(IsWholeReplies(output));
  // CLIENT INFO shows how much input and output is pending, which depends on the pieces.
  if (output.find(" qbuf=") == std::string::npos) assert(in_pieces.End() == output);
  return 0;
}
