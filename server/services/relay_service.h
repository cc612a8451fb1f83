// A standby's view of its leader: relays connections to it, and finds out whether it is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "contracts/loop_confined.h"
#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/loop/loop_poster.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/relay/alarm.h"
#include "server/net/relay/leader_probe.h"
#include "server/net/relay/relay.h"
#include "server/net/sockets/connection_sink.h"
#include "storage/replicated/standby.h"

namespace fairlock::server {

// Does nothing in a server that is not a node of a fleet. Loop-confined, except LeaderSeen;
// destroyed before the loop.
class RelayService : contracts::LoopConfined {
 public:
  // All arguments must outlive this object.
  RelayService(net::TurnLoop& loop, Log& log);
  RelayService(const RelayService&) = delete;
  RelayService& operator=(const RelayService&) = delete;

  // Call this before the first connection, and before LeaderSeen. `tls` is the sink for TLS
  // connections once this node leads; null if there is none. `on_refused` is called when the
  // process of that run is gone.
  void Start(const Config& config, net::ConnectionSink* tls,
             std::function<void(const storage::replicated::RunId&)> on_refused);

  // The sinks for the listening sockets; null if this node does not relay.
  net::ConnectionSink* door() { return relay_ ? &relay_->door() : nullptr; }
  net::ConnectionSink* tls_door() { return relay_ ? &relay_->tls_door() : nullptr; }

  // Called when the view has changed, by the thread that awaits the leadership.
  void LeaderSeen(const storage::replicated::LeaderView& view);
  // Call this when this node leads and has loaded the locks, or when it must answer all requests
  // itself. Nothing is relayed any more.
  void ServeHere();
  // Call this when the server stops.
  void Close();
  void Apply(const Config& config);

 private:
  // Where the connections that arrive are answered.
  enum class Answering : std::uint8_t { kElsewhere, kHereMeanwhile, kHere };

  void OnLeader(const storage::replicated::LeaderView& view);
  void OnOtherLeader(const storage::replicated::LeaderView& view);
  // While nobody can lead, this node answers all requests itself. It refuses those about locks, but
  // says what it knows of the fleet.
  void AnswerHere();
  void EndAnswering();
  // None if no leader is known that this node could connect to.
  std::optional<net::LeaderAddress> AddressOf(const storage::replicated::LeaderView& view) const;

  net::TurnLoop& loop_;
  Log& log_;
  std::string own_address_;
  net::ConnectionSink* tls_ = nullptr;
  std::optional<net::Relay> relay_;
  std::optional<net::LeaderProbe> probe_;
  Answering answering_ = Answering::kElsewhere;
  struct {
    storage::replicated::Beat leader;
    bool awaits_acceptance = false;
    bool is_lost = false;
  } seen_;           // the view that was handled last
  net::Alarm late_;  // set until this node has heard of a leader, and while it takes over
  net::LoopPoster to_loop_;
};

}  // namespace fairlock::server
