// The clients that have holds and places: one entry per connection, kept while anything refers to
// it.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/attachment.h"

namespace fairlock::engine {

// Entries are reference-counted: the open connection is one use, and each hold and place is one
// more. When all 2^20 - 1 entries are in use, further clients are kUnknownClient.
class ClientTable {
 public:
  ClientTable();

  ClientRef Connect(std::string_view address, std::string_view user);
  void Disconnect(ClientRef ref);
  void Rename(ClientRef ref, std::string_view name);
  void SetUser(ClientRef ref, std::string_view user);

  void AddUse(ClientRef ref) {
    if (ref != kUnknownClient) ++entries_[ref].uses;
  }
  void DropUse(ClientRef ref) {
    if (ref == kUnknownClient) return;
    assert(entries_[ref].uses > 0);
    if (--entries_[ref].uses == 0) Free(ref);
  }

  // How many holds and places refer to it; 0 for kUnknownClient. REQUIRES: it is connected.
  std::uint32_t CountClaims(ClientRef ref) const {
    return ref == kUnknownClient ? 0 : entries_[ref].uses - 1;
  }
  const ClientIdentity& Identity(ClientRef ref) const { return entries_[ref].identity; }
  std::size_t size() const { return entries_.size() - 1 - free_.size(); }

 private:
  struct Entry {
    ClientIdentity identity;
    std::uint32_t uses = 0;
  };

  void Free(ClientRef ref);

  std::vector<Entry> entries_;
  std::vector<ClientRef> free_;
};

}  // namespace fairlock::engine
