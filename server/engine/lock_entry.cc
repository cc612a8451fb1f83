#include "server/engine/lock_entry.h"

#include <boost/intrusive/parent_from_member.hpp>
#include <cassert>
#include <cstring>

namespace fairlock::engine {

LockEntry* LockEntry::Create(BlockPool& memory, const KeyName& key, std::string_view owner) {
  const std::size_t size = sizeof(LockEntry) + key.bytes.size() + owner.size();
  auto* lock = new (memory.Take(size)) LockEntry(key.db);
  lock->plain.key_bytes = key.bytes.size() & 0x7ff;
  lock->plain.owner_bytes = owner.size() & 0x3fff;
  std::memcpy(lock->bytes(), key.bytes.data(), key.bytes.size());
  std::memcpy(lock->bytes() + key.bytes.size(), owner.data(), owner.size());
  return lock;
}

void LockEntry::Destroy(BlockPool& memory, LockEntry* lock) {
  const std::size_t size = sizeof(LockEntry) + lock->key_size() + lock->plain.owner_bytes;
  lock->~LockEntry();
  memory.Give(lock, size);
}

LockEntry& LockEntry::Of(Hold& hold) {
  if (hold.is_claim()) return static_cast<Claim&>(hold).lock;
  return *boost::intrusive::get_parent_from_member(&static_cast<PlainHold&>(hold),
                                                   &LockEntry::plain);
}

LockDetail& LockEntry::NeedDetail() {
  if (detail == nullptr) {
    detail = std::make_unique<LockDetail>();
    if (has_plain_hold()) detail->rooms.Take({});
  }
  return *detail;
}

}  // namespace fairlock::engine
