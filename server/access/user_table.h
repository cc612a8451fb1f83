// All users of a server.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/access/user.h"
#include "server/access/vocabulary.h"

namespace fairlock::access {

// Who a client is that has not logged in, if that user needs no password.
inline constexpr std::string_view kDefaultUser = "default";

// Immutable once in use; references to users are valid as long as the table.
class UserTable {
 public:
  // Null: there is none of that name.
  const User* Find(std::string_view name) const;
  const User* Default() const { return Find(kDefaultUser); }
  // False: there is one of that name already.
  bool Add(User user);

  const std::map<std::string, User, std::less<>>& users() const { return users_; }

  // Whether a client needs no password to be let in.
  bool IsOpen() const;
  // Any slow hash, to be compared with where there is nobody to compare with; empty: none.
  const std::string& decoy() const { return decoy_; }

 private:
  std::map<std::string, User, std::less<>> users_;
  std::string decoy_;
};

// Where the users come from.
struct UserSource {
  std::optional<std::string> acl_text;  // of the ACL file; none: there is no such file
  std::string default_password;         // of the user `default`, or a hash of it; empty: none
};

struct UsersRead {
  std::shared_ptr<const UserTable> users;  // null if there is an error
  std::string error;                       // with the number of the line
};

// With neither of the two there is one user, `default`, who may everything and needs no password.
// An ACL file that does not name that one leaves it out.
UsersRead ReadUsers(const UserSource& source, const Vocabulary& vocabulary);

}  // namespace fairlock::access
