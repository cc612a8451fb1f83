// Log-ins whose passwords are compared outside the loop, with several clients at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/access/slow_hash.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::StartsWith;

constexpr std::string_view kWrongPassword =
    "-WRONGPASS invalid username-password pair or user is disabled.";

class LogInsTest : public testing::Test {
 protected:
  void SetUsers(const std::string& text) {
    server_.SetUsers("user root on >root ~* +@all\n" + text);
  }

  TestServer server_;
};

TEST_F(LogInsTest, WhoAsksForWhatIsBeingComparedWaitsForTheSameResult) {
  SetUsers("user slow on " + access::MakeSlowHash("pw"));
  server_.parts().log_ins.failures().set_per_minute_max(2);
  server_.environment().password_checks_max = 1;
  std::vector<TestClient*> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(&server_.Connect("10.0.0.1:" + std::to_string(i)));
    EXPECT_EQ(clients.back()->Say("AUTH slow pw"), "");
  }
  TestClient& in_step = server_.Connect();
  in_step.Say("AUTH root root");
  in_step.Say("MULTI");
  in_step.Say("AUTH slow pw");
  EXPECT_THAT(in_step.Say("EXEC"), StartsWith("[-ERR a log-in between"));
  // A different password or user needs a comparison of its own.
  for (const std::string_view line : {"AUTH slow no", "AUTH nobody pw"}) {
    EXPECT_THAT(server_.Connect().Say(line), StartsWith("-ERR too many passwords")) << line;
  }
  clients[0]->Close();
  server_.CheckPasswords();
  for (int i = 1; i < 5; ++i) EXPECT_EQ(clients[i]->Hear(), "OK");
}

TEST_F(LogInsTest, AWrongPasswordThatSeveralWaitForFailsForEach) {
  SetUsers("user slow on " + access::MakeSlowHash("pw"));
  server_.parts().log_ins.failures().set_per_minute_max(3);
  server_.environment().password_checks_max = 1;
  std::vector<TestClient*> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(&server_.Connect("10.0.0.1:" + std::to_string(i)));
    EXPECT_EQ(clients.back()->Say("AUTH slow no"), "");
  }
  EXPECT_EQ(server_.Connect("10.0.0.1:8").Say("AUTH root root"), "OK");
  server_.CheckPasswords();
  for (TestClient* client : clients) EXPECT_EQ(client->Hear(), kWrongPassword);
  EXPECT_EQ(server_.parts().statistics.counters.failed_log_ins, 3U);
  EXPECT_THAT(server_.Connect("10.0.0.1:9").Say("AUTH root root"), StartsWith("-ERR too many log"));
}

TEST_F(LogInsTest, APasswordOfAHashThatStaysIsStillKnown) {
  const std::string hash = access::MakeSlowHash("pw");
  SetUsers("user slow on " + hash);
  TestClient& client = server_.Connect();
  client.Say("AUTH slow pw");
  server_.CheckPasswords();
  SetUsers("user slow on ~k " + hash);
  EXPECT_EQ(server_.Connect().Say("AUTH slow pw"), "OK");
  SetUsers("");
  SetUsers("user slow on " + hash);
  EXPECT_EQ(server_.Connect().Say("AUTH slow pw"), "");
}

}  // namespace
}  // namespace fairlock::command
