#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <vector>

#include "cli/connection/client.h"

namespace fairlock::cli {
namespace {

using Words = std::vector<std::string_view>;

TEST(Repeatable, AreReads) {
  for (const Words& request :
       {Words{"PING"}, Words{"INFO"}, Words{"LOCKINFO", "k"}, Words{"LOCKS", "0", "COUNT", "10"},
        Words{"HISTORY", "k", "COUNT", "5"}, Words{"CLUSTER", "STATUS"}, Words{"LIMIT", "LIST"},
        Words{"CONFIG", "GET", "*"}, Words{"SELECT", "3"}}) {
    EXPECT_TRUE(IsRepeatable(request)) << request.front();
    EXPECT_FALSE(ContinuesWalk(request)) << request.front();
  }
}

TEST(Repeatable, AreNoRequestsThatChangeSomething) {
  for (const Words& request :
       {Words{"LOCK", "k", "o"}, Words{"UNLOCK", "k", "o"}, Words{"RENEW", "k", "o"},
        Words{"TRANSFER", "k", "o", "p"}, Words{"BREAK", "k"}, Words{"CANCEL", "k", "o"},
        Words{"CLUSTER", "FAILOVER"}, Words{"CLUSTER", "ACCEPT-RESTORE"}, Words{"CLUSTER"},
        Words{"CONFIG", "SET", "a", "b"}, Words{"LIMIT", "SET", "a", "1"},
        Words{"CLIENT", "KILL", "ID", "3"}, Words{"BACKUP"}, Words{}}) {
    EXPECT_FALSE(IsRepeatable(request));
  }
}

TEST(Repeatable, ArePagesOfAWalkOnlyAtItsBeginning) {
  for (const Words& request : {Words{"LOCKS", "17"}, Words{"SCAN", "4"},
                               Words{"HISTORY", "k", "BEFORE", "9", "COUNT", "5"}}) {
    EXPECT_TRUE(ContinuesWalk(request)) << request.front();
    EXPECT_FALSE(IsRepeatable(request)) << request.front();
  }
}

}  // namespace
}  // namespace fairlock::cli
