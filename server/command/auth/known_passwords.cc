#include "server/command/auth/known_passwords.h"

#include <algorithm>
#include <set>

namespace fairlock::command {

bool KnownPasswords::Match(const access::User& user, std::string_view password) const {
  if (user.needs_no_password) return true;
  const access::Digest digest = access::DigestOf(password);
  return std::ranges::any_of(user.passwords, [&](const access::StoredPassword& stored) {
    if (stored.digest) return access::AreEqual(*stored.digest, digest);
    const auto known = digests_.find(stored.rule);
    return known != digests_.end() &&
           access::AreEqual(known->second, DigestOf(stored.rule, password));
  });
}

access::Digest KnownPasswords::DigestOf(std::string_view slow_hash,
                                        std::string_view password) const {
  return key_.Of({slow_hash, password});
}

void KnownPasswords::Remember(const std::string& slow_hash, const access::Digest& digest) {
  digests_.insert_or_assign(slow_hash, digest);
}

void KnownPasswords::ForgetOthers(const access::UserTable& users) {
  std::set<std::string_view> stored_now;
  for (const auto& [name, user] : users.users()) {
    for (const access::StoredPassword& stored : user.passwords) stored_now.insert(stored.rule);
  }
  std::erase_if(digests_, [&](const auto& entry) { return !stored_now.contains(entry.first); });
}

}  // namespace fairlock::command
