// The words by which users are described, in the spirit of Redis.
#pragma once

#include <string>
#include <string_view>

#include "server/access/user.h"
#include "server/access/vocabulary.h"

namespace fairlock::access {

// Empty: done. Else what is wrong with the rule, and what would be right. Names no password.
[[nodiscard]] std::string ApplyRule(std::string_view rule, const Vocabulary& vocabulary,
                                    User& user);

// The rules that make such a user, with `user NAME` before them: a line of an ACL file.
std::string DescribeUser(const User& user);

// The parts of it, for ACL GETUSER.
std::string DescribeCommands(const User& user);
std::string DescribeKeys(const User& user);
std::string DescribeChannels(const User& user);
std::string DescribeOwners(const User& user);

}  // namespace fairlock::access
