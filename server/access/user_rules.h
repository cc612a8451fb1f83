// The rules that describe users, in the style of Redis.
#pragma once

#include <string>
#include <string_view>

#include "server/access/user.h"
#include "server/access/vocabulary.h"

namespace fairlock::access {

// Returns an empty string on success, otherwise what is wrong with the rule and what is allowed.
// The text contains no password.
[[nodiscard]] std::string ApplyRule(std::string_view rule, const Vocabulary& vocabulary,
                                    User& user);

// The rules that create the user, after `user NAME`: a line of an ACL file.
std::string DescribeUser(const User& user);

// The parts of that line, for ACL GETUSER.
std::string DescribeCommands(const User& user);
std::string DescribeKeys(const User& user);
std::string DescribeChannels(const User& user);
std::string DescribeOwners(const User& user);

}  // namespace fairlock::access
