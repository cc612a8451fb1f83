#include "tests/scenarios/virtual_stage.h"

#include <cassert>

#include "tests/scenarios/line_reader.h"

namespace fairlock::scenarios {

namespace {

constexpr std::size_t kStepsMax = 1000;

// As on the command line, 0 means no limit.
std::uint64_t ReadLimit(LineReader& value) {
  const std::int64_t limit = value.Integer().value_or(-1);
  if (limit < 0) value.Fail("not a limit");
  return limit > 0 ? static_cast<std::uint64_t>(limit) : ~std::uint64_t{0};
}

}  // namespace

bool ApplyOptions(const std::vector<ServerOption>& options, engine::EngineOptions& engine_options) {
  for (const ServerOption& option : options) {
    LineReader value(option.value);
    if (option.name == "default-lease") {
      engine_options.default_lease_ms = value.DurationMs();
    } else if (option.name == "max-locks") {
      engine_options.locks_max = ReadLimit(value);
    } else if (option.name == "max-places") {
      engine_options.places_max = ReadLimit(value);
    } else if (option.name == "max-places-per-key") {
      engine_options.places_per_key_max = ReadLimit(value);
    } else if (option.name == "max-locks-per-connection") {
      engine_options.claims_per_client_max = ReadLimit(value);
    } else if (option.name == "reconnect-grace") {
      engine_options.reconnect_grace_ms = value.DurationMs();
    } else if (option.name == "compat.end-native-leases") {
      engine_options.ends_native_leases = value.BareWord() == "yes";
    } else if (option.name == "compat.keep-place") {
      engine_options.keep_rules.Set({{.pattern = "*", .keep_ms = value.DurationMs()}});
    } else if (option.name == "max-keep") {
      engine_options.keep_ms_max = value.DurationMs();
    } else if (option.name == "deadlock-search") {
      engine_options.deadlock_search = static_cast<std::size_t>(ReadLimit(value));
    } else if (option.name == "max-limit-overrides") {
      engine_options.limit_overrides_max = static_cast<std::size_t>(ReadLimit(value));
    } else {
      return false;
    }
    value.Finish();
    if (value.failed()) return false;
  }
  return true;
}

std::string VirtualStage::Begin() {
  assert(peers_.empty());
  server_.emplace(options_.engine);
  return {};
}

std::string VirtualStage::End() {
  while (!peers_.empty()) Close(peers_.begin()->first);
  // In the end, every lease that has an end expires, and no request waits any more.
  return server_->EndEverything();
}

std::string VirtualStage::Open(const std::string& who) {
  peers_[who].client = &server_->Connect();
  return {};
}

void VirtualStage::Send(const std::string& who, std::string_view bytes) {
  Peer& peer = peers_.at(who);
  const std::size_t piece = options_.piece_bytes == 0 ? bytes.size() : options_.piece_bytes;
  while (!bytes.empty() && !peer.client->is_closed()) {
    const std::string_view arrived = bytes.substr(0, piece);
    peer.inbox.Append(peer.client->SendBytes(arrived));
    bytes.remove_prefix(arrived.size());
    Deliver();
  }
}

void VirtualStage::Close(const std::string& who) {
  peers_.at(who).client->Close();
  peers_.erase(who);
  Deliver();
}

void VirtualStage::Deliver() {
  // Continues deferred work, as the next turn would.
  while (server_->parts().Advance(server_->now(), kStepsMax)) {
  }
  server_->ExecuteReady();
  for (auto& [who, peer] : peers_) peer.inbox.Append(peer.client->HearBytes());
  server_->parts().locks.engine().CheckInvariants();
}

std::optional<protocol::Reply> VirtualStage::Take(const std::string& who, Patience) {
  return peers_.at(who).inbox.Take();
}

bool VirtualStage::IsClosed(const std::string& who, Patience) {
  return peers_.at(who).client->is_closed();
}

void VirtualStage::Advance(std::int64_t duration_ms) {
  server_->AdvanceBy(duration_ms);
  Deliver();
}

}  // namespace fairlock::scenarios
