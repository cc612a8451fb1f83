// Recognises passwords that have matched a slow hash before.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "server/access/digest.h"
#include "server/access/user.h"
#include "server/access/user_table.h"

namespace fairlock::command {

// Stores only digests made with a secret key of this process, and only in memory. Loop-confined.
class KnownPasswords {
 public:
  // Whether the password is known to be that of the user, without computing a slow hash.
  bool Match(const access::User& user, std::string_view password) const;

  // Returns the digest to pass to Remember once the password has matched that slow hash.
  access::Digest DigestOf(std::string_view slow_hash, std::string_view password) const;
  void Remember(const std::string& slow_hash, const access::Digest& digest);
  // Forgets all passwords except those of these users.
  void ForgetOthers(const access::UserTable& users);

 private:
  const access::DigestKey key_;
  std::map<std::string, access::Digest, std::less<>> digests_;  // by slow hash
};

}  // namespace fairlock::command
