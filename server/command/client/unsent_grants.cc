#include "server/command/client/unsent_grants.h"

#include <algorithm>
#include <iterator>

namespace fairlock::command {

void UnsentGrants::Add(std::uint64_t reply_end, std::uint64_t key_hash, engine::Token token) {
  Add({reply_end, key_hash, token});
}

void UnsentGrants::AddAwaited(std::uint64_t reply_end, std::uint64_t key_hash,
                              engine::Token token) {
  Add({reply_end, key_hash, token, true});
}

void UnsentGrants::AddDelivery(std::uint64_t message_end, const DeliveredGrant& grant,
                               bool is_shared) {
  Add({message_end, grant.key_hash, grant.token, true, is_shared});
}

void UnsentGrants::AddLostDelivery(const DeliveredGrant& grant, bool is_shared) {
  constexpr std::uint64_t kNeverSent = ~std::uint64_t{0};
  Add({kNeverSent, grant.key_hash, grant.token, true, is_shared});
}

void UnsentGrants::Add(const UnsentGrant& grant) {
  if (grants_.empty()) in_flight_.Add(*this);
  grants_.push_back(grant);
}

bool UnsentGrants::Has(engine::Token token) const {
  return std::any_of(grants_.begin(), grants_.end(),
                     [&](const UnsentGrant& grant) { return grant.token == token; });
}

bool UnsentGrants::HasAwaited() const {
  return std::ranges::any_of(grants_, &UnsentGrant::is_awaited);
}

bool UnsentGrants::Forget(engine::Token token) {
  const auto erased =
      std::erase_if(grants_, [&](const UnsentGrant& grant) { return grant.token == token; });
  if (grants_.empty()) ForgetAll();
  return erased > 0;
}

void UnsentGrants::ForgetAll() {
  // The capacity that an idle connection retains. If a long pipeline needed more, the memory is
  // freed.
  constexpr std::size_t kCapacityKept = 16;
  if (grants_.capacity() > kCapacityKept) {
    grants_ = {};
  } else {
    grants_.clear();
  }
  if (is_linked()) unlink();
}

void UnsentGrants::Confirm(std::uint64_t sent_up_to) {
  if (grants_.empty()) return;
  for (const UnsentGrant& grant : grants_) {
    // Several connections have a message that announces a shared grant. Delivering one of them is
    // enough.
    if (grant.is_shared && grant.reply_end <= sent_up_to) {
      in_flight_.ForgetElsewhere(grant.token, *this);
    }
  }
  if (grants_.back().reply_end <= sent_up_to) return ForgetAll();
  auto unsent = std::ranges::find_if(
      grants_, [&](const UnsentGrant& grant) { return grant.reply_end > sent_up_to; });
  // A client that is subscribed to a channel in two ways receives two messages in succession, and
  // the first one has delivered the grant.
  if (unsent != grants_.begin() && std::prev(unsent)->token == unsent->token) ++unsent;
  grants_.erase(grants_.begin(), unsent);
  if (grants_.empty()) ForgetAll();
}

bool GrantsInFlight::IsElsewhere(engine::Token token, const UnsentGrants& grants) const {
  return std::any_of(list_.begin(), list_.end(), [&](const UnsentGrants& other) {
    return &other != &grants && other.Has(token);
  });
}

bool GrantsInFlight::ForgetElsewhere(engine::Token token, const UnsentGrants& grants) {
  bool was_any = false;
  for (auto at = list_.begin(); at != list_.end();) {
    // Advances before Forget, because a connection leaves the list with its last grant.
    UnsentGrants& other = *at++;
    if (&other != &grants && other.Forget(token)) was_any = true;
  }
  return was_any;
}

}  // namespace fairlock::command
