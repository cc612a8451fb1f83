// The server's side of a connection: a real pipeline and a real output gate on a link.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/command/execution/request_pipeline.h"
#include "server/command/server_parts.h"
#include "server/net/resp/output_gate.h"
#include "server/persist/state_log.h"
#include "tests/simulation/fleet/link.h"

namespace fairlock::fleet {

// What all connections of a run share in a turn.
struct Turn {
  command::ServerParts& parts;
  LinkNetwork& network;
  const Process& process;
  persist::StateLog* state_log = nullptr;  // null if this node does not lead
  engine::TimeMs now = 0;
  ServedBy by = {};
};

// Takes the same steps per turn as net::RespConnection, in the same order, but without sockets and
// their limits.
class ServerConnection final : private command::Transport {
 public:
  ServerConnection(Turn& turn, std::shared_ptr<Link> link);
  ~ServerConnection() { Close(); }
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  // Call these in this order in each turn:
  void Receive();
  void CloseIfDisconnected();
  void Execute();
  // Sends the output that the gate has released, and closes the connection when nothing is left.
  void Finish();

  void Close();
  bool is_closed() const { return is_closed_; }

 private:
  void NoticeOutput() override {}
  bool AdmitOutput(std::size_t /*bytes*/) override { return true; }
  void CloseNow() override {}

  command::Client& client() { return pipeline_.client(); }
  bool CanExecute() const { return !pipeline_.client().wait.is_waiting() && !input_.empty(); }
  bool IsWaitingOrUntold();
  void HoldBackOutput();
  void SendOutput();
  std::string_view SendFirst(std::string_view replies);
  void TellDecision();

  Turn& turn_;
  const std::shared_ptr<Link> link_;
  command::RequestPipeline pipeline_;
  net::OutputGate gate_;
  std::string input_;
  std::uint64_t seen_output_ = 0;
  TimeUs decided_at_ = 0;  // when output was last added
  bool is_closed_ = false;
};

}  // namespace fairlock::fleet
