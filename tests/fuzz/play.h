// Several connections to one server for fuzz targets, whose actions are described by lines of text.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::fuzz {

// Removes the first line of `rest`, with its line end, and returns it without the line end.
std::string_view TakeLine(std::string_view& rest);
// Returns the number at the start of the text, at most `max`; 0 if there is none.
std::int64_t NumberAt(std::string_view text, std::int64_t max);

// The effect of a line; N is the number of a connection, 0 to 3:
//
//   N LOCK k a     sends it as a plain line      N*LOCK k a   sends its words with their lengths
//   N+LOCK k a     the same, together with the next bytes that the connection sends
//   N=bytes        sends the bytes unchanged     Nx           disconnects, and connects again
//   Nd             stops reading, or resumes
//   >MS            time passes                   }MS          the same, without a turn of the loop
//   !N             sets the level of service     #N           sets other users
//   p              completes password comparisons
//
// Any other line has no effect. After each step the engine's invariants hold, and everything sent
// to a client consists of whole replies; otherwise the process ends.
class Play {
 public:
  static constexpr std::size_t kConnections = 4;

  // `choice` selects options. `piece_bytes` is how many bytes arrive at a time; 0 means all at
  // once.
  Play(unsigned choice, std::size_t piece_bytes);

  void Step(std::string_view line);
  // Answers every client that can be answered. Then all clients disconnect, time passes, and this
  // checks that nothing is left.
  void End();

  // The output of the last step, by connection.
  const std::array<std::string, kConnections>& heard() const { return heard_; }

 private:
  struct Peer {
    command::TestClient* client = nullptr;
    std::string kept_back = {};
    bool is_deaf = false;
    bool has_sent_parts = false;  // if set, the next line may complete a partial request
  };

  void StepOf(Peer& peer, std::string_view line);
  void Send(Peer& peer, std::string_view bytes);
  void SetUsers(std::size_t choice);
  static bool IsReady(const Peer& peer);
  // Does all outstanding work, as the loop would in its next turn.
  void Settle();

  command::TestServer server_;
  const std::size_t piece_bytes_;
  std::array<Peer, kConnections> peers_;
  std::array<std::string, kConnections> heard_;
};

}  // namespace fairlock::fuzz
