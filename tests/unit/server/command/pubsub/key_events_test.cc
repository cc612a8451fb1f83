#include "server/command/pubsub/key_events.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::command {
namespace {

std::string Normal(std::string_view letters) {
  const auto classes = ParseKeyEventClasses(letters);
  return classes ? FormatKeyEventClasses(*classes) : "refused";
}

TEST(KeyEvents, LettersAreShownInTheOrderOfRedis) {
  EXPECT_EQ(Normal(""), "");
  EXPECT_EQ(Normal("KEA"), "AKE");
  EXPECT_EQ(Normal("Ex$gK"), "g$xKE");
  EXPECT_EQ(Normal("mEKndtezxhsl$g"), "AKEm");
  EXPECT_EQ(Normal("mEKndtezxhsl$"), "$lshzxetdnKEm");
  EXPECT_EQ(Normal("An"), "A");
  EXPECT_EQ(Normal("xxx"), "x");
}

TEST(KeyEvents, OtherLettersAreRefused) {
  EXPECT_EQ(Normal("KEq"), "refused");
  EXPECT_EQ(Normal("a"), "refused");
  EXPECT_EQ(Normal("K E"), "refused");
}

TEST(KeyEvents, EveryLetterIsWithinTheBound) {
  EXPECT_EQ(ParseKeyEventClasses("AKEmn"), kKeyEventClassesMax);
}

}  // namespace
}  // namespace fairlock::command
