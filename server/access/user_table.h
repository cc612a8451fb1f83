// All users of the server.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/access/user.h"
#include "server/access/vocabulary.h"

namespace fairlock::access {

// The user of a client that has not logged in, if this user needs no password.
inline constexpr std::string_view kDefaultUser = "default";

// Immutable once in use. References to users are valid while the table exists.
class UserTable {
 public:
  // Returns null if there is no such user.
  const User* Find(std::string_view name) const;
  const User* Default() const { return Find(kDefaultUser); }
  // Returns false if the name is taken.
  bool Add(User user);

  const std::map<std::string, User, std::less<>>& users() const { return users_; }

  // Whether clients may connect without a password.
  bool IsOpen() const;
  // A slow hash to compare passwords with if the user does not exist, so that the response time
  // does not reveal which users exist; empty if no user has a slow hash.
  const std::string& decoy() const { return decoy_; }

 private:
  std::map<std::string, User, std::less<>> users_;
  std::string decoy_;
};

// Where the user table is read from.
struct UserSource {
  std::optional<std::string> acl_text;  // content of the ACL file; none if there is no file
  // Password of the user `default`, or its hash; empty if there is none.
  std::string default_password;
};

struct UsersRead {
  std::shared_ptr<const UserTable> users;  // null on error
  std::string error;                       // includes the line number
};

// If there is neither an ACL file nor a password, there is one user, `default`, who may do
// everything and needs no password. If there is only an ACL file and it does not define `default`,
// that user does not exist.
UsersRead ReadUsers(const UserSource& source, const Vocabulary& vocabulary);

}  // namespace fairlock::access
