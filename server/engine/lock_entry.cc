#include "server/engine/lock_entry.h"

#include <algorithm>
#include <boost/intrusive/parent_from_member.hpp>
#include <cassert>
#include <cstring>
#include <new>

namespace fairlock::engine {

Claim* Claim::Create(LockEntry& lock, std::string_view owner) {
  auto* claim = new (::operator new(sizeof(Claim) + owner.size())) Claim(lock);
  claim->owner_bytes = owner.size() & 0x3fff;
  std::memcpy(static_cast<void*>(claim + 1), owner.data(), owner.size());
  return claim;
}

void Claim::Destroy(Claim* claim) {
  const std::size_t size = sizeof(Claim) + claim->owner_bytes;
  claim->~Claim();
  ::operator delete(claim, size);
}

void LimitCounts::Add(std::uint32_t limit) {
  auto at = std::find_if(counts_.begin(), counts_.end(),
                         [&](const auto& entry) { return entry.first >= limit; });
  if (at == counts_.end() || at->first != limit) at = counts_.insert(at, {limit, 0});
  ++at->second;
}

void LimitCounts::Remove(std::uint32_t limit) {
  auto at = std::find_if(counts_.begin(), counts_.end(),
                         [&](const auto& entry) { return entry.first == limit; });
  assert(at != counts_.end());
  if (--at->second == 0) counts_.erase(at);
}

LockEntry* LockEntry::Create(const KeyName& key, std::string_view owner) {
  const std::size_t size = sizeof(LockEntry) + key.bytes.size() + owner.size();
  auto* lock = new (::operator new(size)) LockEntry(key.db);
  lock->plain.key_bytes = key.bytes.size() & 0x7ff;
  lock->plain.owner_bytes = owner.size() & 0x3fff;
  std::memcpy(lock->bytes(), key.bytes.data(), key.bytes.size());
  std::memcpy(lock->bytes() + key.bytes.size(), owner.data(), owner.size());
  return lock;
}

void LockEntry::Destroy(LockEntry* lock) {
  const std::size_t size = sizeof(LockEntry) + lock->key_size() + lock->plain.owner_bytes;
  lock->~LockEntry();
  ::operator delete(lock, size);
}

LockEntry& LockEntry::Of(Hold& hold) {
  if (hold.is_claim()) return static_cast<Claim&>(hold).lock;
  return *boost::intrusive::get_parent_from_member(&static_cast<PlainHold&>(hold),
                                                   &LockEntry::plain);
}

LockDetail& LockEntry::NeedDetail() {
  if (detail == nullptr) {
    detail = std::make_unique<LockDetail>();
    if (has_plain_hold()) detail->limits.Add(1);
  }
  return *detail;
}

}  // namespace fairlock::engine
