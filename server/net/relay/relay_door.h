// The sink for the listening sockets of a standby.
#pragma once

#include <functional>
#include <utility>

#include "server/net/relay/parked_connections.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// Loop-confined.
class RelayDoor final : public ConnectionSink {
 public:
  // `turn` must outlive this.
  RelayDoor(Turn& turn, bool is_tls, std::function<void(ParkedConnection)> take)
      : turn_(turn), is_tls_(is_tls), take_(std::move(take)) {}

  void TakeConnection(int descriptor, command::ClientAddress address) override {
    take_(
        {.socket = OwnedDescriptor(descriptor), .address = std::move(address), .is_tls = is_tls_});
  }
  void LogAcceptFailed(int error) override { turn_.events.LogAcceptFailed(error, turn_.now); }

 private:
  Turn& turn_;
  const bool is_tls_;
  const std::function<void(ParkedConnection)> take_;
};

}  // namespace fairlock::net
