// One client as commands see it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "protocol/reply_writer.h"
#include "protocol/wire_error.h"
#include "server/command/client/client_output.h"
#include "server/command/client/client_profile.h"
#include "server/command/client/client_rights.h"
#include "server/command/client/client_wait.h"
#include "server/command/client/subscriptions.h"
#include "server/command/client/transport.h"
#include "server/command/client/unsent_grants.h"
#include "server/command/statistics/command_statistics.h"
#include "server/engine/api/attachment.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Transaction;

// Independent of sockets: a transport sends the output. Loop-confined.
class Client final : public engine::Attachment {
 public:
  Client(Transport& the_transport, GrantsInFlight& in_flight, ClientAddress address,
         engine::TimeMs now);
  ~Client();  // REQUIRES: Detach was called

  protocol::ReplyWriter writer() { return {output.bytes(), profile.version}; }
  // Appends bytes that answer no request: a message in the client's protocol version, or a line
  // about another client's request. A client that does not read such bytes is closed when it
  // reaches its output limit. Returns false if they were not appended because the connection is
  // about to close.
  bool Push(std::string_view bytes);
  // Sends the error, then closes the connection.
  void EndWith(protocol::ErrorCode code, std::string_view text, CommandStatistics& statistics);
  // Called when the transport has passed `bytes` more bytes of the output to the kernel.
  void NoticeSent(std::size_t bytes) {
    output.CountSent(bytes);
    grants.Confirm(output.sent());
  }
  // Whether the client may use only a few commands, because it is a subscriber and in RESP2 a
  // message looks like a reply.
  bool is_confined() const {
    return subscriptions != nullptr && profile.version == protocol::RespVersion::kResp2;
  }

  Transport& transport;
  ClientOutput output;
  ClientProfile profile;
  ClientRights rights;
  ClientWait wait;
  UnsentGrants grants;
  std::unique_ptr<Subscriptions> subscriptions;  // null: no subscriptions
  std::unique_ptr<Transaction> transaction;      // null: no MULTI, no WATCH
  bool is_detached = false;                      // its connection is closed
};

}  // namespace fairlock::command
