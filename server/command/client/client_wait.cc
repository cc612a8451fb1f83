#include "server/command/client/client_wait.h"

#include <cassert>

namespace fairlock::command {

void ClientWait::Begin(WaitKind kind, ServerGauges& gauges) {
  assert(!is_waiting());
  kind_ = kind;
  ++gauges.waiting_clients;
}

void ClientWait::End(ServerGauges& gauges) {
  if (is_waiting()) --gauges.waiting_clients;
  kind_ = WaitKind::kNothing;
}

void ClientWait::ExplainLater(RequestToExplain request) {
  explained_ = std::make_unique<RequestToExplain>(std::move(request));
}

void ClientWait::Deny(std::string denial) {
  denial_ = std::make_unique<std::string>(std::move(denial));
}

void ClientWait::BeginLogIn(PendingLogIn log_in, ServerGauges& gauges) {
  log_in_ = std::make_unique<PendingLogIn>(std::move(log_in));
  Begin(WaitKind::kLogIn, gauges);
}

}  // namespace fairlock::command
