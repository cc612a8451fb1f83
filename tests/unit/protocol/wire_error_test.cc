#include "protocol/wire_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace fairlock::protocol {
namespace {

TEST(WireErrors, AreTheClosedListOfWords) {
  const std::set<std::string_view> expected = {"ERR",         "ERR Protocol error:",
                                               "NOAUTH",      "WRONGPASS",
                                               "NOPERM",      "NOPROTO",
                                               "DEADLOCK",    "SUPERSEDED",
                                               "CANCELLED",   "UNBLOCKED",
                                               "FULL",        "OOM",
                                               "STORAGE",     "LOADING",
                                               "MOVED",       "CROSSSLOT",
                                               "CLUSTERDOWN", "TRYAGAIN",
                                               "NOQUORUM",    "NOSCRIPT",
                                               "NOTBUSY",     "BUSY",
                                               "WRONGTYPE",   "EXECABORT"};
  std::set<std::string_view> words;
  for (const ErrorRow& row : AllErrors()) {
    EXPECT_TRUE(words.insert(row.word).second) << row.word;
    EXPECT_EQ(Word(row.code), row.word);
    EXPECT_FALSE(row.meaning.empty()) << row.word;
  }
  EXPECT_EQ(words, expected);
}

TEST(WireErrors, BeginWithAWordOfCapitals) {
  for (const ErrorRow& row : AllErrors()) {
    const std::string_view first = row.word.substr(0, row.word.find(' '));
    EXPECT_TRUE(std::all_of(first.begin(), first.end(), [](char c) {
      return c >= 'A' && c <= 'Z';
    })) << row.word;
  }
}

}  // namespace
}  // namespace fairlock::protocol
