#include <gtest/gtest.h>

#include <algorithm>

#include "cli/connection/async_connection.h"

namespace fairlock::cli {
namespace {

TEST(OwnName, IsOneThatAServerAccepts) {
  EXPECT_EQ(NameFor("anna", "ops1.example.org"), "fairlockctl/anna@ops1.example.org");
  EXPECT_EQ(NameFor("an na\n", "h\xc3\xb6st"), "fairlockctl/an_na_@h__st");
  EXPECT_EQ(NameFor(std::string(1000, 'u'), std::string(1000, 'h')),
            "fairlockctl/" + std::string(kNamePartBytesMax, 'u') + "@" +
                std::string(kNamePartBytesMax, 'h'));
  EXPECT_TRUE(std::ranges::all_of(OwnName(), [](char c) { return c >= '!' && c <= '~'; }));
  EXPECT_TRUE(OwnName().starts_with("fairlockctl/"));
}

}  // namespace
}  // namespace fairlock::cli
