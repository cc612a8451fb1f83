#include "server/engine/state/lock_entry.h"

#include <algorithm>
#include <boost/intrusive/parent_from_member.hpp>
#include <cassert>
#include <cstring>

namespace fairlock::engine {

void HoldList::Index(Claim& hold) {
  if (by_token_ != nullptr) {
    by_token_->emplace(Token{hold.token}, &hold);
    return;
  }
  by_token_ = std::make_unique<boost::unordered_flat_map<Token, Claim*>>();
  by_token_->reserve(2 * size());
  for (Claim& each : *this) by_token_->emplace(Token{each.token}, &each);
}

void HoldList::erase(Claim& hold) {
  if (by_token_ != nullptr) by_token_->erase(Token{hold.token});
  Base::erase(iterator_to(hold));
  if (size() <= kSearchedMax / 2) by_token_.reset();
}

const Claim* HoldList::Find(Token token) const {
  if (by_token_ != nullptr) {
    const auto found = by_token_->find(token);
    return found == by_token_->end() ? nullptr : found->second;
  }
  // Starts at the newest hold, which is nearly always the one sought.
  const auto found =
      std::find_if(rbegin(), rend(), [&](const Claim& claim) { return claim.token == token; });
  return found == rend() ? nullptr : &*found;
}

namespace {

using MetaSize = std::uint16_t;

std::size_t SizeWith(std::optional<std::string_view> meta) {
  return meta ? sizeof(MetaSize) + meta->size() : 0;
}

}  // namespace

LockEntry* LockEntry::Create(BlockPool& memory, const KeyName& key, const PlainTerms& terms) {
  const std::string_view owner = terms.owner;
  const std::size_t size =
      sizeof(LockEntry) + key.bytes.size() + owner.size() + SizeWith(terms.meta);
  auto* lock = new (memory.Take(size)) LockEntry(key.db, terms);
  lock->plain.key_bytes = key.bytes.size() & 0x7ff;
  lock->plain.owner_bytes = owner.size() & 0x3fff;
  std::memcpy(lock->bytes(), key.bytes.data(), key.bytes.size());
  char* end = lock->bytes() + key.bytes.size();
  // A lock without a plain hold has no owner, so there are no bytes to copy.
  if (!owner.empty()) end = static_cast<char*>(std::memcpy(end, owner.data(), owner.size()));
  if (terms.meta) {
    const auto meta_size = static_cast<MetaSize>(terms.meta->size());
    std::memcpy(end + owner.size(), &meta_size, sizeof(meta_size));
    std::copy(terms.meta->begin(), terms.meta->end(), end + owner.size() + sizeof(meta_size));
  }
  return lock;
}

std::optional<std::string_view> LockEntry::plain_meta() const {
  if (!plain.has_meta()) return std::nullopt;
  MetaSize size = 0;
  std::memcpy(&size, meta_bytes(), sizeof(size));
  return std::string_view(meta_bytes() + sizeof(size), size);
}

void LockEntry::Destroy(BlockPool& memory, LockEntry* lock) {
  const std::size_t size =
      sizeof(LockEntry) + lock->key_size() + lock->plain.owner_bytes + SizeWith(lock->plain_meta());
  lock->~LockEntry();
  memory.Give(lock, size);
}

LockEntry& LockEntry::Of(Hold& hold) {
  if (hold.is_claim()) return static_cast<Claim&>(hold).lock;
  return *boost::intrusive::get_parent_from_member(&static_cast<PlainHold&>(hold),
                                                   &LockEntry::plain);
}

ContendedLock& LockEntry::NeedContended() {
  if (contended == nullptr) {
    contended = std::make_unique<ContendedLock>();
    if (has_plain_hold()) contended->slots.Take(plain.mode());
  }
  return *contended;
}

}  // namespace fairlock::engine
