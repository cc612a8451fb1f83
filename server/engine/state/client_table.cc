#include "server/engine/state/client_table.h"

#include <cassert>

namespace fairlock::engine {

ClientTable::ClientTable() : entries_(1) {}

ClientRef ClientTable::Connect(std::string_view address, std::string_view user) {
  ClientRef ref = kUnknownClient;
  if (!free_.empty()) {
    ref = free_.back();
    free_.pop_back();
  } else if (entries_.size() <= kClientRefMax) {
    ref = static_cast<ClientRef>(entries_.size());
    entries_.emplace_back();
  } else {
    return kUnknownClient;
  }
  Entry& entry = entries_[ref];
  entry.identity = {std::string(address), {}, std::string(user), true};
  entry.uses = 1;
  return ref;
}

void ClientTable::Disconnect(ClientRef ref) {
  if (ref == kUnknownClient) return;
  entries_[ref].identity.is_connected = false;
  DropUse(ref);
}

void ClientTable::Rename(ClientRef ref, std::string_view name) {
  if (ref != kUnknownClient) entries_[ref].identity.name = name;
}

void ClientTable::SetUser(ClientRef ref, std::string_view user) {
  if (ref != kUnknownClient) entries_[ref].identity.user = user;
}

void ClientTable::Free(ClientRef ref) {
  entries_[ref].identity = {};
  free_.push_back(ref);
}

}  // namespace fairlock::engine
