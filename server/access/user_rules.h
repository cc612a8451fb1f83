// The rules that describe users, in the style of Redis.
#pragma once

#include <string>
#include <string_view>

#include "server/access/user.h"
#include "server/access/vocabulary.h"

namespace fairlock::access {

// Returns an empty string on success, otherwise what is wrong with the rule and what is allowed.
// The returned text contains no password.
[[nodiscard]] std::string ApplyRule(std::string_view rule, const Vocabulary& vocabulary,
                                    User& user);

// Returns the rules that recreate the user, i.e. what follows `user NAME` on a line of an ACL file.
std::string DescribeUser(const User& user);

// Each returns one part of that line, for ACL GETUSER.
std::string DescribeCommands(const User& user);
std::string DescribeKeys(const User& user);
std::string DescribeChannels(const User& user);
std::string DescribeOwners(const User& user);

}  // namespace fairlock::access
