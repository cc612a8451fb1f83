#include "cli/connection/server_errors.h"

#include <gtest/gtest.h>

#include "tests/unit/cli/reply_test_support.h"

namespace fairlock::cli {
namespace {

TEST(MovedTo, ReadsTheAddress) {
  EXPECT_EQ(MovedTo(Error("MOVED 3999 10.0.0.1:3247")), (ServerAddress{"10.0.0.1", 3247}));
  EXPECT_EQ(MovedTo(Error("MOVED 0 lock1.example:1")), (ServerAddress{"lock1.example", 1}));
  EXPECT_EQ(MovedTo(Error("MOVED 16383 fd00::2:65535")), (ServerAddress{"fd00::2", 65535}));
}

TEST(MovedTo, RefusesWhatIsNoRedirect) {
  for (const std::string_view text :
       {"MOVED", "MOVED 1", "MOVED 1 host", "MOVED 1 :3247", "MOVED 1 host:", "MOVED 1 host:0",
        "MOVED 1 host:65536", "MOVED 1 host:12x", "ERR MOVED 1 host:1", "MOVEDX 1 host:1", ""}) {
    EXPECT_EQ(MovedTo(Error(text)), std::nullopt) << text;
  }
  EXPECT_EQ(MovedTo(Text("MOVED 1 host:1")), std::nullopt) << "a string is no error";
}

}  // namespace
}  // namespace fairlock::cli
