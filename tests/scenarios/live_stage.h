// A running server, used through sockets and in real time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/scenarios/connection.h"
#include "tests/scenarios/inbox.h"
#include "tests/scenarios/stage.h"

namespace fairlock::scenarios {

struct LiveStageOptions {
  Address server;
  std::int64_t slack_ms = 1'000;
  // How long to wait for a reply that must come.
  std::chrono::milliseconds patience{10'000};
};

// Cases run one after the other on one server: at the start and end of each, all locks are broken.
class LiveStage final : public Stage {
 public:
  explicit LiveStage(const LiveStageOptions& options) : options_(options) {}

  std::string Begin() override;
  std::string End() override;
  bool IsOpen(const std::string& who) const override { return peers_.count(who) != 0; }
  std::string Open(const std::string& who) override;
  void Send(const std::string& who, std::string_view bytes) override;
  void Close(const std::string& who) override;
  std::optional<protocol::Reply> Take(const std::string& who, Patience patience) override;
  bool IsClosed(const std::string& who, Patience patience) override;
  void Advance(std::int64_t duration_ms) override;
  std::int64_t slack_ms() const override { return options_.slack_ms; }

 private:
  struct Peer {
    Connection connection;
    Inbox inbox;
  };

  // Waits for more data from the peer; returns false if none came.
  bool ReceiveMore(Peer& peer, std::chrono::milliseconds patience);
  // Returns when the server has processed everything that was sent to it before, and has sent all
  // resulting messages.
  void Settle();
  // Sends a request from the stage itself. Returns nullopt if the server did not answer.
  std::optional<protocol::Reply> Ask(std::string_view request);
  void CancelAllPlaces(const std::string& key);
  void DropOverrides();
  std::string BreakAllLocks();

  const LiveStageOptions options_;
  Peer own_;
  std::map<std::string, Peer> peers_;
};

}  // namespace fairlock::scenarios
