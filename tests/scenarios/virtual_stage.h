// The server's logic without sockets and in virtual time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/scenarios/inbox.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/stage.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::scenarios {

// Applies the server's options to the engine; returns false if one of them is unknown here.
bool ApplyOptions(const std::vector<ServerOption>& options, engine::EngineOptions& engine_options);

struct VirtualStageOptions {
  engine::EngineOptions engine = {};
  // How many bytes arrive at a time; 0 means everything that was sent.
  std::size_t piece_bytes = 0;
};

// Each case has its own server. Time passes only in Advance, from deadline to deadline, so that
// everything happens exactly when it is due. The engine's invariants are checked after each step.
class VirtualStage final : public Stage {
 public:
  explicit VirtualStage(const VirtualStageOptions& options) : options_(options) {}

  std::string Begin() override;
  std::string End() override;
  bool IsOpen(const std::string& who) const override { return peers_.count(who) != 0; }
  std::string Open(const std::string& who) override;
  void Send(const std::string& who, std::string_view bytes) override;
  void Close(const std::string& who) override;
  std::optional<protocol::Reply> Take(const std::string& who, Patience patience) override;
  bool IsClosed(const std::string& who, Patience patience) override;
  void Advance(std::int64_t duration_ms) override;
  std::int64_t slack_ms() const override { return 0; }

 private:
  struct Peer {
    command::TestClient* client = nullptr;  // owned by the server
    Inbox inbox;
  };

  // Called after each step: delivers what the server sent to all connections.
  void Deliver();

  const VirtualStageOptions options_;
  std::optional<command::TestServer> server_;
  std::map<std::string, Peer> peers_;
};

}  // namespace fairlock::scenarios
