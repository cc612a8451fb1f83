// Which user a client has logged in as, and what the client may do.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/access/user.h"

namespace fairlock::command {

// Loop-confined.
class ClientRights {
 public:
  // Null: the client must log in.
  const access::User* user() const { return user_; }
  // Whether each request of this client is checked for permission.
  bool is_limited() const { return is_limited_; }
  // Whether the client is barred from logging in as a user that has no password, because that would
  // prove nothing.
  bool must_prove_itself() const { return must_prove_itself_; }

  // The user must outlive the client's use of it.
  void LogIn(const access::User& user) {
    user_ = &user;
    is_limited_ = !user.IsUnlimited();
  }
  void LogOut() {
    user_ = nullptr;
    is_limited_ = true;
  }
  void set_must_prove_itself() { must_prove_itself_ = true; }

  bool MayRead(std::string_view key) const {
    std::uint64_t compared = 0;
    return MayRead(key, compared);
  }
  // Like MayRead above, but also adds the number of compared bytes to `compared`.
  bool MayRead(std::string_view key, std::uint64_t& compared) const {
    return !is_limited_ ||
           (user_ != nullptr && user_->MayUse(key, access::KeyUse::kRead, compared));
  }

 private:
  const access::User* user_ = nullptr;
  bool is_limited_ = false;
  bool must_prove_itself_ = false;
};

}  // namespace fairlock::command
