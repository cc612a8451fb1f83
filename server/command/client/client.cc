#include "server/command/client/client.h"

#include <cassert>
#include <utility>

#include "server/command/client/transaction.h"

namespace fairlock::command {

Client::Client(Transport& the_transport, GrantsInFlight& in_flight, ClientAddress address,
               engine::TimeMs now)
    : transport(the_transport), grants(in_flight) {
  profile.address = std::move(address);
  profile.connected_at = now;
  profile.active_at = now;
}

Client::~Client() { assert(is_detached); }

bool Client::Push(std::string_view bytes) {
  if (output.is_closing() || !transport.AdmitOutput(bytes.size())) return false;
  output.bytes().append(bytes);
  output.NoteFlags(kReadOnly);
  transport.NoticeOutput();
  return true;
}

void Client::EndWith(protocol::ErrorCode code, std::string_view text,
                     CommandStatistics& statistics) {
  statistics.CountError(code);
  writer().Error(code, text);
  output.CloseAfter();
  transport.NoticeOutput();
}

}  // namespace fairlock::command
