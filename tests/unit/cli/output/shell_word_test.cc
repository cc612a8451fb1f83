#include <gtest/gtest.h>

#include "cli/output/printable.h"

namespace fairlock::cli {
namespace {

TEST(ShellWord, MayBePasted) {
  EXPECT_EQ(ShellWord("order:42"), "order:42");
  EXPECT_EQ(ShellWord("a b$(c)"), "'a b$(c)'");
  EXPECT_EQ(ShellWord("it's\x1b"), R"($'it\x27s\x1b')");
  EXPECT_EQ(ShellWord("a\\b"), R"($'a\x5cb')");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace fairlock::cli
