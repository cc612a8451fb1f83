#include "server/engine/state/claim.h"

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

ClaimExtras& Claim::NeedExtras() {
  if (extras == nullptr) extras = std::make_unique<ClaimExtras>();
  return *extras;
}

}  // namespace fairlock::engine
