#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

// Returns the keys on a page of LOCKS.
std::set<std::string> KeysOf(const std::string& page) {
  constexpr std::string_view kRowBegin = "[\"key:";
  std::set<std::string> keys;
  for (std::size_t at = page.find(kRowBegin); at != std::string::npos;
       at = page.find(kRowBegin, at + 1)) {
    keys.insert(page.substr(at + 2, page.find('"', at + 2) - at - 2));
  }
  return keys;
}

TEST(Locks, APageIsSmallWhateverCountSays) {
  TestServer server;
  TestClient& client = server.Connect();
  for (int i = 0; i < 1000; ++i) client.Say("LOCK key:" + std::to_string(i) + " owner");
  std::set<std::string> all;
  std::string cursor = "0";
  int pages = 0;
  do {
    const std::string page = client.Say("LOCKS " + cursor + " COUNT 100000");
    cursor = page.substr(2, page.find('"', 2) - 2);
    std::set<std::string> keys = KeysOf(page);
    EXPECT_LE(keys.size(), 260U);
    all.merge(keys);
  } while (cursor != "0" && ++pages < 100);
  EXPECT_EQ(all.size(), 1000U);
}

}  // namespace
}  // namespace fairlock::command
