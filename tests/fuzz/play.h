// A play of several connections on one server, told as lines of text, for the fuzz target.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::fuzz {

// The front of `rest` up to the end of the line, which is dropped with it.
std::string_view TakeLine(std::string_view& rest);
// The number at the front of the text, at most `max`; 0 if there is none.
std::int64_t NumberAt(std::string_view text, std::int64_t max);

// What a line does; N is the number of a connection, 0 to 3:
//
//   N LOCK k a     sends it as a plain line      N*LOCK k a   sends its words with their lengths
//   N+LOCK k a     the same, together with what that connection sends next
//   N=bytes        sends the bytes as they are   Nx           hangs up, and connects anew
//   Nd             reads nothing any more, or again
//   >MS            time passes                   }MS          the same, and nobody looks
//   !N             what the server can do        #N           other users     p   passwords
//   compared
//
// Any other line does nothing. After each step the engine's invariants hold, and what was sent to
// anybody is made of whole replies; else the process ends.
class Play {
 public:
  static constexpr std::size_t kConnections = 4;

  // The number chooses options. `piece_bytes`: how many bytes arrive at a time; 0: all.
  Play(unsigned choice, std::size_t piece_bytes);

  void Step(std::string_view line);
  // Whoever can be answered is; when all hung up and time has passed, nothing is left.
  void End();

  // All that was heard in the last step, connection by connection.
  const std::array<std::string, kConnections>& heard() const { return heard_; }

 private:
  struct Peer {
    command::TestClient* client = nullptr;
    std::string kept_back = {};
    bool is_deaf = false;
    bool has_sent_parts = false;  // so the next line may belong to what is not whole yet
  };

  void StepOf(Peer& peer, std::string_view line);
  void Send(Peer& peer, std::string_view bytes);
  void SetUsers(std::size_t choice);
  static bool IsReady(const Peer& peer);
  // As the next turn does.
  void Settle();

  command::TestServer server_;
  const std::size_t piece_bytes_;
  std::array<Peer, kConnections> peers_;
  std::array<std::string, kConnections> heard_;
};

}  // namespace fairlock::fuzz
